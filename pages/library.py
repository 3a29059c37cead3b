"""Everything that was explained: filter, open, compare any two, pin, delete."""

import streamlit as st

from backend.catalogue import catalogue
from components import library, token_views
from components.frame import inside
from components.session import engine

DRAW = {"tokens": token_views.stored}

inside()
st.title("Library", anchor=False)
entries = library.attributions()
used = engine().store.size() / 1e6
st.caption(
    f"{len(entries)} explanations. The store takes {used:,.1f} MB of "
    f"{engine().settings.store_max_gb * 1000:,.0f} MB; past that, what was not used for longest "
    "goes first, and pinned results stay."
)
if not entries:
    st.info(
        "Nothing is stored yet. Explain something, and it is kept here.", icon=":material/info:"
    )
    st.stop()

titles = {family.id: family.title for family in catalogue().values()}
names = {cls.id: cls.title for family in catalogue().values() for cls in family.explainers}
left, middle, right = st.columns(3)
family = left.selectbox("Family", ["all", *titles], format_func=lambda v: titles.get(v, "All"))
explainer = middle.selectbox(
    "Explainer", ["all", *names], format_func=lambda v: names.get(v, "All")
)
words = right.text_input("Search in inputs", placeholder="a word")
shown = [
    entry
    for entry in entries
    if family in ("all", entry.family)
    and explainer in ("all", entry.meta.get("explainer"))
    and words.casefold() in entry.title.casefold()
]
if not shown:
    st.info("Nothing matches these filters.", icon=":material/filter_alt_off:")
    st.stop()

selected = library.table(shown, "library.table")
library.actions(selected)

if not selected:
    st.caption("Select one row to see and open it, two of one family to compare them.")
elif len(selected) > 2 or len({entry.family for entry in selected}) > 1:
    st.caption("Select one or two explanations of one family to see them here.")
else:
    for column, entry in zip(st.columns(len(selected)), selected, strict=True):
        with column, st.container(border=True):
            library.one(entry, DRAW.get(entry.family, library.draw))
