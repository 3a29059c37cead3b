"""Explainers of one choice, on agents whose reasons are known, and the score of their rankings."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pytest

from backend.errors import Cancelled, InputError
from backend.policies import policy_metrics
from backend.policies.agent import agent_of
from backend.policies.causal_xrl import CausalXRL
from backend.policies.correlation_causes import CorrelationCauses
from backend.policies.explanation import (
    PREFIX,
    Collecting,
    Experience,
    Network,
    PolicyExplanation,
    PolicyTarget,
    Variable,
)
from backend.policies.learn_graph import LearnGraph
from backend.policies.local_fidelity import local_fidelity
from backend.policies.policy_integrated_gradients import PolicyIntegratedGradients
from backend.policies.policy_saliency import PolicySaliency
from backend.policies.policy_shap import PolicyShap
from backend.policies.random_variables import RandomVariables
from backend.policies.tree_surrogate import TreeSurrogate
from backend.policies.variable_faithfulness import VariableFaithfulness
from tests.backend.policies.worlds import (
    DRIVE,
    FIXED,
    LEVEL,
    LIFT,
    NAMES,
    SHADOW,
    VARIABLES,
    acted,
    truth,
    world,
)
from tests.fake import FakeRun

WEIGHTS = np.array([1.5, 0.0, -2.0, 0.5, 0.0])
HERE = PolicyTarget(episode=3, step=10)


@pytest.fixture(scope="module")
def made():
    return world()


@pytest.fixture(scope="module")
def linear(made):
    return acted(made, list(WEIGHTS), bias=0.3)


@pytest.fixture(scope="module")
def curved(made):
    """An agent of two layers."""
    generator = np.random.default_rng(4)
    weights = {
        "0.weight": generator.normal(size=(8, 5)),
        "0.bias": generator.normal(size=8) * 0.3,
        "1.weight": generator.normal(size=(2, 8)),
        "1.bias": np.array([0.1, -0.2]),
    }
    own = {PREFIX + name: array.astype(np.float32) for name, array in weights.items()}
    network = Network(activation="tanh", head="logits")
    return dataclasses.replace(made, arrays={**made.arrays, **own}, network=network)


def explain(explainer, experience, target=HERE, run=None, **parameters):
    given = explainer.Parameters(**parameters)
    return explainer().explain(None, experience, target, given, run or FakeRun())


def state_of(experience, target=HERE):
    return experience.arrays["states"][experience.row(target.episode, target.step)].astype(float)


def towards(experience, found):
    """+1 where the second action is explained, -1 where the first."""
    return 1 if found.values["action"] == 1 else -1


# What every one tells


def test_an_explanation_tells_its_moment(linear):
    found = explain(PolicySaliency, linear)
    state = state_of(linear)
    odds = float(WEIGHTS @ state + 0.3)
    assert found.values["kind"] == "variables"
    assert found.values["variable_names"] == list(NAMES)
    assert (found.values["episode"], found.values["step"]) == (3, 10)
    np.testing.assert_allclose(found.values["state"], state)
    assert found.values["action"] == int(odds > 0)
    assert found.values["instead"] == int(odds <= 0)
    assert found.values["probabilities"][1] == pytest.approx(1 / (1 + math.exp(-odds)), abs=1e-6)
    assert found.values["unit"] == "logit"


def test_a_state_set_by_hand_is_explained(linear):
    target = PolicyTarget(state=(1, 0, 0, 0, 2), action=0)
    found = explain(PolicyShap, linear, target, rows=1000)
    assert found.values["state"] == [1, 0, 0, 0, 2]
    assert (found.values["action"], found.values["instead"]) == (0, 1)
    assert found.values["episode"] is None
    assert found.values["output"] == pytest.approx(-1.8, abs=1e-6)


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ({"episode": 99}, "no episode 99"),
        ({"episode": 0, "step": 500}, "no step 500"),
        ({"action": 2}, "no action 2"),
        ({"action": 1, "instead": 1}, "set against itself"),
        ({"state": (1.0, 2.0)}, "has 2 numbers"),
        ({"state": (1.0, 2.0, float("nan"), 0.0, 0.0)}, "finite number"),
    ],
)
def test_a_moment_that_is_not_there_is_refused(linear, target, says):
    with pytest.raises(InputError, match=says):
        explain(CorrelationCauses, linear, PolicyTarget(**target))


def test_without_transitions_there_is_nothing_to_explain():
    with pytest.raises(InputError, match="no transitions yet"):
        explain(RandomVariables, Experience.none())


@pytest.mark.parametrize("explainer", [PolicySaliency, PolicyIntegratedGradients])
def test_gradients_need_an_agent(made, explainer):
    unknown = world(episodes=4, known=False)
    with pytest.raises(InputError, match="No agent is known here"):
        explain(explainer, unknown, PolicyTarget())
    assert "No agent is known" in explainer().supports({}, unknown)
    assert explainer().supports({}, made) is None


# Gradients


def test_saliency_of_a_linear_agent_is_weight_times_deviation(linear):
    run = FakeRun()
    found = explain(PolicySaliency, linear, run=run)
    spread = linear.arrays["states"].astype(float).std(axis=0)
    np.testing.assert_allclose(found.arrays["scores"], np.abs(WEIGHTS) * spread, rtol=1e-5)
    assert (run.forward, run.backward) == (1, 1)


def test_saliency_does_not_hang_on_how_inputs_are_scaled(linear):
    scaled = {
        PREFIX + "shift": np.array([1, 2, 3, 4, 5], dtype=np.float32),
        PREFIX + "scale": np.array([2, 1, 4, 1, 0.5], dtype=np.float32),
        PREFIX + "0.weight": linear.arrays[PREFIX + "0.weight"]
        * np.array([2, 1, 4, 1, 0.5], dtype=np.float32),
    }
    other = dataclasses.replace(linear, arrays={**linear.arrays, **scaled})
    target = HERE.model_copy(update={"action": 1})
    np.testing.assert_allclose(
        explain(PolicySaliency, other, target).arrays["scores"],
        explain(PolicySaliency, linear, target).arrays["scores"],
        rtol=1e-5,
    )


def test_saliency_of_a_curved_agent_is_that_of_small_steps(curved):
    found, agent, state = explain(PolicySaliency, curved), agent_of(curved), state_of(curved)
    slopes = []
    for i in range(5):
        up, down = state.copy(), state.copy()
        up[i] += 1e-5
        down[i] -= 1e-5
        outputs = agent.outputs(np.stack([up, down]))
        margins = outputs[:, 1] - outputs[:, 0]
        slopes.append((margins[0] - margins[1]) / 2e-5)
    spread = curved.arrays["states"].astype(float).std(axis=0)
    np.testing.assert_allclose(found.arrays["scores"], np.abs(slopes) * spread, rtol=1e-4)


def test_integrated_gradients_of_a_linear_agent_in_closed_form(linear):
    found = explain(PolicyIntegratedGradients, linear, steps=8)
    apart = state_of(linear) - linear.arrays["states"].astype(float).mean(axis=0)
    expected = towards(linear, found) * WEIGHTS * apart
    np.testing.assert_allclose(found.arrays["scores"], expected, atol=1e-5)
    assert abs(found.values["completeness_gap"]) < 1e-6
    assert found.notes == ()


def test_integrated_gradients_are_complete(curved):
    found = explain(PolicyIntegratedGradients, curved, steps=256)
    agent, at = agent_of(curved), found.values
    rows = np.stack([state_of(curved), curved.arrays["states"].astype(float).mean(axis=0)])
    outputs = agent.outputs(rows)
    margins = outputs[:, at["action"]] - outputs[:, at["instead"]]
    assert at["output"] == pytest.approx(margins[0], abs=1e-6)
    assert at["baseline_output"] == pytest.approx(margins[1], abs=1e-6)
    assert found.arrays["scores"].sum() == pytest.approx(margins[0] - margins[1], abs=1e-3)
    assert abs(at["completeness_gap"]) < 1e-3


def test_categorical_variables_get_one_score_each(made):
    kinds = (Variable(name="place", kind="categorical", levels=("a", "b", "c")), VARIABLES[0])
    generator = np.random.default_rng(0)
    states = np.stack([generator.integers(3, size=2000), generator.normal(size=2000)], axis=1)
    weight = np.array([[0, 0, 0, 0], [1.0, -2.0, 0.5, 3.0]], dtype=np.float32)
    arrays = {
        **made.arrays,
        "states": states.astype(np.float32),
        "next_states": states.astype(np.float32),
        PREFIX + "0.weight": weight,
        PREFIX + "0.bias": np.zeros(2, dtype=np.float32),
    }
    network = Network(head="values", one_hot=True)
    found = explain(
        PolicyIntegratedGradients,
        dataclasses.replace(made, arrays=arrays, variables=kinds, network=network),
        PolicyTarget(state=(0, 1.0), action=1),
        steps=8,
    )
    place = np.eye(3)[states[:, 0].astype(int)].mean(axis=0)
    expected = [1 - place @ [1.0, -2.0, 0.5], 3 * (1 - states[:, 1].mean())]
    np.testing.assert_allclose(found.arrays["scores"], expected, rtol=1e-4)
    assert found.values["unit"] == "value"


# Shapley values


def test_shapley_values_of_a_linear_margin_in_closed_form(linear):
    found = explain(PolicyShap, linear, run=FakeRun(seed=5), rows=100)
    chosen = np.random.default_rng(5).choice(2000, 100, replace=False)
    middle = linear.arrays["states"][chosen].astype(float).mean(axis=0)
    expected = towards(linear, found) * WEIGHTS * (state_of(linear) - middle)
    np.testing.assert_allclose(found.arrays["scores"], expected, atol=1e-6)
    assert found.values["rows"] == 100
    assert found.values["exact"] is True


def test_shapley_values_of_a_curved_agent_are_those_over_all_orders(curved):
    found = explain(PolicyShap, curved, rows=20)
    chosen = np.random.default_rng(0).choice(2000, 20, replace=False)
    background, state = curved.arrays["states"][chosen].astype(float), state_of(curved)
    agent, at = agent_of(curved), found.values

    def worth(members):
        mixed = background.copy()
        mixed[:, list(members)] = state[list(members)]
        outputs = agent.outputs(mixed)
        return (outputs[:, at["action"]] - outputs[:, at["instead"]]).mean()

    orders = list(itertools.permutations(range(5)))
    expected = np.zeros(5)
    for order in orders:
        for k, i in enumerate(order):
            expected[i] += worth(order[: k + 1]) - worth(order[:k])
    np.testing.assert_allclose(found.arrays["scores"], expected / len(orders), atol=1e-5)
    assert at["sum"] == pytest.approx(at["output"] - at["baseline_output"], abs=1e-8)


def test_many_variables_are_tried_in_random_orders(made):
    generator = np.random.default_rng(3)
    states = generator.normal(size=(2000, 13)).astype(np.float32)
    weights = generator.normal(size=13)
    wide = dataclasses.replace(
        made,
        arrays={**made.arrays, "states": states, "next_states": states},
        variables=tuple(Variable(name=f"v{k}") for k in range(13)),
    )
    found = explain(PolicyShap, acted(wide, list(weights)), rows=50)
    assert found.values["exact"] is False
    chosen = np.random.default_rng(0).choice(2000, 50, replace=False)
    at = wide.row(3, 10)
    expected = weights * (states[at] - states[chosen].mean(axis=0)) * towards(wide, found)
    np.testing.assert_allclose(found.arrays["scores"], expected, atol=1e-5)


def test_without_an_agent_shapley_values_are_of_its_stand_in():
    unknown = world(known=False)
    found = explain(PolicyShap, unknown, rows=30)
    assert found.values["unit"] == "probability"
    assert found.values["probabilities"] is None
    assert found.values["sum"] == pytest.approx(
        found.values["output"] - found.values["baseline_output"], abs=1e-8
    )
    assert np.abs(found.arrays["scores"]).argmax() == LEVEL
    assert "stands in" in found.notes[0]


# A tree in place of the agent


def test_a_tree_repeats_an_agent_of_one_threshold(made):
    found = explain(TreeSurrogate, made, depth=3)
    assert found.values["fidelity"] == pytest.approx(1, abs=2e-3)
    assert found.values["says"] == found.values["action"]
    assert found.values["tree_return"] is None
    state = state_of(made)
    side = "≤" if state[LEVEL] < 0 else ">"
    variable, sign, bound = found.values["rule"].split(" and ")[0].split()
    assert (variable, sign) == ("level", side)
    assert float(bound) == pytest.approx(0, abs=0.02)
    scores = found.arrays["scores"]
    np.testing.assert_allclose(np.delete(scores, LEVEL), 0, atol=0.02)
    assert scores[LEVEL] > 0.1
    assert found.values["sentences"]["why"][1].startswith("It agrees with the agent in")


def test_a_tree_too_shallow_says_how_often_it_agrees(linear):
    shallow = explain(TreeSurrogate, linear, depth=1).values
    deep = explain(TreeSurrogate, linear, depth=8).values
    assert shallow["leaves"] == 2
    assert shallow["fidelity"] < deep["fidelity"]
    assert f"{shallow['fidelity']:.1%}" in shallow["sentences"]["why"][1]


def test_tree_shares_add_up_to_what_the_tree_says(linear):
    from backend.policies.surrogate import fit_tree

    run = FakeRun()
    tree = fit_tree(linear, 4, 0, run)
    state = state_of(linear)
    shares = tree.shares(state, 1)
    said = tree.tree.predict_proba(state[None])[0, 1]
    # Tree SHAP starts from the mean over the rows of the fit, weighted as they were.
    root = tree.tree.tree_.value[0, 0]
    assert shares.sum() == pytest.approx(said - root[1] / root.sum(), abs=1e-6)
    assert shares[FIXED] == 0


def test_in_cartpole_the_tree_plays_as_the_agent_does():
    from backend.policies.collecting import collect
    from backend.policies.environment import find
    from backend.policies.models import shipped

    model = shipped("cartpole")
    cart = find("cartpole")
    own = {PREFIX + name: array for name, array in model.weights.items()}
    agent = agent_of(
        Experience(arrays=own, variables=cart.variables, network=model.network, title="")
    )
    asked = Collecting(mode="mixed", transitions=1500)
    experience = collect(cart, agent, asked, lambda *_: None)
    found = explain(TreeSurrogate, experience, PolicyTarget(), depth=5, rounds=1)
    assert found.values["agent_return"] == 500
    assert found.values["tree_return"] > 150
    assert found.values["fidelity"] > 0.8


# Controls


def test_correlation_is_pearsons(made):
    found = explain(CorrelationCauses, made)
    taken = made.arrays["actions"] == found.values["action"]
    states = made.arrays["states"].astype(float)
    expected = [abs(np.corrcoef(states[:, i], taken)[0, 1]) for i in range(4)]
    np.testing.assert_allclose(found.arrays["scores"], [*expected, 0], atol=1e-6)
    # It takes the pair for causes of the choice, which reads the level alone.
    assert found.arrays["scores"][SHADOW] > 0.1


def test_random_scores_are_the_seeds(made):
    found = explain(RandomVariables, made, run=FakeRun(seed=7))
    np.testing.assert_allclose(found.arrays["scores"], np.random.default_rng(7).random(5))
    other = explain(RandomVariables, made, run=FakeRun(seed=8))
    assert (found.arrays["scores"] != other.arrays["scores"]).all()
    assert RandomVariables.control


# The score of a ranking


def subject(experience, scores):
    found = explain(CorrelationCauses, experience)
    return PolicyExplanation(
        arrays={"scores": np.asarray(scores, dtype=np.float32)}, values=dict(found.values)
    )


def score(experience, scores=None, seed=0, **parameters):
    about = None if scores is None else subject(experience, scores)
    run = FakeRun(subject=about, seed=seed)
    return explain(VariableFaithfulness, experience, run=run, **parameters)


def test_the_curves_of_an_agent_of_one_variable_in_closed_form(made):
    found = score(made, [0, 0, 1, 0, 0], states=400)
    pool = made.arrays["states"][np.random.default_rng(0).integers(2000, size=400)].astype(float)
    odds = np.concatenate([[state_of(made)[LEVEL]], pool[:, LEVEL]]) * -4
    chances = 1 / (1 + np.exp(-odds)) if found.values["action"] == 1 else 1 / (1 + np.exp(odds))
    here, mean = chances[0], chances[1:].mean()
    curve = found.arrays["curve/redrawn/deletion"]
    np.testing.assert_allclose(curve, [here, *[mean] * 5], atol=1e-6)
    np.testing.assert_allclose(
        found.arrays["curve/redrawn/insertion"], [mean, *[here] * 5], atol=1e-6
    )
    told = found.values["metrics"]["redrawn"]
    assert told["comprehensiveness"] == pytest.approx(here - mean, abs=1e-6)
    # Nine tenths of the way at one height, and one tenth half way.
    assert told["insertion_gap"] == pytest.approx(0.8 * (here - mean), abs=1e-6)
    assert told["agreement"] == 1.0


def test_the_right_ranking_beats_its_reverse_and_chance(linear):
    state = state_of(linear)
    size = np.abs(WEIGHTS) * (np.abs(state) + 0.5)
    right = score(linear, size).values["metrics"]["redrawn"]
    wrong = score(linear, -size, rank_by="signed").values["metrics"]["redrawn"]
    chance = score(linear).values["metrics"]["redrawn"]
    for metric in policy_metrics.METRICS:
        sign = 1 if metric.higher_is_better else -1
        assert sign * right[metric.id] >= sign * wrong[metric.id]
        assert sign * right[metric.id] >= sign * chance[metric.id]
    assert right["insertion_gap"] > 0.1
    assert wrong["insertion_gap"] < right["insertion_gap"] - 0.1


def test_the_random_row_has_no_gap_on_average_and_a_spread(linear):
    found = score(linear, draws=200)
    told, spread = found.values["metrics"]["redrawn"], found.values["spread"]["redrawn"]
    assert told["insertion_gap"] == pytest.approx(0, abs=0.05)
    low, high = spread["insertion_gap"]
    assert low < -0.02
    assert high > 0.02
    assert found.values["draws"] == 200
    assert found.arrays["spread/redrawn/deletion"].shape == (2, 6)
    assert score(linear, WEIGHTS).values["spread"] == {}


def test_ranking_by_size_and_by_sign_differ(linear):
    scores = [0.1, 0, -5, 0.2, 0]
    absolute = score(linear, scores).arrays["curve/redrawn/deletion"]
    signed = score(linear, scores, rank_by="signed").arrays["curve/redrawn/deletion"]
    assert absolute[1] != pytest.approx(signed[1], abs=1e-3)
    np.testing.assert_allclose(absolute[[0, -1]], signed[[0, -1]])


def test_metrics_by_hand():
    told = policy_metrics.metrics(np.array([0.9, 0.5, 0.3]), np.array([0.2, 0.8, 0.9]), 0.75)
    assert told == {
        "deletion_auc": pytest.approx((0.9 + 0.5) / 4 + (0.5 + 0.3) / 4),
        "insertion_auc": pytest.approx((0.2 + 0.8) / 4 + (0.8 + 0.9) / 4),
        "insertion_gap": pytest.approx(0.675 - 0.55),
        "comprehensiveness": pytest.approx(0.4),
        "agreement": 0.75,
    }
    np.testing.assert_array_equal(
        policy_metrics.ranking(np.array([1, np.nan, 3, 1.0, -2])), [2, 0, 3, 4, 1]
    )
    assert [policy_metrics.half(n) for n in (1, 2, 3, 4, 5)] == [1, 1, 2, 2, 3]


def test_an_attribution_of_another_choice_is_refused(linear):
    other = explain(CorrelationCauses, linear, PolicyTarget(episode=4, step=2))
    with pytest.raises(InputError, match="another choice"):
        explain(VariableFaithfulness, linear, run=FakeRun(subject=other))
    graph = PolicyExplanation(arrays={}, values={"kind": "graph"})
    with pytest.raises(InputError, match="no scores of state variables"):
        explain(VariableFaithfulness, linear, run=FakeRun(subject=graph))


def test_a_score_can_be_cancelled(linear):
    with pytest.raises(Cancelled):
        explain(VariableFaithfulness, linear, run=FakeRun(cancel_after=3))


# CausalXRL from end to end


@pytest.fixture(scope="module")
def graph(made):
    return explain(LearnGraph, made, PolicyTarget(), bootstraps=3)


@pytest.fixture(scope="module")
def told(made, graph):
    target = PolicyTarget(state=(0.5, 0.2, -0.4, 0.3, 2.0))
    return explain(CausalXRL, made, target, run=FakeRun(subject=graph), horizon=6, models=4)


def test_it_names_the_level_as_what_the_choice_rests_on(told):
    assert told.values["action"] == 1
    assert told.values["sufficient"] == [LEVEL]
    assert told.values["sufficient_share"] == 1
    np.testing.assert_array_equal(told.arrays["scores"], told.arrays["policy/effect"])
    assert told.arrays["scores"].argmax() == LEVEL
    # What goes along with the level is no cause of the choice.
    assert not told.arrays["scores"][[DRIVE, SHADOW, FIXED]].any()
    assert told.arrays["policy/low"][LEVEL] > 0
    why = told.values["sentences"]["why"]
    assert why[0] == (
        "With level = -0.4 the agent chooses “raise” in 100% of draws of all other variables."
    )


def test_its_graph_and_its_chain_are_those_of_the_equations(told):
    np.testing.assert_array_equal(told.arrays["graph/present"], truth())
    assert not told.arrays["local/present"][truth() == 0].any()
    assert told.arrays["local/effect"][5, LEVEL] == pytest.approx(2 * LIFT, abs=0.06)
    links = [(link["source"], link["target"]) for link in told.values["chain"]]
    assert links[0] == ("action", "level")
    assert ("level", "reward") in links
    assert "shadow" not in {name for link in links for name in link}


def test_it_follows_both_actions_with_a_band(told):
    for name in ("action", "instead"):
        path = told.arrays[f"rollout/{name}"]
        assert path.shape == (7, 6)
        np.testing.assert_allclose(path[0], [0.5, 0.2, -0.4, 0.3, 2, 0], rtol=1e-6)
        assert (told.arrays[f"rollout/{name}/low"] <= path + 1e-6).all()
        assert (told.arrays[f"rollout/{name}/high"] >= path - 1e-6).all()
        assert np.isfinite(told.arrays[f"rollout/{name}/high"]).all()
        assert f"true/{name}" not in told.arrays
    difference = told.arrays["contrast/difference"]
    expected = told.arrays["rollout/action"] - told.arrays["rollout/instead"]
    np.testing.assert_allclose(difference, expected, atol=1e-5)
    assert difference[1, LEVEL] == pytest.approx(2 * LIFT, abs=0.06)
    # A higher level costs reward one step later.
    assert difference[2, -1] == pytest.approx(-2 * LIFT, abs=0.1)
    assert told.values["horizon"] == 6
    assert told.values["stretches"] >= 20


def test_it_finds_states_in_which_the_agent_would_do_otherwise(made, told):
    states = told.arrays["counterfactuals/states"].astype(float)
    assert (agent_of(made).act(states) == told.values["instead"]).all()
    np.testing.assert_array_equal(told.arrays["counterfactuals/importance"], [0, 0, 1, 0, 0])
    assert "they change level (100%)" in told.values["sentences"]["why_not"][-1]


def test_it_says_what_the_agent_pursues_and_what_cannot_be_told(told):
    [region] = told.values["pursuits"]
    assert [cause["variable"] for cause in region["causes"]] == ["level"]
    assert told.values["sentences"]["pursues"][0].startswith(
        "Everywhere (100% of the visited states) choices rest on level;"
    )
    assert "cannot be put into this state" in told.values["sentences"]["what_if"][0]
    assert any(note.startswith("Fixed never changes") for note in told.notes)


def test_where_no_agent_is_known_it_says_who_stands_in(graph):
    unknown = world(known=False)
    found = explain(
        CausalXRL, unknown, HERE, run=FakeRun(subject=graph), horizon=2, models=2, draws=50
    )
    assert any("stands in" in note for note in found.notes)
    assert found.values["sufficient"][0] == LEVEL


def test_too_few_held_out_stretches_are_told(made, graph):
    run = FakeRun(subject=graph)
    found = explain(CausalXRL, made, HERE, run=run, horizon=60, models=2, draws=50)
    assert "There are too few held-out stretches to say how wide the band is." in found.notes
    assert "inf" not in " ".join(found.values["sentences"]["why_not"])


def test_it_needs_a_graph_and_can_be_cancelled(made, graph):
    with pytest.raises(InputError, match="needs the causal graph"):
        explain(CausalXRL, made)
    other = explain(CorrelationCauses, made)
    with pytest.raises(InputError, match="needs the causal graph"):
        explain(CausalXRL, made, run=FakeRun(subject=other))
    with pytest.raises(Cancelled):
        explain(CausalXRL, made, run=FakeRun(subject=graph, cancel_after=4))


def test_a_seed_gives_the_same_explanation_again(made, graph):
    given = {"horizon": 2, "models": 2, "draws": 50}
    one, two, three = (
        explain(CausalXRL, made, run=FakeRun(subject=graph, seed=seed), **given)
        for seed in (1, 1, 2)
    )
    for name, array in one.arrays.items():
        np.testing.assert_array_equal(array, two.arrays[name])
    assert one.values["sentences"] == two.values["sentences"]
    assert (one.arrays["policy/effect"] != three.arrays["policy/effect"]).any()


def test_local_causes_alone_predict_the_next_action(made):
    found = local_fidelity(made, 0)
    assert found.causes > 0.97
    assert found.causes >= found.always + 0.2
    assert found.tree > 0.97
    assert found.logistic > 0.95
    # The level, and not what never moves; the forest it asks may name what goes along with it.
    assert 1 <= found.named <= 4
