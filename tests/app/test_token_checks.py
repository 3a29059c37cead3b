"""Agreement, stability and sanity on the Tokens page, against the same numbers by the backend."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from backend.consensus import consensus
from backend.explanation import Comparison, Reinitialised, Request
from backend.sanity import correlation
from backend.stability import stability
from backend.tokens import plan
from backend.tokens.explanation import Target, TokenExplanation
from backend.tokens.noise import aligned, noisy
from components.session import engine
from tests.app.conftest import settle
from tests.app.test_pages import Open, explained, press, strips, words

pytestmark = pytest.mark.slow

TEXT = "The code for the vault is"
QUICK = ["attention_last", "gradient_x_input"]
TITLES = ["Attention, last layer", "Gradient × input"]


@dataclasses.dataclass(frozen=True)
class Shown:
    """What a page shows: the answer, and a finished request a method."""

    opened: Comparison
    continuation: TokenExplanation
    asked: tuple[Request, ...]

    @classmethod
    def of(cls, app: AppTest) -> Shown:
        key = re.search("[0-9a-f]{64}", str(app.query_params["c"])).group()
        opened = engine().get_comparison(key)
        continuation = result(plan.continuation_request(opened))
        return cls(opened, continuation, plan.requests(opened, continuation))


def result(request: Request) -> Any:
    """What the page has computed of a request; it is an error if it has not."""
    found = engine().result(engine().key(request))
    assert found is not None, f"{request.explainer} was not asked for"
    return found


def scores(request: Request) -> np.ndarray:
    return result(request).arrays["scores"]


def tab(app: AppTest, name: str) -> AppTest:
    app.session_state["t.tabs"] = name
    return app.run()


def table(app: AppTest, column: str) -> pd.DataFrame:
    return next((d.value for d in app.dataframe if column in d.value), pd.DataFrame())


def charts(app: AppTest) -> list[str]:
    """What each chart says it is."""
    return [chart.proto.alt for chart in app.get("plotly_chart")]


def test_a_consensus_is_offered_then_tells_where_the_methods_disagree(page: Open) -> None:
    app = tab(explained(page, TEXT, QUICK), "Agreement")
    [info] = [i.value for i in app.info]
    assert "Add **Consensus** to the explainers" in info
    assert table(app, "disagreement").empty
    alone = strips(app)

    app.multiselect(key="t.explainers").set_value([*QUICK, "consensus"]).run()
    app = settle(press(app, "Explain$"), lambda a: not table(a, "disagreement").empty)
    assert not app.exception
    assert not app.info
    assert "**Where 2 methods disagree**" in words(app)
    assert strips(app) == alone + 2, "the panel of the consensus, and what is disagreed about"
    *members, joint = Shown.of(app).asked
    mean, apart = consensus([scores(one) for one in members])
    np.testing.assert_array_equal(scores(joint), mean)
    shown = table(app, "disagreement")
    positions = list(shown["position"])
    assert sorted(positions) == np.flatnonzero(np.isfinite(apart)).tolist()
    assert list(shown["disagreement"]) == [float(apart[p]) for p in positions]
    assert list(shown["mean rank"]) == [float(mean[p]) for p in positions]
    assert (np.diff(shown["disagreement"]) <= 0).all(), "the most disagreed about comes first"
    names = result(joint).sequence
    assert [word.strip("·") for word in shown["token"]] == [
        names.text[slice(*names.offsets[p])].strip() for p in positions
    ]

    # It is scored like any method, and takes as long as all it is of.
    app = settle(tab(app, "Faithfulness"), lambda a: len(table(a, "seconds")) == 4)
    board = table(app, "seconds").set_index("method")
    assert list(board.index) == [*TITLES, "Consensus", "random"]
    seconds = [result(one).source().seconds for one in (*members, joint)]
    assert board.loc["Consensus", "seconds"] == pytest.approx(sum(seconds))
    scored = plan.score_requests(
        Shown.of(app).opened, Shown.of(app).continuation, (*members, joint)
    )
    metrics = result(scored[2]).values["metrics"]
    first = next(iter(metrics.values()))
    assert board.loc["Consensus", "Comprehensiveness"] == first["comprehensiveness"]


def measured(app: AppTest, done: Callable[[pd.DataFrame], Any], column: str) -> AppTest:
    return settle(
        press(app, "Measure$"), lambda a: not table(a, column).empty and done(table(a, column))
    )


def noisy_runs(shown: Shown, request: Request, runs: int) -> list[TokenExplanation]:
    """A request's explanation and those of the prompt with a few tokens replaced."""
    prompt = engine().get_input("tokens", shown.opened.input)
    found = [result(request)]
    for seed in range(runs - 1):
        changed = engine().put_input(noisy(prompt, shown.continuation.sequence, seed), "tokens")
        found.append(result(request.moved(changed, request.target)))
    return found


