"""What a choice rests on: interventions, sufficient sets, other states, regions and words."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from backend.policies import sentences
from backend.policies.acting import acting, stand_in
from backend.policies.agent import agent_of
from backend.policies.counterfactual_states import counterfactual_states
from backend.policies.effects import fit_models
from backend.policies.explanation import Network, Variable
from backend.policies.imagined import Path
from backend.policies.policy_causes import causes, kept_share, sufficient
from backend.policies.pursuits import pursuits
from backend.policies.transitions import prepare
from tests.backend.policies.worlds import (
    DRIVE,
    FIXED,
    LEVEL,
    LIFT,
    SHADOW,
    VARIABLES,
    acted,
    structure,
    truth,
    world,
)

HERE = np.array([0.5, 0.2, -0.4, 0.3, 2.0])


@pytest.fixture(scope="module")
def made():
    return world()


def visited(rows=3000, seed=0):
    """States [rows, 5], each variable on its own."""
    return np.random.default_rng(seed).normal(size=(rows, 5))


def divergence(before, after):
    """Of two actions, from the log odds of the second one."""
    p, q = (1 / (1 + np.exp(-np.asarray(odds))) for odds in (before, after))
    return p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))


@dataclasses.dataclass
class Ruled:
    """Chooses by a rule."""

    rule: object

    def act(self, states):
        return np.asarray(self.rule(states)).astype(int)

    def probabilities(self, states):
        return np.eye(2)[self.act(states)]


# Interventions


def test_the_effect_of_a_variable_is_the_divergence_in_closed_form(made):
    weights, pool = np.array([1.0, 0, -0.5, 0, 0]), visited(50_000)
    agent = agent_of(acted(made, list(weights), bias=0.2))
    found = causes(agent, HERE, 1, pool, np.random.default_rng(0), draws=20_000)
    odds = HERE @ weights + 0.2
    for i in (DRIVE, LEVEL):
        moved = odds + weights[i] * (pool[:, i] - HERE[i])
        exact = divergence(odds, moved).mean()
        assert found.effect[i] == pytest.approx(exact, rel=0.03)
        assert found.low[i] < exact < found.high[i]
    strangers = [1, 3, 4]
    np.testing.assert_allclose(found.effect[strangers], 0, atol=1e-15)
    np.testing.assert_allclose(found.high[strangers], 0, atol=1e-15)


def test_the_interval_shrinks_with_the_root_of_the_draws(made):
    agent = agent_of(acted(made, [1.0, 0, 0, 0, 0]))
    few, many = (
        causes(agent, HERE, 1, visited(), np.random.default_rng(1), draws=draws)
        for draws in (200, 3200)
    )
    ratio = (few.high - few.low)[DRIVE] / (many.high - many.low)[DRIVE]
    assert ratio == pytest.approx(4, rel=0.35)


def test_certain_choices_have_a_finite_divergence(made):
    values = dataclasses.replace(acted(made, [9, 0, 0, 0, 0]), network=Network(head="values"))
    found = causes(agent_of(values), HERE, 1, visited(), np.random.default_rng(0))
    # All on one action turns to all on the other in half of the draws: floors of 0.001.
    floor = 1e-3 / 1.001
    flipped = (1 - floor) * np.log((1 - floor) / floor) + floor * np.log(floor / (1 - floor))
    assert found.effect[DRIVE] == pytest.approx(flipped / 2, rel=0.12)
    assert np.isfinite(found.high).all()


# Sufficient sets


def test_of_an_agent_that_reads_one_variable_that_one_is_sufficient(made):
    agent = agent_of(made)
    states = made.arrays["states"].astype(float)
    found = causes(agent, HERE, 1, states, np.random.default_rng(0))
    assert found.sufficient == (LEVEL,)
    assert found.share == 1.0
    assert found.effect.argmax() == LEVEL
    assert not found.effect[[DRIVE, SHADOW, FIXED]].any()


def test_an_agent_that_always_does_the_same_needs_nothing(made):
    agent = agent_of(acted(made, [0, 0, 0, 0, 0], bias=3))
    found = causes(agent, HERE, 1, visited(), np.random.default_rng(0))
    assert found.sufficient == ()
    assert found.share == 1.0
    assert not found.effect.any()


def test_of_two_that_must_both_be_high_both_are_sufficient_and_of_either_one():
    pool = visited()
    both = Ruled(lambda x: (x[:, 0] > 0) & (x[:, 3] > 0))
    effect = np.array([1.0, 0, 0, 2, 0])
    chosen, share = sufficient(both, np.ones(5), 1, pool, effect)
    assert chosen == (3, 0)
    assert share == 1.0
    either = Ruled(lambda x: (x[:, 0] > 0) | (x[:, 3] > 0))
    chosen, share = sufficient(either, np.ones(5), 1, pool, effect)
    # Each does alone: the effect decides.
    assert chosen == (3,)
    assert share == 1.0


def test_a_variable_that_was_added_first_is_dropped_where_others_do():
    # The first keeps the action best on its own, and is needless beside the two that decide.
    pool = visited(20_000)
    rule = Ruled(lambda x: ((x[:, 1] > 0) & (x[:, 2] > 0)) | ((x[:, 0] > 0) & (x[:, 3] > -0.84)))
    state = np.array([1.0, 1, 1, -2, 1])
    alone = [kept_share(rule, state, 1, pool, [i]) for i in range(5)]
    assert int(np.argmax(alone)) == 0
    assert max(kept_share(rule, state, 1, pool, [0, i]) for i in range(1, 5)) < 0.95
    chosen, share = sufficient(rule, state, 1, pool, np.array([0.0, 1, 1, 0, 0]))
    assert set(chosen) == {1, 2}
    assert share == 1.0


def test_the_share_that_is_kept_is_counted_over_the_draws():
    pool = visited(40_000)
    rule = Ruled(lambda x: x[:, 0] + x[:, 1] > 0)
    state = np.array([1.0, 0.5, 0, 0, 0])
    from scipy.stats import norm

    assert kept_share(rule, state, 1, pool, []) == pytest.approx(0.5, abs=0.01)
    assert kept_share(rule, state, 1, pool, [0]) == pytest.approx(norm.cdf(1), abs=0.01)
    assert kept_share(rule, state, 1, pool, [0, 1]) == 1.0


@pytest.mark.parametrize("rows", [1, 400, 1500])
def test_the_flat_forest_says_what_the_forest_says(rows):
    made = world(known=False)
    found = stand_in(made, 0)
    states = np.random.default_rng(0).normal(size=(rows, 5)).astype(np.float32)
    expected = found.forest.predict_proba(states)
    np.testing.assert_allclose(found.probabilities(states), expected, atol=1e-12)
    np.testing.assert_allclose(found.flat.shares(states), expected, atol=1e-12)
    kept = dataclasses.replace(
        made, arrays={**made.arrays, "actions": np.full_like(made.arrays["actions"], 1)}
    )
    alone = stand_in(kept, 0).probabilities(states)
    np.testing.assert_array_equal(alone, np.tile([0.0, 1.0], (rows, 1)))


def test_where_no_agent_is_known_a_forest_stands_in_and_says_so():
    experience = world(known=False)
    player, notes = acting(experience, 0)
    states = experience.arrays["states"].astype(float)
    wanted = (states[:, LEVEL] < 0).astype(int)
    assert (player.act(states) == wanted).mean() > 0.98
    assert player.agreement > 0.97
    assert notes == (player.note(),)
    assert f"{player.agreement:.1%}" in notes[0]
    found = causes(player, HERE, 1, states, np.random.default_rng(0), draws=100)
    assert found.sufficient == (LEVEL,)
    assert found.effect[LEVEL] > 5 * np.delete(found.effect, LEVEL).max()


# Other states


def states_of(agent, state, action, pool=None, **given):
    pool = visited() if pool is None else pool
    return counterfactual_states(
        agent, state, action, pool, VARIABLES, np.random.default_rng(0), **given
    )


def test_counterfactual_states_change_what_must_change_and_nothing_else(made):
    agent = agent_of(made)
    states = made.arrays["states"].astype(float)
    found = states_of(agent, HERE, 0, states)
    np.testing.assert_array_equal(found.changed, np.eye(5, dtype=bool)[[LEVEL] * len(found.states)])
    np.testing.assert_array_equal(found.importance, [0, 0, 1, 0, 0])
    assert (agent.act(found.states) == 0).all()
    assert (found.states[:, LEVEL] >= 0).all()
    rest = np.delete(found.states, LEVEL, axis=1)
    np.testing.assert_allclose(rest, np.repeat(np.delete(HERE, LEVEL)[None], len(rest), axis=0))
    # Any other that is nearer dominates: the nearest alone is left, of those visited the least
    # above zero or close to it.
    assert len(found.states) == 1
    assert found.states[0, LEVEL] < 0.1


def test_each_counterfactual_is_minimal_and_none_dominates_another():
    rule = Ruled(lambda x: (x[:, 0] > 1) | (x[:, 1] + x[:, 2] > 2.5))
    state, pool = np.zeros(5), visited()
    found = states_of(rule, state, 1, pool)
    assert len(found.states) > 3
    assert (rule.act(found.states) == 1).all()
    kinds = {tuple(np.flatnonzero(row)) for row in found.changed}
    assert {(0,), (1, 2)} <= kinds <= {(0,), (1, 2), (1,), (2,)}
    for one, changed in zip(found.states, found.changed, strict=True):
        for i in np.flatnonzero(changed):
            back = one.copy()
            back[i] = state[i]
            assert rule.act(back[None])[0] == 0
    moves = np.abs(found.states - state)
    for k in range(len(moves)):
        for other in range(len(moves)):
            smaller = (moves[other] <= moves[k]).all() and (moves[other] < moves[k]).any()
            assert not smaller
    np.testing.assert_allclose(found.importance, found.changed.mean(axis=0))
    assert found.importance[[3, 4]].sum() == 0


def test_diversity_finds_more_than_one_way():
    rule = Ruled(lambda x: (x[:, 0] > 0.8) | (x[:, 3] > 0.8))
    found = states_of(rule, np.zeros(5), 1)
    assert found.importance[0] > 0
    assert found.importance[3] > 0
    assert len(found.states) <= 40
    assert len(states_of(rule, np.zeros(5), 1, wanted=1).states) == 1


def test_an_action_that_is_never_taken_has_no_counterfactual(made):
    agent = agent_of(acted(made, [0, 0, 0, 0, 0], bias=3))
    found = states_of(agent, HERE, 0)
    assert found.states.shape == (0, 5)
    assert found.changed.shape == (0, 5)
    np.testing.assert_array_equal(found.importance, np.zeros(5))


# Pursuits


@pytest.fixture(scope="module")
def models(made):
    transitions = prepare(made, 0)
    return fit_models(transitions, structure(transitions, truth()), 0, models=2)


def test_regions_tell_what_choices_rest_on_there(models):
    # Where the drive is high the level decides, elsewhere the shadow does.
    agent = Ruled(lambda x: np.where(x[:, DRIVE] > 0.2, x[:, LEVEL] > 0, x[:, SHADOW] > 0))
    found = pursuits(agent, models, np.random.default_rng(0))
    assert sum(region["share"] for region in found) == pytest.approx(1)
    assert sum(region["states"] for region in found) == 150
    assert [r["share"] for r in found] == sorted((r["share"] for r in found), reverse=True)
    for region in found:
        assert region["states"] / 150 == pytest.approx(region["share"])
        assert 0.5 <= region["action_share"] <= 1
        assert all(0.5 <= cause["share"] <= 1 for cause in region["causes"])
    named = {cause["variable"] for region in found for cause in region["causes"]}
    assert "drive" in named
    assert "gauge" not in named
    assert "fixed" not in named


def test_an_agent_of_one_variable_pursues_the_same_everywhere(made, models):
    [region] = pursuits(agent_of(made), models, np.random.default_rng(0))
    assert region["rule"] == "everywhere"
    assert region["share"] == 1
    assert [cause["variable"] for cause in region["causes"]] == ["level"]
    assert region["causes"][0]["share"] == 1
    # Only the level is moved by the action: by LIFT more or less than the mean of both.
    [effect] = region["effects"]
    assert effect["target"] == "level"
    sign = 1 if region["action"] == "raise" else -1
    assert effect["effect"] == pytest.approx(sign * LIFT, abs=0.03)


def test_a_rule_names_bounds_in_order_and_with_units():
    from sklearn.tree import DecisionTreeClassifier

    from backend.policies.pursuits import _rule

    x = np.array([[0.0, 0], [0, 1], [2, 0], [2, 1]] * 5)
    kinds = np.array([0, 0, 1, 2] * 5)
    tree = DecisionTreeClassifier(random_state=0).fit(x, kinds)
    variables = (Variable(name="place", unit="m"), Variable(name="speed"))
    rules = [_rule(tree.tree_, int(leaf), variables) for leaf in tree.apply(x[:4])]
    assert rules[0] == rules[1] == "place ≤ 1 m"
    assert rules[2] == "place > 1 m and speed ≤ 0.5"
    assert rules[3] == "place > 1 m and speed > 0.5"


# Words


NAMES, UNITS = ("place", "speed", "angle"), ("m", "", "rad")


def test_why_is_told_with_the_values_and_the_share():
    links = [
        {"source": "action", "target": "speed", "step": 1, "effect": 0.1951, "low": 0.19,
         "high": 0.2012},
        {"source": "speed", "target": "place", "step": 2, "effect": 1, "low": 1, "high": 1},
        {"source": "speed", "target": "reward", "step": 2, "effect": 1, "low": 1, "high": 1},
    ]  # fmt: skip
    values = ("1.23 m", "-0.5", "0.0301 rad")
    assert sentences.why("push left", NAMES, values, (2, 0), 0.964, links) == [
        "With angle = 0.0301 rad and place = 1.23 m the agent chooses “push left” in 96% of draws "
        "of all other variables.",
        "Against the other action it moves speed by 0.195 [0.19, 0.201] within a step.",
        "In step 2, speed moves place and speed moves reward.",
    ]


def test_why_without_a_cause_and_with_all():
    values = ("0 m", "0", "0 rad")
    assert sentences.why("wait", NAMES, values, (), 0.97, []) == [
        "The agent chooses “wait” in 97% of the states it visits, whatever the variables are."
    ]
    assert sentences.why("wait", NAMES, values, (1, 0, 2), 1.0, []) == [
        "The agent chooses “wait” by all 3 variables together."
    ]


def paths(total, low, high, steps=4):
    expected, under, over = np.zeros((steps + 1, 4)), np.zeros((steps + 1, 4)), np.zeros((5, 4))
    expected[-1] = [0.5, -2, 0, total]
    under[-1, -1], over[-1, -1] = low, high
    return Path(expected, under, over)


def test_of_one_action_alone_there_is_nothing_to_set_against():
    path = paths(0, 0, 0)
    found = sentences.why_not("up", "up", NAMES, UNITS, path, [], np.zeros(3), 5)
    assert found == ["There is no other action than “up”."]
    assert sentences.what_if("up", "up", NAMES, path, None) == []


def test_states_that_differ_in_nothing_compared_are_counted_only():
    found = sentences.why_not("up", "down", NAMES, UNITS, paths(2, 1, 3), [], np.zeros(3), 5)
    assert found[-1] == "5 states near this one lead to “down”."


def test_why_not_tells_the_difference_and_what_would_change_it():
    carried = [{"variable": "place", "share": 0.75}, {"variable": "speed", "share": 0.25}]
    given = ("push left", "wait", NAMES, UNITS)
    found = sentences.why_not(*given, paths(1.5, 0.5, 2.5), carried, np.array([0.25, 0, 1.0]), 12)
    assert found == [
        "After 4 steps “push left” has brought 1.5 of reward against “wait” [0.5, 2.5].",
        "The paths differ most in place: by 0.5 m at the end, 75% of all differences in standard "
        "deviations.",
        "12 states near this one lead to “wait”; they change angle (100%) and place (25%).",
    ]
    unsure = sentences.why_not(*given, paths(1.5, -0.5, 2.5), [], np.zeros(3), 0)
    assert unsure == [
        "After 4 steps “push left” has brought 1.5 of reward against “wait” [-0.5, 2.5], which may "
        "be none.",
        "In no visited state does the agent choose “wait”.",
    ]
    unbound = sentences.why_not(*given, paths(1.5, -np.inf, np.inf), [], np.zeros(3), 0)
    assert "inf" not in unbound[0]


def test_what_if_counts_the_steps_inside_the_band():
    expected = np.zeros((4, 4))
    path = Path(expected, expected - 1, expected + 1)
    true = np.zeros((4, 4))
    assert sentences.what_if("a", "b", NAMES, path, true) == [
        "After “b” in place of “a” the true environment stays within the models' band for 3 of 3 "
        "steps."
    ]
    true[2, 1] = 1.5
    true[2, 3] = -1.5
    assert sentences.what_if("a", "b", NAMES, path, true[:3]) == [
        "After “b” in place of “a” the true environment stays within the models' band for 1 of 2 "
        "steps.",
        "It leaves it in speed and the reward so far.",
        "The true episode ends after 2 steps.",
    ]
    assert "no path to compare" in sentences.what_if("a", "b", NAMES, path, None)[0]


def test_pursuits_are_told_region_by_region():
    region = {
        "rule": "speed > 0.5",
        "share": 0.6,
        "causes": [{"variable": "angle", "share": 1.0}, {"variable": "place", "share": 0.5}],
        "action": "wait",
        "action_share": 0.815,
    }
    whole = {**region, "rule": "everywhere", "share": 1.0, "causes": []}
    assert sentences.pursues([region, whole]) == [
        "Where speed > 0.5 (60% of the visited states) choices rest on angle and place; the agent "
        "mostly chooses “wait” (82%).",
        "Everywhere (100% of the visited states) no variable is needed to tell choices; the agent "
        "mostly chooses “wait” (82%).",
    ]


def test_names_are_listed():
    assert sentences.listed(["a"]) == "a"
    assert sentences.listed(["a", "b"]) == "a and b"
    assert sentences.listed(["a", "b", "c"]) == "a, b and c"
    assert sentences.number(0.00012345, "m") == "0.000123 m"
