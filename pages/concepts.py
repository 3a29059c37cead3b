"""Where a concept bottleneck model fails, which concepts are to blame, and what to do."""

import streamlit as st

from backend.catalogue import catalogue
from backend.concepts import files, plan
from backend.concepts.examples import EXAMPLES
from backend.concepts.explanation import ConceptTarget
from backend.explanation import Comparison
from components import (
    agree,
    choose,
    compare,
    concept_gallery,
    concept_source,
    decision_sanity,
    decision_stable,
    decision_views,
    expert_views,
    export,
    judge,
    permalink,
    slice_compare,
    slice_detail,
    slice_names,
    slice_stable,
    slice_views,
    trained_here,
)
from components.frame import inside, step
from components.session import engine

FAMILY = catalogue()["concepts"]
MODES = {"Error slices": "slicing", "One decision": "attribution", "Experts": "view"}
DEFAULT = {
    "slicing": FAMILY.default,
    "attribution": ("linear_contributions", "shapley", "concept_flip", "gradient_x_concept"),
    "view": ("mcbe",),
}
PREFIX = "c"


def role_of(comparison: Comparison) -> str:
    """What kind of explainers a comparison holds."""
    roles = [FAMILY.find(choice.explainer).role for choice in comparison.choices]
    return roles[0] if roles else "slicing"


def seed(comparison: Comparison) -> None:
    """Set the page's widgets as the opened comparison has them."""
    role = role_of(comparison)
    st.session_state[f"{PREFIX}.mode"] = next(name for name, r in MODES.items() if r == role)
    concept_source.seed(comparison, PREFIX)
    choose.seed_explainers(FAMILY, f"{PREFIX}.{role}", comparison.choices)


inside()
st.title("Concepts", anchor=False)
st.caption(FAMILY.summary)
opened = permalink.shown("concepts", seed)
mode = st.segmented_control(
    "What to look at",
    list(MODES),
    default="Error slices",
    required=True,
    key=f"{PREFIX}.mode",
    persist_state="session",
    help="Error slices: groups of samples that fail for one reason. One decision: what a sample's "
    "concepts contributed. Experts: several simple rules in place of one.",
)
role = MODES[str(mode)]

model_column, input_column, explainer_column = st.columns([1.35, 1.45, 1.4], gap="medium")
with model_column, st.container(border=True):
    step(1, "Model")
    preset = trained_here.model(FAMILY, EXAMPLES, PREFIX)
    recipe = trained_here.recipe(preset, EXAMPLES, PREFIX)
with input_column, st.container(border=True):
    step(2, "Input")
    source = concept_source.given(preset, recipe, opened, PREFIX)
with explainer_column, st.container(border=True):
    step(3, "Explainers")
    choices = choose.explainers(FAMILY, f"{PREFIX}.{role}", role, DEFAULT[role])
    seed_number = choose.seed_number(PREFIX)

ready = source is not None and bool(choices)
# Not a callback: its arguments would be those of the last run.
pressed = st.button(
    "Explain",
    type="primary",
    icon=":material/play_arrow:",
    disabled=not ready,
    help=None if ready else "Choose a model or bring a table, and at least one explainer.",
)
if pressed and source is not None:
    opened = Comparison(
        family="concepts",
        model=source.model,
        input=engine().put_input(source.table, "concepts"),
        target=ConceptTarget(recipe=source.recipe).model_dump(mode="json"),
        choices=choices,
        seed=seed_number,
    )
    permalink.show(opened)

step(4, "Results")
slice_names.listed()
if opened is None or role_of(opened) != role:
    st.info(
        "Press **Explain** to run the chosen explainers; a bundled model is trained first, which "
        "takes seconds.",
        icon=":material/play_arrow:",
    )
    st.stop()

prepared = concept_source.table(opened, PREFIX)
if prepared is None:
    st.stop()
digest, table = prepared
concept_source.facts(table)

if role == "attribution":
    target = ConceptTarget.model_validate(opened.target)
    wanted = decision_views.picked(table, target, f"{PREFIX}.sample")
    if wanted != target:
        opened = opened.model_copy(update={"target": wanted.model_dump(mode="json")})
        permalink.show(opened)

requests = plan.requests(opened, digest)
compared = compare.items(requests)
done = [item for item in compared if item.explanation is not None]
with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
    if role == "attribution":
        scale = st.segmented_control(
            "Scale",
            (decision_views.SHARED, decision_views.OWN),
            default=decision_views.SHARED,
            required=True,
            key=f"{PREFIX}.scale",
            help="Shared: equal bars are equal contributions to the logit.",
        )
    compare.cancel_button(compared, f"{PREFIX}.cancel")

if role == "slicing":
    most = slice_views.largest(done)
    compare.grid(compared, lambda item: slice_views.panel(item, most), f"{PREFIX}.grid")
elif role == "attribution":
    ends = decision_views.limits(done) if scale == decision_views.SHARED else None
    compare.grid(compared, lambda item: decision_views.panel(item, ends), f"{PREFIX}.grid")
else:
    compare.grid(compared, expert_views.panel, f"{PREFIX}.grid", across=1)
if not done:
    st.stop()

TABS = {
    "slicing": ("Slices", "Known groups", "Stability", "Two slicings", "How they were found"),
    "attribution": (
        "Faithfulness",
        "Stability",
        "Sanity",
        "Agreement",
        "What the head was given",
    ),
    "view": (),
}
names = [*TABS[role], "Samples", "Export"]
tabs = dict(zip(names, st.tabs(names, key=f"{PREFIX}.{role}.tabs", on_change="rerun"), strict=True))


def shown(name: str) -> bool:
    """Whether a tab exists and is open: only that one is drawn."""
    return name in tabs and bool(tabs[name].open)


if shown("Slices"):
    with tabs["Slices"]:
        slice_detail.panel(done, table, opened.key(), f"{PREFIX}.slices")
if shown("Known groups"):
    with tabs["Known groups"]:
        slice_views.groups(opened, done, table, f"{PREFIX}.groups")
if shown("Two slicings"):
    with tabs["Two slicings"]:
        slice_compare.panel(done, f"{PREFIX}.two")
if shown("How they were found"):
    with tabs["How they were found"]:
        slice_views.how(done, f"{PREFIX}.how")
if shown("Faithfulness"):
    with tabs["Faithfulness"]:
        scores = compare.items(
            plan.score_requests(tuple(item.request for item in done), lambda _: "attribution")
        )
        about = [*done, None]
        titles = [item.title if item else "random" for item in about]
        judge.scoreboard(
            list(zip(titles, scores, about, strict=True)),
            decision_views.BOARD,
            f"{PREFIX}.scores",
        )
if shown("Stability"):
    with tabs["Stability"]:
        measure = slice_stable if role == "slicing" else decision_stable
        measure.panel(opened, table, done, f"{PREFIX}.{role}.stable")
if shown("Sanity"):
    with tabs["Sanity"]:
        decision_sanity.panel(opened, digest, table, done, f"{PREFIX}.sanity")
if shown("Agreement"):
    with tabs["Agreement"]:
        agree.agree(compared, decision_views.RANKED, f"{PREFIX}.agree")
if shown("What the head was given"):
    with tabs["What the head was given"]:
        decision_views.saw(table, int(opened.target.get("sample") or 0))
if shown("Samples"):
    with tabs["Samples"]:
        concept_gallery.samples(table, f"{PREFIX}.samples")
if shown("Export"):
    with tabs["Export"]:
        export.panel(done, "concepts", files, f"{PREFIX}.export")