def test_stability_of_methods_without_a_seed_is_that_over_noise(page: Open) -> None:
    app = tab(explained(page, TEXT, [*QUICK, "consensus"]), "Stability")
    assert "Press **Measure**" in words(app)
    app.number_input(key="t.stable.most").set_value(3).run()
    app = measured(app, lambda rows: (rows["noise: runs"] == "3").all(), "noise: runs")
    assert not app.exception
    rows = table(app, "noise: runs")
    assert list(rows["method"]) == [*TITLES, "Consensus"]
    assert list(rows["seeds"]) == ["deterministic"] * 3
    assert not [name for name in rows if name.startswith("seeds:")]
    shown = Shown.of(app)
    for number, request in enumerate(shown.asked):
        runs = noisy_runs(shown, request, 3)
        ids = [one.sequence.ids for one in runs]
        assert len(set(ids)) == 3, "each run has other tokens"
        expected = stability(aligned(runs), 0.1)
        row = rows.iloc[number]
        assert row["noise: overlap"] == f"{expected.overlap.mean:.3f} ± {expected.half:.3f}"
        assert row["noise: correlation"] == expected.correlation.mean
        assert row["noise: stable"] == f"{expected.stable.sum()} of {expected.top}"
    assert any(rows["noise: correlation"] < 0.999), "the noise reaches a method"
    assert sorted(charts(app)) == sorted(
        f"Mean and spread of the scores by {title}" for title in (*TITLES, "Consensus")
    )


def test_stability_over_seeds_draws_the_mean_on_the_prompt(page: Open) -> None:
    app = explained(page, TEXT, ["attention_last", "shap_partition"])
    before = strips(app)
    app = tab(app, "Stability")
    app.number_input(key="t.stable.most").set_value(2).run()
    app = measured(
        app,
        lambda rows: (rows["noise: runs"] == "2").all() and rows["seeds: runs"][1] == "2",
        "noise: runs",
    )
    rows = table(app, "noise: runs")
    assert list(rows["seeds: runs"]) == ["deterministic", "2"]
    assert rows["seeds: overlap"][0] == ""
    request = Shown.of(app).asked[1]
    expected = stability([scores(request), scores(request.at_seed(1))], 0.1)
    # Two runs have one pair, which has no interval.
    assert rows["seeds: overlap"][1] == f"{expected.overlap.mean:.3f}"
    assert rows["seeds: correlation"][1] == expected.correlation.mean
    assert strips(app) == before + 1, "the mean over seeds on the prompt"
    assert len(charts(app)) == 3, "the method that draws over seeds, and both over noise"


def test_sanity_explains_models_that_have_forgotten_and_another_answer(page: Open) -> None:
    app = tab(explained(page, TEXT, [*QUICK, "leave_one_out"]), "Sanity")
    methods = app.multiselect(key="t.sanity.methods")
    assert methods.value == QUICK, "what takes many passes is not chosen by itself"
    app.number_input(key="t.sanity.draws").set_value(2).run()
    app = measured(
        app, lambda rows: (rows["draws"] == 2).all() and (rows["other answer"] != "").all(), "draws"
    )
    assert not app.exception
    rows = table(app, "draws")
    assert list(rows["method"]) == TITLES
    assert list(rows["verdict"]) == ["–", "–"], "two draws are too few for a verdict"

    shown = Shown.of(app)
    ids = list(shown.continuation.values["ids"])
    other = next(o for o in shown.continuation.values["alternatives"][0] if o["id"] != ids[0])
    changed = Target(ids=(other["id"], *ids[1:])).model_dump(mode="json")
    for number, request in enumerate(shown.asked[:2]):
        trained = scores(request)
        forgotten = [scores(request.of_model(drawn(request, 4, seed))) for seed in range(2)]
        found = [correlation(trained, one) for one in forgotten]
        row = rows.iloc[number]
        assert row["nothing learned"] == pytest.approx(np.mean(found))
        assert row["nothing learned"] < 0.999, "the re-initialised model reaches the method"
        told = correlation(trained, scores(request.moved(request.input, changed)))
        assert row["other answer"] == f"{told:.3f}"
    [curves] = charts(app)
    assert curves == "Rank correlation with the trained model's explanation as it forgets"
    assert f"“{other['text'].strip()}”" in words(app).replace("·", "")


def drawn(request: Request, depth: int, seed: int) -> Any:
    """The model with this many of its stages drawn anew: three layers and the embeddings."""
    forgotten = Reinitialised(depth=depth, seed=seed)
    return request.model.model_copy(update={"reinitialised": forgotten})
