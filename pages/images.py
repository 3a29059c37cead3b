"""Where in a picture an image classifier looked."""

from typing import cast

import streamlit as st

from backend.catalogue import catalogue
from backend.explanation import Comparison
from backend.images import files, plan
from backend.images.explanation import ImageTarget, Photos
from components import (
    agree,
    choose,
    compare,
    export,
    image_concepts,
    image_grounds,
    image_head,
    image_sanity,
    image_source,
    image_stable,
    image_views,
    judge,
    permalink,
)
from components.frame import inside, step
from components.session import engine

FAMILY = catalogue()["images"]
PREFIX = "i"


def seed(comparison: Comparison) -> None:
    """Set the page's widgets as the opened comparison has them."""
    made = comparison.model.source == "made"
    title = image_head.title(comparison.model, FAMILY) if made else ""
    choose.seed_model(FAMILY, PREFIX, comparison.model, title)
    choose.seed_explainers(FAMILY, PREFIX, comparison.choices)
    image_source.seed(comparison, PREFIX)


inside()
st.title("Images", anchor=False)
st.caption(FAMILY.summary)
opened = permalink.shown("images", seed)

model_column, input_column, explainer_column = st.columns([1.2, 1.45, 1.4], gap="medium")
with model_column:
    model_box = st.container(border=True)
with model_box:
    step(1, "Model")
    base = choose.model(FAMILY, PREFIX, image_head.known(opened, FAMILY, PREFIX))
with input_column, st.container(border=True):
    step(2, "Input")
    given = image_source.given(opened, PREFIX)
with model_box:
    model = image_head.fitted(base, given, FAMILY, PREFIX)
with explainer_column, st.container(border=True):
    step(3, "Explainers")
    choices = choose.explainers(FAMILY, PREFIX)
    seed_number = choose.seed_number(PREFIX)

ready = model is not None and given is not None and bool(choices)
# Not a callback: its arguments would be those of the last run.
pressed = st.button(
    "Explain",
    type="primary",
    icon=":material/play_arrow:",
    disabled=not ready,
    help=None if ready else "Choose a model, a picture and at least one explainer.",
)
if pressed and model is not None and given is not None:
    opened = Comparison(
        family="images",
        model=model,
        input=engine().put_input(given, "images"),
        target=ImageTarget().model_dump(mode="json"),
        choices=choices,
        seed=seed_number,
    )
    permalink.show(opened)

step(4, "Results")
if opened is None:
    st.info(
        "Press **Explain** to run the chosen explainers on this picture.",
        icon=":material/play_arrow:",
    )
    st.stop()

photos = cast(Photos | None, engine().get_input(opened.family, opened.input))
if photos is None:
    st.warning("The pictures are no longer stored. Bring them again.", icon=":material/history:")
    st.stop()

grounds = None
if plan.by_concepts(opened):
    grounds = image_grounds.found(opened, photos, PREFIX)
    if grounds is None:
        st.stop()
compared = compare.items(plan.requests(opened, grounds))
done = [item for item in compared if item.explanation is not None]
target = ImageTarget.model_validate(opened.target)
wanted = image_views.picked(photos, target, done, f"{PREFIX}.pick")
if wanted != target:
    permalink.show(opened.model_copy(update={"target": wanted.model_dump(mode="json")}))
    st.rerun()

if done:
    image_views.facts(done)
with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
    shown, by_rank = image_views.view(PREFIX)
    compare.cancel_button(compared, f"{PREFIX}.cancel")
compare.grid(
    compared, lambda item: image_views.panel(item, shown, by_rank, PREFIX), f"{PREFIX}.grid"
)
if not done:
    st.stop()
maps = [item for item in done if item.explainer.role == "attribution"]

TABS = (
    "Concepts",
    "Faithfulness",
    "Stability",
    "Sanity",
    "Agreement",
    "What the model saw",
    "Export",
)
tabs = dict(zip(TABS, st.tabs(TABS, key=f"{PREFIX}.tabs", on_change="rerun"), strict=True))
if tabs["Concepts"].open:
    with tabs["Concepts"]:
        image_concepts.panel(done, f"{PREFIX}.concepts")
for name in ("Faithfulness", "Stability", "Sanity"):
    if tabs[name].open and not maps:
        tabs[name].info(
            "None of these methods scores pixels: add one that does.", icon=":material/grid_on:"
        )
if tabs["Faithfulness"].open and maps:
    with tabs["Faithfulness"]:
        scores = compare.items(plan.score_requests([item.request for item in maps]))
        about = [*maps, None]
        titles = [item.title if item else "random" for item in about]
        judge.scoreboard(
            list(zip(titles, scores, about, strict=True)), image_views.BOARD, f"{PREFIX}.scores"
        )
if tabs["Stability"].open and maps:
    with tabs["Stability"]:
        image_stable.panel(opened, photos, maps, f"{PREFIX}.stable")
if tabs["Sanity"].open and maps:
    with tabs["Sanity"]:
        image_sanity.panel(opened, maps, f"{PREFIX}.sanity")
if tabs["Agreement"].open:
    with tabs["Agreement"]:
        agree.agree(compared, image_views.RANKED, f"{PREFIX}.agree")
if tabs["What the model saw"].open:
    with tabs["What the model saw"]:
        image_views.saw(done, photos)
if tabs["Export"].open:
    with tabs["Export"]:
        export.panel(done, "images", files, f"{PREFIX}.export")
