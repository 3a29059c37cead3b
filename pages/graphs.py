"""Which part of a graph a graph neural network decides by, at several scales at once."""

import streamlit as st

from backend.catalogue import catalogue
from backend.explanation import Comparison
from backend.graphs import files, plan
from backend.graphs.examples import EXAMPLES
from backend.graphs.explanation import GraphTarget
from components import (
    agree,
    choose,
    compare,
    export,
    graph_many,
    graph_pick,
    graph_sanity,
    graph_scales,
    graph_source,
    graph_stable,
    graph_views,
    judge,
    permalink,
    trained_here,
)
from components.frame import inside, step
from components.session import engine

FAMILY = catalogue()["graphs"]
PREFIX = "g"


def seed(comparison: Comparison) -> None:
    """Set the page's widgets as the opened comparison has them."""
    graph_source.seed(comparison, PREFIX)
    choose.seed_explainers(FAMILY, PREFIX, comparison.choices)


inside()
st.title("Graphs", anchor=False)
st.caption(FAMILY.summary)
opened = permalink.shown("graphs", seed)

model_column, input_column, explainer_column = st.columns([1.35, 1.45, 1.4], gap="medium")
with model_column, st.container(border=True):
    step(1, "Model")
    preset = trained_here.model(FAMILY, EXAMPLES, PREFIX)
    recipe = trained_here.recipe(preset, EXAMPLES, PREFIX)
with input_column, st.container(border=True):
    step(2, "Input")
    source = graph_source.given(preset, recipe, opened, PREFIX)
with explainer_column, st.container(border=True):
    step(3, "Explainers")
    choices = choose.explainers(FAMILY, PREFIX)
    seed_number = choose.seed_number(PREFIX)

ready = source is not None and bool(choices)
# Not a callback: its arguments would be those of the last run.
pressed = st.button(
    "Explain",
    type="primary",
    icon=":material/play_arrow:",
    disabled=not ready,
    help=None if ready else "Choose a model or bring graphs, and at least one explainer.",
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
    permalink.show(opened)

step(4, "Results")
if opened is None:
    st.info(
        "Press **Explain** to run the chosen explainers. A bundled GNN is trained first, and "
        "MSExplainer and PGExplainer then learn from its graphs: a minute or two, once.",
        icon=":material/play_arrow:",
    )
    st.stop()

prepared = graph_source.sets(opened, PREFIX)
if prepared is None:
    st.stop()
sets, graphs = prepared
graph_pick.facts(graphs)

target = GraphTarget.model_validate(opened.target)
wanted = graph_pick.picked(graphs, target, f"{PREFIX}.pick")
if wanted != target:
    opened = opened.model_copy(update={"target": wanted.model_dump(mode="json")})
    permalink.show(opened)

compared = compare.items(plan.requests(opened, sets))
done = [item for item in compared if item.explanation is not None]
with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
    view = graph_views.view(done, PREFIX)
    compare.cancel_button(compared, f"{PREFIX}.cancel")
ends = graph_views.limits(done)
compare.grid(compared, lambda item: graph_views.panel(item, view, ends, PREFIX), f"{PREFIX}.grid")
if not done:
    st.stop()

TABS = ("Scales", "One edge or node", "Faithfulness", "Many graphs", "Stability", "Sanity",
        "Agreement", "What the model saw", "Export")  # fmt: skip
tabs = dict(zip(TABS, st.tabs(TABS, key=f"{PREFIX}.tabs", on_change="rerun"), strict=True))

if tabs["Scales"].open:
    with tabs["Scales"]:
        graph_scales.panel(done, f"{PREFIX}.scales")
if tabs["One edge or node"].open:
    with tabs["One edge or node"]:
        graph_views.one(done, PREFIX)
if tabs["Faithfulness"].open:
    with tabs["Faithfulness"]:
        scores = compare.items(plan.score_requests(item.request for item in done))
        about = [*done, None]
        titles = [item.title if item else "random" for item in about]
        judge.scoreboard(
            list(zip(titles, scores, about, strict=True)), graph_views.BOARD, f"{PREFIX}.scores"
        )
if tabs["Many graphs"].open:
    with tabs["Many graphs"]:
        graph_many.panel(opened, sets, graphs, f"{PREFIX}.many")
if tabs["Stability"].open:
    with tabs["Stability"]:
        graph_stable.panel(opened, graphs, done, f"{PREFIX}.stable")
if tabs["Sanity"].open:
    with tabs["Sanity"]:
        graph_sanity.panel(opened, sets, graphs, done, f"{PREFIX}.sanity")
if tabs["Agreement"].open:
    with tabs["Agreement"]:
        agree.agree(compared, graph_views.RANKED, f"{PREFIX}.agree")
if tabs["What the model saw"].open:
    with tabs["What the model saw"]:
        graph_pick.saw(graphs, wanted)
if tabs["Export"].open:
    with tabs["Export"]:
        export.panel(done, "graphs", files, f"{PREFIX}.export")
