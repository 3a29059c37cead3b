"""What Vitrine is, what it holds, and one click to a first result."""

from pathlib import Path

import streamlit as st

from backend.catalogue import catalogue
from components.frame import inside
from components.library import recent

PAGES = Path(__file__).parent

inside()
st.title("Vitrine", anchor=False)
st.markdown(
    "Explain a model by several methods **side by side, on one scale, scored against chance**, and "
    "export the figure with all it takes to reproduce it."
)

for family in catalogue().values():
    with st.container(border=True):
        st.subheader(family.title, anchor=False)
        st.write(family.summary)
        st.caption(
            f"{len(family.explainers)} explainers: "
            + " · ".join(explainer.title for explainer in family.explainers)
        )
        # A family of another package has no page of its own.
        if not (PAGES / f"{family.id}.py").is_file():
            continue
        st.page_link(
            f"pages/{family.id}.py",
            label=f"Open {family.title}: an example is ready",
            icon=":material/arrow_forward:",
        )

how, latest = st.columns(2, gap="medium")
with how:
    st.subheader("How it works", anchor=False)
    st.markdown(
        "1. **Model.** A bundled one or your own: for Tokens a folder your operator allows or a "
        "hub id, as for Images; for Graphs the weights of a GNN, for Concepts the predictions.\n"
        "2. **Input.** An example or your own: for Tokens a text or a file of prompts, for "
        "Graphs a file of graphs or molecules, for Concepts a table, for Images pictures.\n"
        "3. **Explainers.** Each with its parameters and its paper.\n"
        "4. **Results.** Side by side, ready to export; rankings, and slices where groups are "
        "known, are scored beside random ones. The page's address is a link to exactly this result."
    )
    st.page_link(
        "pages/study.py",
        label="Compare explainers over many inputs: a study",
        icon=":material/leaderboard:",
    )
with latest:
    st.subheader("Latest results", anchor=False)
    recent(5)
