"""Explainers compared over many inputs: the table that papers print, and what is behind it."""

import streamlit as st

from backend.catalogue import catalogue
from backend.explanation import Comparison
from backend.graphs import items, studied
from backend.graphs.examples import EXAMPLES
from backend.graphs.explanation import GraphTarget
from backend.study import study
from components import choose, graph_source, permalink, study_run, study_table, trained_here
from components.frame import inside, step
from components.session import engine

FAMILY = catalogue()["graphs"]
PREFIX, PLACE = "s", "study"
INPUTS, SEEDS = "inputs", "seeds"
"""Of the address."""
MANY = 20
MOST = {INPUTS: 1000, SEEDS: 20}


def seed(opened: Comparison) -> None:
    """Set the widgets as a link has them."""
    graph_source.seed(opened, PREFIX)
    choose.seed_explainers(FAMILY, PREFIX, opened.choices)
    st.session_state[f"{PREFIX}.inputs"], st.session_state[f"{PREFIX}.seeds"] = size()


def size() -> tuple[int, int]:
    """How many inputs and seeds the address names."""
    found = []
    for name, default in ((INPUTS, MANY), (SEEDS, 1)):
        text = st.query_params.get(name, "")
        wanted = int(text) if text.isascii() and text.isdecimal() and len(text) < 5 else default
        found.append(min(max(wanted, 1), MOST[name]))
    return found[0], found[1]


inside()
st.title("Study", anchor=False)
st.caption(
    "Explainers compared over many graphs: faithfulness, stability, agreement and time, with "
    "intervals and paired tests. What is computed is kept, so a study that was broken off goes on."
)
opened = permalink.shown("graphs", seed, PLACE)

model_column, input_column, explainer_column = st.columns([1.35, 1.45, 1.4], gap="medium")
with model_column, st.container(border=True):
    step(1, "Model")
    preset = trained_here.model(FAMILY, EXAMPLES, PREFIX)
    recipe = trained_here.recipe(preset, EXAMPLES, PREFIX)
with input_column, st.container(border=True):
    step(2, "Inputs")
    source = graph_source.given(preset, recipe, opened, PREFIX)
    count = int(
        st.number_input(
            "Inputs at most",
            min_value=1,
            max_value=MOST[INPUTS],
            value=MANY,
            key=f"{PREFIX}.inputs",
            persist_state="session",
            help="Of the test graphs or nodes, first those with a known reason.",
        )
    )
with explainer_column, st.container(border=True):
    step(3, "Explainers")
    choices = choose.explainers(FAMILY, PREFIX)
    seed_number = choose.seed_number(PREFIX)
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
    disabled=source is None or not choices,
    help=None if source else "Choose a model or bring graphs, and at least one explainer.",
)
if pressed and source is not None:
    opened = Comparison(
        family="graphs",
        model=source.model,
        input=engine().put_input(source.graphs, "graphs"),
        target=GraphTarget(recipe=source.recipe).model_dump(mode="json"),
        choices=choices,
        seed=seed_number,
    )
    permalink.show(opened, PLACE)
    st.query_params.update({INPUTS: str(count), SEEDS: str(seeds)})

step(4, "Results")
if opened is None:
    st.info(
        "Press **Run**. Twenty graphs by the four methods the page starts with take a minute or "
        "two, once.",
        icon=":material/play_arrow:",
    )
    st.stop()

prepared = graph_source.sets(opened, PREFIX)
if prepared is None:
    st.stop()
sets, graphs = prepared
inputs, repeated = size()
asked = studied.studied(opened, sets, graphs, min(inputs, items.count(graphs)), repeated)
there = study_run.measured(asked, f"{opened.key()}.{inputs}.{repeated}", f"{PREFIX}.run")
done = [number for number, one in enumerate(there) if one is not None]
if not done:
    st.stop()
for line in study_run.failures(there, asked):
    st.caption(f":material/warning: Not explained: {line}")
found = study(
    asked.methods,
    [asked.cases[number].title for number in done],
    [one for one in there if one is not None],
    asked.metrics,
)
study_table.means(found, asked.titles, PREFIX)
if len(done) < len(there):
    st.stop()
study_table.every(found, asked, PREFIX)
study_table.downloads(found, asked, PREFIX)
