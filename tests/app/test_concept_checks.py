"""Agreement, stability and sanity on the Concepts page, against the same numbers by the backend."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from backend.concepts import plan
from backend.concepts.bootstrap_table import bootstrapped, drawn
from backend.concepts.explanation import ConceptTable, ConceptTarget
from backend.concepts.reinitialised import layers, reinitialised
from backend.concepts.slice_stability import Slicing, slice_stability
from backend.consensus import consensus
from backend.explanation import Comparison, Request
from backend.sanity import correlation
from backend.stability import stability
from components.session import engine
from tests.app.conftest import settle
from tests.app.test_concepts import MODES, Open, chosen, opened, plots, sliced, tab
from tests.app.test_pages import press, words

pytestmark = pytest.mark.slow

QUICK = ["linear_contributions", "concept_flip"]
TITLES = ["Concept contributions", "Flip one concept"]
DECISION = "attribution"


def result(request: Request) -> Any:
    """What the page has computed of a request; it is an error if it has not."""
    found = engine().result(engine().key(request))
    assert found is not None, f"{request.explainer} was not asked for"
    return found


def scores(request: Request) -> np.ndarray:
    return result(request).arrays["scores"]


def trained(shown: Comparison) -> tuple[str, ConceptTable]:
    """The table of the page's model, and its digest."""
    made = plan.table_of(result(plan.train_request(shown)))
    return engine().put_input(made, "concepts"), made


def decided(page: Open, explainers: list[str], tabbed: str, preset: str = "shapes") -> AppTest:
    app = chosen(page, explainers, MODES[1])
    if preset != "shapes":
        app.selectbox(key="c.model").select(preset).run()
    app = settle(press(app, "Explain$"), lambda a: plots(a) >= len(explainers))
    return tab(app, DECISION, tabbed)


def table(app: AppTest, column: str) -> pd.DataFrame:
    return next((d.value for d in app.dataframe if column in d.value), pd.DataFrame())


def charts(app: AppTest) -> list[str]:
    """What each chart says it is."""
    return [chart.proto.alt for chart in app.get("plotly_chart")]


def test_a_consensus_is_offered_then_tells_where_the_methods_disagree(page: Open) -> None:
    app = decided(page, QUICK, "Agreement")
    assert any("Add **Consensus** to the explainers" in i.value for i in app.info)
    assert table(app, "disagreement").empty

    app.multiselect(key="c.attribution.explainers").set_value([*QUICK, "consensus"]).run()
    app = settle(press(app, "Explain$"), lambda a: not table(a, "disagreement").empty)
    assert not app.exception
    assert not any("Add **Consensus**" in i.value for i in app.info)
    assert "**Where 2 methods disagree**" in words(app)
    digest, made = trained(opened(app))
    *members, joint = plan.requests(opened(app), digest)
    mean, apart = consensus([scores(one) for one in members])
    np.testing.assert_array_equal(scores(joint), mean)
    shown = table(app, "disagreement")
    order = list(np.argsort(-apart, kind="stable"))[:10]
    assert list(shown["position"]) == order
    assert list(shown["concept"]) == [made.concept_names[p] for p in order]
    assert list(shown["disagreement"]) == [float(apart[p]) for p in order]
    assert list(shown["mean rank"]) == [float(mean[p]) for p in order]

    app = settle(tab(app, DECISION, "Faithfulness"), lambda a: len(table(a, "seconds")) == 4)
    board = table(app, "seconds").set_index("method")
    assert list(board.index) == [*TITLES, "Consensus", "random"]
    subjects = (*members, joint)
    metrics = result(plan.score_requests(subjects, lambda _: DECISION)[2]).values["metrics"]
    first = next(iter(metrics.values()))
    assert board.loc["Consensus", "Deletion area"] == first["deletion_auc"]
    seconds = [result(one).source().seconds for one in subjects]
    assert board.loc["Consensus", "seconds"] == pytest.approx(sum(seconds))


def test_a_decision_is_explained_again_among_samples_drawn_anew(page: Open) -> None:
    app = decided(page, [*QUICK, "shapley"], "Stability")
    assert "Press **Measure**" in words(app)
    app.number_input(key="c.attribution.stable.most").set_value(3).run()

    def whole(a: AppTest) -> bool:
        rows = table(a, "bootstrap: runs")
        return (
            not rows.empty
            and (rows["bootstrap: runs"] == "3").all()
            and rows["seeds: runs"][2] == "3"
        )

    app = settle(press(app, "Measure$"), whole)
    assert not app.exception
    rows = table(app, "bootstrap: runs")
    assert list(rows["method"]) == [*TITLES, "Shapley values (shap)"]
    assert list(rows["seeds: runs"]) == ["deterministic", "deterministic", "3"]
    digest, made = trained(opened(app))
    asked = plan.requests(opened(app), digest)
    sample = ConceptTarget.model_validate(opened(app).target).sample
    assert sample is not None
    drawn_anew = [
        engine().put_input(bootstrapped(made, seed, sample), "concepts") for seed in range(2)
    ]
    for number, request in enumerate(asked):
        runs = [request, *(request.moved(one, request.target) for one in drawn_anew)]
        found = [scores(one) for one in runs]
        check(rows.iloc[number], "bootstrap", found)
        # What a flip does, the head alone says; the others compare with the table's samples.
        assert np.array_equal(found[0], found[1]) == (request.explainer == "concept_flip")
    found = [scores(asked[2].at_seed(seed)) for seed in range(3)]
    check(rows.iloc[2], "seeds", found)
    assert len(charts(app)) == 3 + 1 + 3, "the panels, one method over seeds, three over bootstraps"


