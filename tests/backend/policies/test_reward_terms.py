"""Reward decomposition: terms that sum to the reward, values by dynamic programming, refusals."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from backend.errors import Cancelled, InputError
from backend.policies import files, models, sentences
from backend.policies.agent import Agent, agent_of
from backend.policies.collecting import collect
from backend.policies.continuations import returns
from backend.policies.environment import find
from backend.policies.explanation import Collecting, Network, PolicyTarget
from backend.policies.moment import moment
from backend.policies.reward_decomposition import RewardDecomposition, sufficient
from backend.policies.reward_terms import LANDER, TAXI, terms
from backend.policies.telling import silent
from backend.policies.world import World
from tests.backend.policies.worlds import world
from tests.fake import FakeRun


@pytest.fixture(scope="module")
def lander():
    model = models.shipped("lunarlander")
    agent = Agent(model.network, model.weights, find("lunarlander").variables)
    return collect(find("lunarlander"), agent, Collecting(transitions=1500), silent)


@pytest.fixture(scope="module")
def taxi():
    """A taxi that goes where a linear table of its own sends it, deterministic."""
    environment = find("taxi")
    generator = np.random.default_rng(2)
    weights = {"0.weight": generator.normal(size=(6, 19)).astype(np.float32),
               "0.bias": np.zeros(6, dtype=np.float32)}  # fmt: skip
    agent = Agent(Network(one_hot=True, head="values"), weights, environment.variables)
    return collect(environment, agent, Collecting(mode="random", transitions=600), silent)


def split(found):
    a = found.arrays
    return terms(found.environment, a["states"], a["actions"], a["rewards"], a["next_states"],
                 a["terminated"])  # fmt: skip


def explain(found, target=None, run=None, **parameters):
    given = RewardDecomposition.Parameters(**parameters)
    return RewardDecomposition().explain(
        None, found, target or PolicyTarget(), given, run or FakeRun()
    )


def test_terms_of_the_lander_sum_to_its_reward(lander):
    found = split(lander)
    assert found.shape == (1500, len(LANDER))
    np.testing.assert_allclose(found.sum(axis=1), lander.arrays["rewards"], atol=5e-5)
    ended = lander.arrays["terminated"] == 1
    assert ended.any()
    assert set(np.abs(found[ended][:, -1])) == {100}
    assert not found[~ended][:, -1].any()
    cost = {0: 0, 1: -0.03, 2: -0.3, 3: -0.03}
    told = [cost[action] for action in lander.arrays["actions"][~ended]]
    np.testing.assert_allclose(found[~ended][:, LANDER.index("fuel")], told)


def test_terms_of_the_lander_by_hand():
    before = np.array([[0.3, 0.4, 0, 0.6, -0.2, 0, 0, 0]])
    after = np.array([[0, 0.4, 0.3, 0.4, 0.1, 0, 1, 1]])
    found = terms("lunarlander", before, np.array([2]), np.array([0.0]), after, np.array([0]))
    np.testing.assert_allclose(found, [[10, 10, 10, 20, -0.3, 0]], atol=1e-9)


def test_terms_of_a_taxi_sum_to_its_reward(taxi):
    found = split(taxi)
    np.testing.assert_array_equal(found.sum(axis=1), taxi.arrays["rewards"])
    assert (found[:, TAXI.index("illegal stops")] == -10).sum() > 50
    delivered = np.array([20.0, -1, -10])
    states = np.zeros((3, 4))
    one = terms("taxi", states, np.zeros(3, int), delivered, states, np.array([1, 0, 0]))
    np.testing.assert_array_equal(one, [[0, 20, 0], [-1, 0, 0], [0, 0, -10]])
    with pytest.raises(KeyError):
        terms("cartpole", states, np.zeros(3, int), delivered, states, np.zeros(3))


def test_a_taxis_terms_are_those_of_dynamic_programming(taxi):
    """Q_c over the limit's steps by the environment's own table, against what is followed."""
    with World(find("taxi")) as cab:
        table = cab.table()
        states = np.stack([cab.decoded(index) for index in range(len(table))])
    policy = agent_of(taxi).act(states)
    after = np.zeros((500, 6), dtype=int)
    reward, ends = np.zeros((500, 6, 3)), np.zeros((500, 6), dtype=bool)
    column = {-1: 0, 20: 1, -10: 2}
    for index, actions in table.items():
        for action, [(_, follow, gained, ended)] in actions.items():
            after[index, action], ends[index, action] = follow, ended
            reward[index, action, column[int(gained)]] = gained
    value = np.zeros((500, 3))
    for _ in range(find("taxi").limit):
        q = reward + 0.9 * np.where(ends, 0, 1)[:, :, None] * value[after]
        value = q[np.arange(500), policy]
    found = explain(taxi, PolicyTarget(episode=0, step=9, action=2, instead=4), draws=3,
                    discount=0.9)  # fmt: skip
    row = int(np.flatnonzero((states == found.values["state"]).all(axis=1))[0])
    np.testing.assert_allclose(found.arrays["terms/action"], q[row, 2], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(found.arrays["terms/instead"], q[row, 4], rtol=1e-5, atol=1e-5)
    # Nothing is left to chance there: no interval has a width.
    np.testing.assert_allclose(found.arrays["terms/low"], found.arrays["terms/high"], atol=1e-5)
    whole = found.values["whole"]["difference"]
    assert whole == pytest.approx((q[row, 2] - q[row, 4]).sum(), rel=1e-6)


def test_differences_of_a_lander_sum_and_have_intervals(lander):
    run = FakeRun()
    found = explain(lander, PolicyTarget(episode=0, step=30), run, draws=12)
    arrays = found.arrays
    apart = arrays["terms/action"] - arrays["terms/instead"]
    np.testing.assert_allclose(arrays["terms/difference"], apart, atol=1e-3)
    whole = found.values["whole"]
    assert arrays["terms/difference"].sum() == pytest.approx(whole["difference"], abs=1e-3)
    assert whole["low"] <= whole["difference"] <= whole["high"]
    assert whole["low"] < whole["high"]
    assert (arrays["terms/low"] <= arrays["terms/difference"] + 1e-6).all()
    assert len(run.reports) == 24
    again = explain(lander, PolicyTarget(episode=0, step=30), draws=12)
    np.testing.assert_array_equal(again.arrays["terms/low"], arrays["terms/low"])


def test_one_action_against_itself_differs_in_nothing(lander):
    at = moment(lander, PolicyTarget(episode=0, step=20))
    one, two = returns(lander, agent_of(lander), at, (2, 2), draws=3, discount=0.99, seed=0)
    np.testing.assert_array_equal(one, two)
    assert one.std(axis=0).max() > 0  # chance is drawn anew each time


def test_the_fewest_terms_that_outweigh_the_others():
    assert sufficient(np.array([5.0, 2, -3, 1])) == (0,)
    assert sufficient(np.array([2.0, 2.5, -3, 1])) == (1, 0)
    assert sufficient(np.array([1.0, 2, -3, 0])) == ()
    assert sufficient(np.array([0.5, 0.2])) == (0,)
    assert sufficient(np.array([-1.0, 0])) == ()


def test_words_say_no_more_than_the_numbers():
    names, differences = ("speed", "fuel", "tilt"), np.array([3.0, -1, 0])
    whole = {"difference": 2.0, "low": -0.5, "high": 4.5}
    assert sentences.by_terms("go", "wait", names, differences, (0,), whole) == [
        "Until the episode ends “go” brings 2 of reward against “wait” [-0.5, 4.5], which may be "
        "none.",
        "For it, and enough to outweigh what is against it: speed (3).",
        "Against it: fuel (-1).",
    ]
    sure = {"difference": -1.0, "low": -1.0, "high": -1.0}
    assert sentences.by_terms("go", "wait", names, np.array([0.0, -1, 0]), (), sure) == [
        "Until the episode ends “go” brings -1 of reward against “wait” [-1, -1].",
        "Against it: fuel (-1).",
    ]


def test_numbers_and_card_tell_each_term(lander):
    found = explain(lander, PolicyTarget(episode=0, step=30), draws=2)
    lines = files.numbers(found).decode().splitlines()
    assert lines[0] == "term,action,instead,difference,low,high"
    assert [line.partition(",")[0] for line in lines[1:]] == list(LANDER)
    assert float(lines[1].split(",")[3]) == pytest.approx(
        float(found.arrays["terms/difference"][0]), rel=1e-6
    )


def test_where_the_reward_is_one_number_or_the_moment_is_out_of_reach(lander):
    refusal = RewardDecomposition().supports
    assert refusal({}, lander) is None
    assert "known of LunarLander and Taxi" in refusal({}, world())
    pole = dataclasses.replace(world(), environment="cartpole")
    assert "The reward of CartPole" in refusal({}, pole)
    hand = PolicyTarget(state=tuple(float(v) for v in lander.arrays["states"][30]))
    with pytest.raises(InputError, match="cannot be put into a state set by hand"):
        explain(lander, hand, draws=2)
    other = [seed + 1 for seed in lander.origin["seeds"]]
    moved = dataclasses.replace(lander, origin={**lander.origin, "seeds": other})
    with pytest.raises(InputError, match="another way"):
        explain(moved, PolicyTarget(episode=0, step=30), draws=2)
    with pytest.raises(Cancelled):
        explain(lander, PolicyTarget(episode=0, step=30), FakeRun(cancel_after=3), draws=5)
