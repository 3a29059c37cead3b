"""Why an agent acts as it does, what would have happened, and what it pursues."""

from typing import cast

import streamlit as st

from backend.catalogue import catalogue
from backend.explanation import Comparison
from backend.policies import files, plan
from backend.policies.explanation import PolicyExplanation, PolicyTarget
from components import (
    agree,
    choose,
    compare,
    export,
    judge,
    permalink,
    policy_agents,
    policy_player,
    policy_source,
    policy_stable,
    policy_views,
    trained_here,
)
from components.frame import inside, step
from components.session import engine

FAMILY = catalogue()["policies"]
PREFIX = "p"


def seed(comparison: Comparison) -> None:
    """Set the page's widgets as the opened comparison has them."""
    policy_source.seed(comparison, PREFIX)
    choose.seed_explainers(FAMILY, PREFIX, comparison.choices)


inside()
st.title("Policies", anchor=False)
st.caption(FAMILY.summary)
opened = permalink.shown("policies", seed)

model_column, input_column, explainer_column = st.columns([1.35, 1.45, 1.4], gap="medium")
with model_column, st.container(border=True):
    step(1, "Model")
    preset = policy_source.model(FAMILY, PREFIX)
    brought, training = policy_source.training(preset, PREFIX)
with input_column, st.container(border=True):
    step(2, "Input")
    source = policy_source.given(preset, brought, training, opened, PREFIX)
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
    help=None if ready else "Choose an environment or bring a table, and at least one explainer.",
)
if pressed and source is not None:
    opened = Comparison(
        family="policies",
        model=source.model,
        input=engine().put_input(source.given, "policies"),
        target=PolicyTarget(training=source.training, collecting=source.collecting).model_dump(
            mode="json"
        ),
        choices=choices,
        seed=seed_number,
    )
    permalink.show(opened)

step(4, "Results")
if opened is None:
    st.info(
        "Press **Explain** to let the agent act and to explain what it does; collecting takes "
        "seconds, training an agent minutes.",
        icon=":material/play_arrow:",
    )
    st.stop()

prepared = policy_source.experience(opened, PREFIX)
if prepared is None:
    st.stop()
digest, experience = prepared
policy_source.facts(experience)
wanted = policy_player.picked(opened, digest, experience, f"{PREFIX}.player")
asked = PolicyTarget.model_validate(opened.target)
kept = {"training": asked.training, "collecting": asked.collecting}
whole = wanted.model_copy(update=kept).model_dump(mode="json")
if whole != opened.target:
    opened = opened.model_copy(update={"target": whole})
    permalink.show(opened)

compared = compare.items(plan.requests(opened, digest))
done = [item for item in compared if item.explanation is not None]
with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
    scale = st.segmented_control(
        "Scale",
        (policy_views.SHARED, policy_views.OWN),
        default=policy_views.SHARED,
        required=True,
        key=f"{PREFIX}.scale",
        help="Shared: equal bars are equal scores, among methods of one unit.",
    )
    compare.cancel_button(compared, f"{PREFIX}.cancel")
ends = policy_views.limits(done) if scale == policy_views.SHARED else None
compare.grid(compared, lambda item: policy_views.panel(item, ends), f"{PREFIX}.grid")
if not done:
    st.stop()

TABS = (
    "In words",
    "Causal graph",
    "What if",
    "Other states",
    "What it pursues",
    "Faithfulness",
    "Stability",
    "Agreement",
    "Other agents",
    "Export",
)
tabs = dict(zip(TABS, st.tabs(TABS, key=f"{PREFIX}.tabs", on_change="rerun"), strict=True))
for name, draw in (
    ("In words", policy_views.words),
    ("Other states", policy_views.other_states),
    ("What it pursues", policy_views.pursuits),
):
    if tabs[name].open:
        with tabs[name]:
            found = policy_views.causal(compared)
            if found is not None:
                draw(found)
if tabs["Causal graph"].open:
    with tabs["Causal graph"]:
        found = policy_views.causal(compared)
        if found is not None:
            policy_views.graph(found, experience, f"{PREFIX}.graph")
if tabs["What if"].open:
    with tabs["What if"]:
        found = policy_views.causal(compared)
        if found is not None:
            policy_views.paths(found, f"{PREFIX}.paths")
scored = policy_views.ranked(done)
for name in ("Faithfulness", "Stability"):
    if tabs[name].open and not scored:
        tabs[name].info(
            "None of these methods scores state variables: add one that does.",
            icon=":material/bar_chart:",
        )
if tabs["Faithfulness"].open and scored:
    with tabs["Faithfulness"]:
        scores = compare.items(plan.score_requests([item.request for item in scored]))
        about = [*scored, None]
        titles = [item.title if item else "random" for item in about]
        judge.scoreboard(
            list(zip(titles, scores, about, strict=True)), policy_views.BOARD, f"{PREFIX}.scores"
        )
        fidelity = trained_here.finished(
            plan.fidelity_request(opened, digest), f"{PREFIX}.fidelity"
        )
        if fidelity is not None:
            policy_views.fidelity(cast(PolicyExplanation, fidelity[1]))
if tabs["Stability"].open and scored:
    with tabs["Stability"]:
        policy_stable.panel(opened, experience, scored, f"{PREFIX}.stable")
if tabs["Other agents"].open:
    with tabs["Other agents"]:
        policy_agents.panel(opened, experience, done, f"{PREFIX}.agents")
if tabs["Agreement"].open:
    with tabs["Agreement"]:
        agree.agree(compared, policy_views.RANKED, f"{PREFIX}.agree")
if tabs["Export"].open:
    with tabs["Export"]:
        export.panel(done, "policies", files, f"{PREFIX}.export", policy_views.FIGURES)