def check(row: pd.Series, what: str, runs: list[np.ndarray]) -> None:
    """A row's cells are those of these runs."""
    expected = stability(runs, 0.25)
    assert row[f"{what}: overlap"] == f"{expected.overlap.mean:.3f} ± {expected.half:.3f}"
    assert row[f"{what}: correlation"] == expected.correlation.mean
    assert row[f"{what}: stable"] == f"{expected.stable.sum()} of {expected.top}"


def test_slices_that_come_back_over_seeds_and_bootstraps(page: Open) -> None:
    app = tab(sliced(page, ["kmeans", "random"]), "slicing", "Stability")
    assert "Press **Measure**" in words(app)
    app.number_input(key="c.slicing.stable.most").set_value(3).run()

    def whole(a: AppTest) -> bool:
        rows = table(a, "bootstrap: agreement")
        every = ["seeds: runs", "bootstrap: runs"]
        return not rows.empty and (rows[every] == "3").all(axis=None)

    app = settle(press(app, "Measure$"), whole)
    assert not app.exception
    rows = table(app, "bootstrap: agreement")
    assert list(rows["method"]) == ["K-means", "Random slices"]
    digest, made = trained(opened(app))
    each = [d.value for d in app.dataframe if "slice" in d.value]
    for number, request in enumerate(plan.requests(opened(app), digest)):
        first = Slicing.of(*assigned(request))
        seeds = [Slicing.of(*assigned(request.at_seed(seed))) for seed in (1, 2)]
        again = []
        for seed in range(2):
            other = engine().put_input(bootstrapped(made, seed), "concepts")
            moved = request.moved(other, request.target)
            again.append(Slicing.of(*assigned(moved), drawn(len(made), seed)))
        over = {
            "seeds": slice_stability([first, *seeds]),
            "bootstrap": slice_stability([first, *again]),
        }
        listed = each[number]
        assert len(listed) == len(result(request).values["slices"])
        for name, expected in over.items():
            cells, mean = rows.iloc[number], expected.agreement.mean
            assert cells[f"{name}: agreement"] == f"{mean:.3f} ± {expected.half:.3f}"
            many = f"{expected.stable.sum()} of {len(expected.stable)}"
            assert cells[f"{name}: stable"] == many
            np.testing.assert_array_equal(listed[f"{name}: comes back"], expected.back)
            np.testing.assert_array_equal(listed[f"{name}: overlap"], expected.overlap)
        both = over["seeds"].stable & over["bootstrap"].stable
        assert list(listed["stable"]) == both.tolist()
    # What is drawn by chance does not come back; clusters of the errors do more.
    agreed = rows["seeds: agreement"].str.split().str[0].astype(float)
    assert agreed[0] > agreed[1] + 0.1


def assigned(request: Request) -> tuple[np.ndarray, np.ndarray]:
    found = result(request).arrays
    return found["errors"], found["slices"]


def test_sanity_explains_a_head_that_learned_from_shuffled_labels(page: Open) -> None:
    app = decided(page, QUICK, "Sanity")
    app.number_input(key="c.sanity.draws").set_value(1).run()
    app.toggle(key="c.sanity.control").set_value(True).run()
    assert "Press **Measure**" in words(app)

    def whole(a: AppTest) -> bool:
        rows = table(a, "shuffled labels")
        return (
            not rows.empty
            and (rows["draws"] == 1).all()
            and (rows[["shuffled labels", "other class"]] != "").all(axis=None)
        )

    app = settle(press(app, "Measure$"), whole)
    assert not app.exception
    rows = table(app, "shuffled labels")
    shown = opened(app)
    digest, made = trained(shown)
    target = ConceptTarget.model_validate(shown.target)
    recipe = target.recipe.model_copy(update={"labels": "shuffled"})
    shuffled = ConceptTarget(recipe=recipe).model_dump(mode="json")
    _, misled = trained(shown.model_copy(update={"target": shuffled}))
    assert misled.origin["task_accuracy"] < made.origin["task_accuracy"]
    head = {name: array for name, array in misled.arrays.items() if name.startswith("head/")}
    assert head.keys() == {name for name in made.arrays if name.startswith("head/")}
    other = dataclasses.replace(made, arrays=made.arrays | head, origin=misled.origin)
    beside = {
        "shuffled labels": engine().put_input(other, "concepts"),
        "nothing learned": engine().put_input(
            reinitialised(made, len(layers(made)), 0), "concepts"
        ),
    }
    for number, request in enumerate(plan.requests(shown, digest)):
        label = result(request).values["label"]
        told = target.model_copy(update={"recipe": None, "label": label}).model_dump(mode="json")
        found = {
            name: correlation(scores(request), scores(request.moved(one, told)))
            for name, one in beside.items()
        }
        assert rows["shuffled labels"][number] == f"{found['shuffled labels']:.3f}"
        assert found["shuffled labels"] < 0.999, "the misled head reaches the method"
        assert rows["nothing learned"][number] == pytest.approx(found["nothing learned"])


def test_a_head_that_was_not_trained_here_cannot_be_trained_on_shuffled_labels(page: Open) -> None:
    app = decided(page, ["concept_flip"], "Sanity", preset="xor")
    assert not app.exception
    assert any(b.label == "Measure" for b in app.button)
    assert not [t.label for t in app.toggle if t.label == "Shuffled labels"]
