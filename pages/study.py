"""Explainers compared over many inputs: the table that papers print, and what is behind it."""

import streamlit as st

from backend.catalogue import catalogue
from backend.commands.desk import STUDIED
from backend.explanation import Comparison
from components import choose, permalink, study_run, study_source, study_table
from components.frame import inside, step

PREFIX, PLACE = "s", "study"
INPUTS, SEEDS = "inputs", "seeds"
"""Of the address."""
MANY = 20
MOST = {INPUTS: 1000, SEEDS: 20}


def seed(opened: Comparison) -> None:
    """Set the widgets as a link has them."""
    study_source.subject(opened.family, PREFIX).seed(opened)
    st.session_state[f"{PREFIX}.inputs"], st.session_state[f"{PREFIX}.seeds"] = size()


def size() -> tuple[int, int]:
    """How many inputs and seeds the address names."""
    found = []
    for name, default in ((INPUTS, MANY), (SEEDS, 1)):
        text = st.query_params.get(name, "")
        wanted = int(text) if text.isascii() and text.isdecimal() and len(text) < 5 else default
        found.append(min(max(wanted, 1), MOST[name]))
    return found[0], found[1]


def follow() -> None:
    """Set the family to that of the study which the address names, once for each address."""
    st.session_state.setdefault(f"{PREFIX}.family", STUDIED[0])
    key = st.query_params.get(permalink.PARAMETER) or ""
    if st.session_state.get(f"{PREFIX}.followed") == key:
        return
    st.session_state[f"{PREFIX}.followed"] = key
    found = permalink.named(key)
    if found is not None and found.family in STUDIED:
        st.session_state[f"{PREFIX}.family"] = found.family


inside()
st.title("Study", anchor=False)
st.caption(
    "Explainers compared over many inputs: faithfulness, stability, agreement and time, with "
    "intervals and paired tests. What is computed is kept, so a study that was broken off goes on."
)
titles = {name: catalogue()[name].title for name in STUDIED}
follow()
family = str(
    st.segmented_control(
        "Family",
        list(titles),
        format_func=titles.__getitem__,
        required=True,
        key=f"{PREFIX}.family",
        persist_state="session",
        on_change=lambda: st.query_params.clear(),
    )
)
subject = study_source.subject(family, PREFIX)
opened = permalink.shown(family, seed, f"{PLACE}.{family}")

model_column, input_column, explainer_column = st.columns([1.35, 1.45, 1.4], gap="medium")
with model_column, st.container(border=True):
    step(1, "Model")
    subject.model()
with input_column, st.container(border=True):
    step(2, "Inputs")
    there = subject.inputs(opened)
    count = int(
        st.number_input(
            "Inputs at most",
            min_value=1,
            max_value=MOST[INPUTS],
            value=MANY,
            key=f"{PREFIX}.inputs",
            persist_state="session",
            help=f"How many {subject.what} are explained.",
        )
    )
with explainer_column, st.container(border=True):
    step(3, "Explainers")
    choices = subject.explainers()
    seed_number = choose.seed_number(f"{PREFIX}.{family}")
    seeds = int(
        st.number_input(
            "Seeds",
            min_value=1,
            max_value=MOST[SEEDS],
            value=1,
            key=f"{PREFIX}.seeds",
            persist_state="session",
            help="Explanations of each input by a method that draws random numbers. From 2 on "
            "their stability is measured; a method that learns is fitted anew for each.",
        )
    )

pressed = st.button(
    "Run",
    type="primary",
    icon=":material/play_arrow:",
    disabled=not there or not choices,
    help=None if there and choices else "Choose a model or bring inputs, and an explainer.",
)
if pressed and there:
    opened = subject.chosen(choices, seed_number)
    permalink.show(opened, f"{PLACE}.{family}")
    st.query_params.update({INPUTS: str(count), SEEDS: str(seeds)})

step(4, "Results")
if opened is None:
    st.info(
        "Press **Run**. Twenty inputs by the methods the page starts with take a minute or two, "
        "once.",
        icon=":material/play_arrow:",
    )
    st.stop()

inputs, repeated = size()
asked = subject.studied(opened, inputs, repeated)
if asked is None:
    st.stop()
name = f"{opened.key()}.{inputs}.{repeated}"
prefix = f"{PREFIX}.{family}"
measured = study_run.measured(asked, name, f"{prefix}.run")
found = study_run.table(asked, measured, f"{prefix}.run")
if found is None:
    st.stop()
for line in study_run.failures(measured, asked):
    st.caption(f":material/warning: Not explained: {line}")
study_table.means(found, asked.titles, prefix)
study_table.agreement(found, asked.titles, prefix)
if len(found.cases) < len(measured):
    st.stop()
study_table.every(found, asked, prefix)
study_table.downloads(found, asked, prefix)
