"""Vitrine: the page list and the frame around every page. No logic."""

import streamlit as st

from components.frame import sidebar

st.set_page_config(page_title="Vitrine", page_icon="components/assets/icon.png", layout="wide")

page = st.navigation(
    [
        st.Page("pages/home.py", title="Home", icon=":material/home:", default=True),
        st.Page("pages/tokens.py", title="Tokens", icon=":material/match_word:"),
        st.Page("pages/graphs.py", title="Graphs", icon=":material/hub:"),
        st.Page("pages/concepts.py", title="Concepts", icon=":material/category:"),
        st.Page("pages/images.py", title="Images", icon=":material/image:"),
        st.Page("pages/policies.py", title="Policies", icon=":material/sports_esports:"),
        st.Page("pages/study.py", title="Study", icon=":material/leaderboard:"),
        st.Page("pages/library.py", title="Library", icon=":material/inventory_2:"),
    ]
)
sidebar()
page.run()
