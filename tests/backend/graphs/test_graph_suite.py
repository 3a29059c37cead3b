"""Scores over many items: the same as one by one; and the requests a page makes of them."""

from __future__ import annotations

import numpy as np
import pytest

from backend.catalogue import draws
from backend.errors import Cancelled, InputError
from backend.explanation import Choice, Comparison, ModelRef
from backend.graphs import items, plan
from backend.graphs.edge_occlusion import EdgeOcclusion
from backend.graphs.explanation import GraphSet, GraphTarget
from backend.graphs.graph_faithfulness import GraphFaithfulness
from backend.graphs.graph_suite import GraphSuite
from backend.graphs.plan import Sets
from tests.backend.graphs.made import graph_set
from tests.fake import FakeRun

SETS = Sets("a" * 64, "b" * 64)


def suite(explained, run=None, **parameters):
    given = GraphSuite.Parameters(**parameters)
    return GraphSuite().explain(None, explained, GraphTarget(), given, run or FakeRun())


def comparison(*names, seed=0, **target) -> Comparison:
    choices = tuple(Choice(explainer=name) for name in names)
    return Comparison(
        family="graphs", model=ModelRef(name="ba-2motifs"), input="c" * 64,
        target=GraphTarget(**target).model_dump(mode="json"), choices=choices, seed=seed,
    )  # fmt: skip


def with_reason():
    graphs = graph_set()
    graphs.arrays["edge_motifs"] = (np.arange(33) % 4 == 0).astype(np.int32)
    graphs.arrays["node_motifs"] = np.ones(36, dtype=np.int32)
    return graphs


def test_a_suite_is_each_item_explained_and_scored():
    graphs = with_reason()
    found = suite(graphs, explainer="edge_occlusion", graphs=3)
    assert found.arrays["items"].tolist() == [0, 1, 2]
    for i in range(3):
        target = items.target(graphs, i)
        one = EdgeOcclusion().explain(None, graphs, target, EdgeOcclusion.Parameters(), FakeRun())
        given = GraphFaithfulness.Parameters(draws=5)
        score = GraphFaithfulness().explain(None, graphs, target, given, FakeRun(subject=one))
        for name in ("edge_auc", "precision", "fidelity_plus", "fidelity_minus", "keep_area"):
            expected = score.values["metrics"][name]
            assert found.arrays[f"metrics/{name}"][i] == pytest.approx(expected, abs=1e-6), name


def test_an_explainer_that_learns_learns_once():
    learned = []

    class Counting(FakeRun):
        def progress(self, done, total, what):
            learned.append(what)
            super().progress(done, total, what)

    settings = {"epochs": 2, "graphs": 2}
    suite(graph_set(), Counting(), explainer="pg_explainer", settings=settings, graphs=3)
    assert learned.count("items explained and scored") == 3
    first = learned.index("items explained and scored")
    assert "learning to score edges" in learned[:first]
    assert "learning to score edges" not in learned[first:]


def test_random_rankings_are_a_row_of_their_own():
    found = suite(with_reason(), graphs=3)
    assert found.values["explainer"] == ""
    assert (found.arrays["seconds"] == 0).all()
    again = suite(with_reason(), graphs=3)
    assert np.array_equal(found.arrays["metrics/edge_auc"], again.arrays["metrics/edge_auc"])


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"explainer": "nothing"}, "no explainer 'nothing'"),
        ({"explainer": "train_gnn"}, "scores no edges"),
        ({"explainer": "gat_attention"}, "Only a GAT"),
        ({"explainer": "saliency", "settings": {"absolute": "perhaps"}}, "absolute"),
    ],
)
def test_what_cannot_be_scored_is_said_before_anything_runs(parameters, said):
    with pytest.raises(InputError, match=said):
        suite(graph_set(), **parameters)


def test_a_suite_can_be_cancelled():
    with pytest.raises(Cancelled):
        suite(graph_set(), FakeRun(cancel_after=2), explainer="saliency")


def test_a_fit_is_the_same_request_for_every_graph():
    first = plan.requests(comparison("ms_explainer", "saliency", graph=1), SETS)
    other = plan.requests(comparison("ms_explainer", "saliency", graph=2), SETS)
    assert first[0].subject == other[0].subject
    assert first[0].subject.input == SETS.fitted
    assert first[0].input == SETS.explained
    assert first[1].subject is None
    assert first[0].target != other[0].target


def test_a_fit_gets_its_own_parameters_alone():
    asked = comparison().model_copy(
        update={"choices": (Choice(explainer="ms_explainer",
                                   parameters={"epochs": 3, "refine": True}),)}
    )  # fmt: skip
    [request] = plan.requests(asked, SETS)
    assert request.parameters == {"epochs": 3, "refine": True}
    assert request.subject.parameters == {"epochs": 3}


def test_scores_are_of_each_subject_and_of_chance():
    subjects = plan.requests(comparison("saliency", "edge_occlusion"), SETS)
    asked = plan.score_requests(subjects)
    assert [request.subject for request in asked] == [*subjects, None]
    assert plan.score_requests(()) == ()


def test_a_method_draws_where_its_fit_does():
    asked = plan.requests(comparison("ms_explainer", "saliency", "gnn_explainer"), SETS)
    assert [draws(request) for request in asked] == [True, False, True]
    other = asked[0].at_seed(2)
    assert other.seed == 2
    assert other.subject.seed == 2


def test_a_consensus_has_no_score_over_many_graphs():
    asked = comparison("saliency", "consensus", "edge_occlusion")
    assert [c.explainer for c in plan.suite_choices(asked)] == ["saliency", "edge_occlusion"]
    named = [request.parameters["explainer"] for request in plan.suite_requests(asked, SETS, 3)]
    assert named == ["saliency", "edge_occlusion", ""]


def test_the_recipe_is_the_trainings_alone():
    recipe = {"kind": "gcn", "epochs": 7}
    asked = comparison("saliency", recipe=recipe, graph=3)
    trained = plan.train_request(asked, "d" * 64)
    assert trained.input == "d" * 64
    assert trained.target["recipe"]["epochs"] == 7
    assert trained.target["graph"] is None
    [request] = plan.requests(asked, SETS)
    assert request.target["recipe"] is None
    assert request.target["graph"] == 3


def test_a_trained_set_is_read_back():
    from backend.graphs.explanation import GraphExplanation

    graphs = graph_set("gat", "node", title="a set", class_names=("x", "y"))
    arrays, values = graphs.parts()
    found = GraphExplanation(arrays=arrays, values={"kind": "set", **values})
    again = GraphExplanation.from_bytes(found.to_bytes())
    assert plan.set_of(again).digest() == graphs.digest()
    with pytest.raises(ValueError, match="no set"):
        plan.set_of(GraphExplanation(arrays={}, values={"kind": "edges"}))
    assert isinstance(plan.set_of(again), GraphSet)
