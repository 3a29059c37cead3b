"""What Vitrine is, what it holds, and one click to a first result."""

import streamlit as st

from backend.catalogue import catalogue
from components.frame import inside
from components.library import recent

inside()
st.title("Vitrine", anchor=False)
st.markdown(
    "Explain a model's decision by several methods **side by side, on one scale, each with a "
    "measured score of how faithful it is**, and export the figure with all it takes to "
    "reproduce it."
)

for family in catalogue().values():
    with st.container(border=True):
        st.subheader(family.title, anchor=False)
        st.write(family.summary)
        st.caption(
            f"{len(family.explainers)} explainers: "
            + " · ".join(explainer.title for explainer in family.explainers)
        )
        st.page_link(
            f"pages/{family.id}.py",
            label=f"Open {family.title}: an example is ready",
            icon=":material/arrow_forward:",
        )

how, latest = st.columns(2, gap="medium")
with how:
    st.subheader("How it works", anchor=False)
    st.markdown(
        "1. **Model.** A bundled one, a folder your operator allows, or a hub id.\n"
        "2. **Input.** An example, your own text, or a file.\n"
        "3. **Explainers.** Each with its parameters and its paper.\n"
        "4. **Results.** Side by side, scored against random rankings, ready to export. The page's "
        "address is a link to exactly this result."
    )
with latest:
    st.subheader("Latest results", anchor=False)
    recent(5)
