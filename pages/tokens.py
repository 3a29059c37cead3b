"""Which tokens of a prompt a language model's answer rests on."""

import streamlit as st

from backend.catalogue import catalogue
from backend.explanation import Comparison
from backend.tokens import files, plan
from backend.tokens.shorten import OFFER
from components import (
    agree,
    choose,
    compare,
    export,
    jobs,
    judge,
    permalink,
    prompt,
    reading,
    shorter,
    suite,
    token_sanity,
    token_stable,
    token_views,
)
from components.frame import inside, step
from components.plain import plain
from components.session import engine, explanation

FAMILY = catalogue()["tokens"]
ONE, MANY = "One prompt", "Many prompts"
LONG_ANSWER = 64
"""Tokens from which on an answer is read before it is scored: scores of long ones take minutes."""


def seed(comparison: Comparison) -> None:
    """Set the page's widgets as the opened comparison has them."""
    st.session_state["t.mode"] = ONE
    choose.seed_model(FAMILY, "t", comparison.model)
    given = engine().get_input("tokens", comparison.input)
    if given is not None:
        prompt.seed_prompt("t", given)
    prompt.seed_target("t", FAMILY.Target.model_validate(comparison.target))
    choose.seed_explainers(FAMILY, "t", comparison.choices)


def explain_selected(comparison: Comparison, span: tuple[int, ...]) -> None:
    """Show the comparison with another explained span."""
    target = {**comparison.target, "span": list(span) or None}
    permalink.show(comparison.model_copy(update={"target": target}))


inside()
st.title("Tokens", anchor=False)
st.caption(FAMILY.summary)
opened = permalink.shown("tokens", seed)
mode = st.segmented_control(
    "Explain or score",
    (ONE, MANY),
    default=ONE,
    required=True,
    key="t.mode",
    label_visibility="collapsed",
    persist_state="session",
)
if mode == MANY:
    with st.container(border=True):
        step(1, "Model")
        many_model = choose.model(FAMILY, "t")
    step(2, "Prompts of known evidence")
    suite.panel(FAMILY, many_model, "t.suite")
    st.stop()

model_column, input_column, explainer_column = st.columns([1, 1.6, 1.4], gap="medium")
with model_column, st.container(border=True):
    step(1, "Model")
    model = choose.model(FAMILY, "t")
with input_column, st.container(border=True):
    step(2, "Input")
    given = prompt.prompt("t")
    target = prompt.target("t", prompt.suggested("t"))
with explainer_column, st.container(border=True):
    step(3, "Explainers")
    choices = choose.explainers(FAMILY, "t")
    seed_number = choose.seed_number("t")

ready = model is not None and given is not None and bool(choices)
if ready:
    wanted = Comparison(
        family="tokens",
        model=model,
        input=engine().put_input(given, "tokens"),
        target=target.model_dump(mode="json"),
        choices=choices,
        seed=seed_number,
    )
# Not a callback: its arguments would be those of the last run, without what was typed just now.
pressed = st.button(
    "Explain",
    type="primary",
    icon=":material/play_arrow:",
    disabled=not ready,
    help=None if ready else "Choose a model, an input and at least one explainer.",
)
if pressed and ready:
    permalink.show(wanted)
    opened = wanted

if opened is None:
    step(4, "Results")
    st.info(
        "Press **Explain** to run the chosen explainers on this input.",
        icon=":material/play_arrow:",
    )
    st.stop()

step(4, "Results")
first = plan.continuation_request(opened)
job = jobs.hold(first)
if isinstance(job, str):
    st.error(plain(job), icon=":material/error:")
    st.stop()
if not job.finished:
    jobs.cancellable(job, "t.continuation")
    st.stop()
continuation = explanation(job.key)
if job.state == "failed" and OFFER in job.error:
    shorter.offer(opened, job)
    st.stop()
if job.state != "done" or continuation is None:
    jobs.outcome(job, first, "answer")
    st.stop()

requests = plan.requests(opened, continuation)
compared = compare.items(requests)

with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
    level = st.segmented_control(
        "Show scores by", token_views.LEVELS, default="token", required=True, key="t.level"
    )
    scale = st.segmented_control(
        "Colour scale",
        (token_views.SHARED, token_views.OWN),
        default=token_views.SHARED,
        required=True,
        key="t.scale",
        help="Shared: equal colours are equal shares of a method's total. Each its own: the "
        "darkest colour is each method's largest score.",
    )
    compare.cancel_button(compared, "t.cancel")

with st.container(border=True):
    whole = tuple(range(len(continuation.sequence.answer)))
    now = tuple(opened.target.get("span") or whole)
    span = token_views.answer(continuation, level, now, f"t.answer.{opened.key()}")
    if span and span != now:
        st.button(
            f"Explain the {len(span)} chosen of {len(whole)} answer tokens",
            icon=":material/ads_click:",
            on_click=explain_selected,
            args=(opened, span if span != whole else ()),
        )

done = [item for item in compared if item.explanation is not None]
scored_maps = [item for item in done if item.explainer.role == "attribution"]
limits = dict(
    zip(
        [item.request.explainer for item in scored_maps],
        token_views.shared_limits([item.explanation for item in scored_maps], level),
        strict=True,
    )
)


def draw(item: compare.Item) -> None:
    """One panel's explanation."""
    if item.explainer.role == "view":
        token_views.view(item.explanation, f"view.{item.request.explainer}")
    else:
        shared = limits[item.request.explainer] if scale == token_views.SHARED else None
        token_views.strip(item, level, shared)


# A view's plots need the page's width; they come below what stands side by side.
views = [item for item in compared if item.explainer.role == "view"]
compare.grid([item for item in compared if item not in views], draw, "t.grid")
compare.grid(views, draw, "t.views", across=1)

TABS = ("Faithfulness", "Read", "Stability", "Sanity", "Agreement", "Attention heads", "Top tokens",
        "What the model saw", "Export")  # fmt: skip
first_tab = "Read" if len(continuation.sequence.answer) >= LONG_ANSWER else "Faithfulness"
tabs = dict(
    zip(TABS, st.tabs(TABS, key="t.tabs", default=first_tab, on_change="rerun"), strict=True)
)
if tabs["Faithfulness"].open:
    with tabs["Faithfulness"]:
        # A method that was cancelled or refused is not scored: scoring would compute it after all.
        wanted_scores = plan.score_requests(
            opened, continuation, tuple(item.request for item in scored_maps)
        )
        about = [*scored_maps, None]
        names = [item.title if item else "random" for item in about]
        rows = zip(names, compare.items(wanted_scores), about, strict=True)
        judge.scoreboard(list(rows), token_views.BOARD, "t.scores")
if tabs["Read"].open:
    with tabs["Read"]:
        reading.panel(opened, continuation, "t.read")
if tabs["Stability"].open:
    with tabs["Stability"]:
        token_stable.panel(opened, continuation, done, "t.stable")
if tabs["Sanity"].open:
    with tabs["Sanity"]:
        token_sanity.panel(opened, continuation, done, "t.sanity")
if tabs["Agreement"].open:
    with tabs["Agreement"]:
        agree.agree(compared, token_views.RANKED, "t.agree")
if tabs["Attention heads"].open:
    with tabs["Attention heads"]:
        token_views.heatmaps(compared, "t.heads")
if tabs["Top tokens"].open:
    with tabs["Top tokens"]:
        token_views.table(compared, level, "t.top")
if tabs["What the model saw"].open:
    with tabs["What the model saw"]:
        token_views.saw(continuation)
if tabs["Export"].open:
    with tabs["Export"]:
        export.panel(compared, opened.family, files, "t.export")
