"""True environments, what is collected in them, agents as numpy, and training."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
import torch

from backend.errors import Cancelled, InputError
from backend.policies import models
from backend.policies.agent import Agent, agent_of, checked
from backend.policies.agent_torch import AgentModule, inputs
from backend.policies.collect import Collect
from backend.policies.collected import experience_of
from backend.policies.collecting import collect, replay
from backend.policies.environment import ENVIRONMENTS, find
from backend.policies.explanation import (
    Collecting,
    Experience,
    Network,
    PolicyTarget,
    Training,
    Variable,
)
from backend.policies.play_episode import PlayEpisode, frame
from backend.policies.telling import silent
from backend.policies.train_agent import TrainAgent
from backend.policies.training import best_values
from backend.policies.world import World
from tests.fake import FakeRun


def shipped(name):
    model = models.shipped(name)
    return Agent(model.network, model.weights, find(name).variables)


def gathered(name, mode="mixed", transitions=600, seed=0, agent=None):
    asked = Collecting(mode=mode, transitions=transitions, seed=seed)
    return collect(find(name), agent or shipped(name), asked, silent)


# The environments


@pytest.mark.parametrize("environment", ENVIRONMENTS, ids=lambda e: e.id)
def test_states_are_of_the_named_variables(environment):
    with World(environment) as world:
        state = world.reset(0)
        assert state.shape == (len(environment.variables),)
        assert world.gym.action_space.n == len(environment.action_names)
        np.testing.assert_array_equal(state, world.reset(0))
        for step in range(30):
            outcome = world.step(step % len(environment.action_names))
            for value, variable in zip(outcome.state, environment.variables, strict=True):
                assert np.isfinite(value)
                if variable.kind == "categorical":
                    assert value in range(len(variable.levels))
                if variable.kind == "binary":
                    assert value in (0, 1)
            if outcome.terminated or outcome.truncated:
                break


def test_a_cart_goes_on_by_its_equations():
    # classic_control/cartpole.py: masses 1 and 0.1 kg, half length 0.5 m, force 10 N, 0.02 s.
    x, v, angle, turn = state = np.array([0.3, -0.4, 0.05, 0.6])
    with World(find("cartpole")) as world:
        world.set_state(state)
        found = world.step(1).state
    sine, cosine = math.sin(angle), math.cos(angle)
    push = (10 + 0.05 * turn**2 * sine) / 1.1
    spin = (9.8 * sine - cosine * push) / (0.5 * (4 / 3 - 0.1 * cosine**2 / 1.1))
    gain = push - 0.05 * spin * cosine / 1.1
    expected = [x + 0.02 * v, v + 0.02 * gain, angle + 0.02 * turn, turn + 0.02 * spin]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_a_car_goes_on_by_its_equations():
    with World(find("mountaincar")) as world:
        world.set_state(np.array([-0.5, 0.01]))
        found = world.step(2).state
    speed = 0.01 + 0.001 - 0.0025 * math.cos(3 * -0.5)
    np.testing.assert_allclose(found, [-0.5 + speed, speed], rtol=1e-5)


def test_an_acrobot_is_put_where_its_cosines_say():
    state = np.array([math.cos(0.4), math.sin(0.4), math.cos(-1), math.sin(-1), 0.3, -0.2])
    with World(find("acrobot")) as world:
        world.set_state(state)
        np.testing.assert_allclose(world.gym.unwrapped.state, [0.4, -1, 0.3, -0.2], atol=1e-6)


def test_a_taxi_goes_on_by_its_table():
    with World(find("taxi")) as world:
        table = world.table()
        for index in (0, 123, 257, 499):
            state = world.decoded(index)
            for action in range(6):
                [(_, after, reward, ends)] = table[index][action]
                world.set_state(state)
                found = world.step(action)
                np.testing.assert_array_equal(found.state, world.decoded(after))
                assert (found.reward, found.terminated) == (reward, ends)


def test_what_cannot_be_set_says_so():
    with World(find("lunarlander")) as world, pytest.raises(InputError, match="LunarLander"):
        world.set_state(np.zeros(8))


def test_chance_goes_on_by_another_seed():
    def slid(seed):
        with World(find("frozenlake")) as world:
            world.reset(0)
            world.reseed(seed)
            return [tuple(world.step(1).state) for _ in range(4)]

    assert slid(1) == slid(1)
    assert len({tuple(slid(seed)) for seed in range(8)}) > 1


def test_a_key_that_is_carried_lies_where_the_agent_is():
    environment = find("minigrid")
    names = [variable.name for variable in environment.variables]
    with World(environment) as world:
        state = world.reset(3)
        inner = world.gym.unwrapped
        key = (int(state[names.index("key x")]), int(state[names.index("key y")]))
        assert inner.grid.get(*key).type == "key"
        assert (state[0], state[1]) == tuple(inner.agent_pos)
        inner.carrying = inner.grid.get(*key)
        inner.grid.set(*key, None)
        state = world.step(6).state
    assert state[names.index("has the key")] == 1
    assert (state[names.index("key x")], state[names.index("key y")]) == (state[0], state[1])


# Collecting


def test_every_mode_collects_as_many_and_as_random_as_it_says():
    for mode, low, high in (
        ("on_policy", 0, 0), ("exploratory", 0.24, 0.36), ("random", 1, 1), ("mixed", 0.36, 0.5),
    ):  # fmt: skip
        found = gathered("cartpole", mode, 1500)
        assert len(found) == 1500
        assert low <= found.arrays["explored"].mean() <= high


def test_chosen_actions_are_the_agents_and_states_go_on():
    found = gathered("cartpole", "exploratory", 1500)
    arrays = found.arrays
    own = arrays["explored"] == 0
    acted = agent_of(found).act(arrays["states"][own])
    np.testing.assert_array_equal(arrays["actions"][own], acted)
    same = np.diff(arrays["episodes"]) == 0
    np.testing.assert_array_equal(arrays["states"][1:][same], arrays["next_states"][:-1][same])
    assert (np.diff(arrays["steps"])[same] == 1).all()
    ends = ~np.append(same, False)
    assert ((arrays["terminated"] | arrays["truncated"])[ends] == 1).all()
    assert ((arrays["terminated"] & arrays["truncated"]) == 0).all()


def test_the_last_state_of_an_episode_is_where_it_ended():
    arrays = gathered("cartpole", "random", 1500).arrays
    ended = arrays["terminated"] == 1
    assert ended.sum() > 20
    x, angle = np.abs(arrays["next_states"][ended][:, [0, 2]]).T
    # A state of a reset lies within 0.05 of zero; these are beyond the bounds.
    assert ((x > 2.4) | (angle > 0.2094)).all()


def test_an_episode_is_cut_at_the_limit_of_time():
    generator = np.random.default_rng(0)
    weights = {"0.weight": generator.normal(size=(3, 2)), "0.bias": np.array([0, 9.0, 0])}
    coasting = Agent(Network(), weights, find("mountaincar").variables)
    arrays = gathered("mountaincar", "on_policy", 450, agent=coasting).arrays
    assert np.bincount(arrays["episodes"]).tolist() == [200, 200, 50]
    assert np.flatnonzero(arrays["truncated"]).tolist() == [199, 399, 449]
    assert not arrays["terminated"].any()


def test_a_seed_collects_the_same_again_and_another_one_not():
    one, two, three = (gathered("cartpole", seed=seed) for seed in (1, 1, 2))
    for name, array in one.arrays.items():
        np.testing.assert_array_equal(array, two.arrays[name])
    assert not np.array_equal(one.arrays["states"], three.arrays["states"])


def test_wide_starts_are_spread_and_played_again():
    found = gathered("cartpole", "wide", 800)
    first = found.arrays["states"][found.arrays["steps"] == 0]
    assert first[:, 0].std() > 0.5
    assert found.origin["starts"][0] == pytest.approx(first[0].tolist())
    states, _ = replay(found, find("cartpole"), 1)
    recorded = found.arrays["states"][found.arrays["episodes"] == 1]
    np.testing.assert_allclose(np.stack(states)[:-1], recorded, atol=1e-6)


def test_of_no_agent_all_is_random():
    found = collect(find("frozenlake"), None, Collecting(transitions=200), silent)
    assert found.network is None
    assert found.arrays["explored"].all()


def test_the_step_takes_the_agent_that_comes_along_or_was_brought():
    model = models.shipped("cartpole")
    target = PolicyTarget(collecting=Collecting(mode="on_policy", transitions=150))
    found = Collect().explain(model, Experience.none(), target, None, FakeRun())
    kept = experience_of(found)
    assert kept.origin["agent"] == model.origin
    assert kept.arrays["rewards"].sum() == 150
    left = gathered("cartpole")  # its agent, its scale turned round: it falls at once
    arrays = {n: -a if n == "agent/1.weight" else a for n, a in left.arrays.items()}
    brought = dataclasses.replace(left, arrays=arrays)
    other = experience_of(Collect().explain(model, brought, target, None, FakeRun()))
    assert other.arrays["episodes"].max() > kept.arrays["episodes"].max()
    wrong = dataclasses.replace(left, environment="taxi")
    none = dataclasses.replace(model, environment="own")
    with pytest.raises(InputError, match="not of cartpole"):
        Collect().explain(model, wrong, target, None, FakeRun())
    with pytest.raises(InputError, match="no environment"):
        Collect().explain(none, Experience.none(), target, None, FakeRun())
    with pytest.raises(Cancelled):
        Collect().explain(model, Experience.none(), target, None, FakeRun(cancel_after=1))


def test_a_lander_plays_its_episode_again_in_pictures():
    found = gathered("lunarlander", transitions=120)
    run = FakeRun()
    shown = PlayEpisode().explain(
        None, found, PolicyTarget(episode=0), PlayEpisode.Parameters(), run
    )
    count = int((found.arrays["episodes"] == 0).sum())
    assert len(shown.arrays["offsets"]) == count + 2
    assert frame(shown, 0).startswith(b"\x89PNG")
    assert frame(shown, 0) != frame(shown, count)
    assert run.reports
    np.testing.assert_allclose(shown.arrays["states"][:-1], found.arrays["states"][:count])
    with pytest.raises(InputError, match="There is no episode 7"):
        PlayEpisode().explain(
            None, found, PolicyTarget(episode=7), PlayEpisode.Parameters(), FakeRun()
        )
    table = dataclasses.replace(found, origin={})
    with pytest.raises(InputError, match="table"):
        PlayEpisode().explain(None, table, PolicyTarget(), PlayEpisode.Parameters(), FakeRun())


# Agents


@pytest.mark.parametrize("name", ["cartpole", "lunarlander"])
def test_the_agent_in_numpy_is_the_one_in_torch(name):
    agent = shipped(name)
    states = np.random.default_rng(0).normal(size=(50, len(agent.variables)))
    with torch.no_grad():
        found = AgentModule(agent)(inputs(agent, states)).numpy()
    np.testing.assert_allclose(agent.outputs(states), found, rtol=1e-10, atol=1e-10)


def test_probabilities_by_hand():
    variables = (Variable(name="kind", kind="categorical", levels=("a", "b")), Variable(name="x"))
    weights = {"0.weight": np.array([[1.0, 2, 3], [0, 0, 0]]), "0.bias": np.array([0.5, 0]),
               "shift": np.array([0.0, 0, 1]), "scale": np.array([1.0, 1, 2])}  # fmt: skip
    agent = Agent(Network(one_hot=True), weights, variables)
    # Coded (0, 1, 3), then (0, 1, 1): 2 + 3 + 0.5.
    np.testing.assert_allclose(agent.outputs(np.array([[1, 3]])), [[5.5, 0]])
    odds = agent.probabilities(np.array([[1, 3]]))[0]
    assert odds[0] == pytest.approx(1 / (1 + math.exp(-5.5)))
    values = Agent(Network(one_hot=True, head="values"), weights, variables)
    assert values.probabilities(np.array([[1, 3]])).tolist() == [[1, 0]]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"0.weight": None}, "named"),
        ({"extra": np.zeros(2)}, "named"),
        ({"0.weight": np.zeros((4, 3))}, "2 numbers enter"),
        ({"1.bias": np.zeros(3)}, "bias of"),
        ({"1.weight": np.zeros((3, 4)), "1.bias": np.zeros(3)}, "3 outputs"),
        ({"0.bias": np.array([0, np.nan, 0, 0])}, "not finite"),
        ({"shift": np.zeros(2), "scale": np.array([1.0, 0])}, "above 0"),
    ],
)
def test_weights_that_are_no_such_network_are_refused(change, said):
    good = {"0.weight": np.zeros((4, 2)), "0.bias": np.zeros(4),
            "1.weight": np.zeros((2, 4)), "1.bias": np.zeros(2)}  # fmt: skip
    variables = (Variable(name="x"), Variable(name="v"))
    assert set(checked(Network(), good, variables, 2)) == set(good)
    given = {n: a for n, a in (good | change).items() if a is not None}
    with pytest.raises(InputError, match=said):
        checked(Network(), given, variables, 2)


# Training


def test_best_values_of_a_chain_in_closed_form():
    # Two states: stay for 1, or end for 10; the other one goes back for 0.
    table = {
        0: {0: [(1.0, 0, 1.0, False)], 1: [(0.5, 1, 10.0, True), (0.5, 1, 0.0, False)]},
        1: {0: [(1.0, 0, 0.0, False)], 1: [(1.0, 0, 0.0, False)]},
    }
    found = best_values(table, 0.9)
    # v0 = max(1 / (1 - 0.9), 5 + 0.45 v1), v1 = 0.9 v0: staying is worth 10.
    np.testing.assert_allclose(found, [[10, 5 + 0.45 * 9], [9, 9]], atol=1e-6)


@pytest.mark.slow
def test_a_taxi_agent_is_as_good_as_its_table():
    model = models.PolicyModel("taxi", {}, None, {})
    found = TrainAgent().explain(
        model, Experience.none(), PolicyTarget(training=Training()), None, run := FakeRun()
    )
    agent = agent_of(experience_of(found))
    with World(find("taxi")) as world:
        values = best_values(world.table())
        states = np.stack([world.decoded(index) for index in range(len(values))])
    best = values >= values.max(axis=1, keepdims=True) - 1e-9
    assert best[np.arange(len(states)), agent.act(states)].all()
    assert found.values["origin"]["agent"]["mean_return"] > 6
    assert run.reports


@pytest.mark.slow
def test_training_by_a_seed_gives_the_same_agent_again():
    model = models.PolicyModel("cartpole", {}, None, {})

    def trained(seed):
        target = PolicyTarget(training=Training(share=0.02, seed=seed))
        found = TrainAgent().explain(model, Experience.none(), target, None, FakeRun())
        return experience_of(found).weights()

    one, two, three = trained(1), trained(1), trained(2)
    for name, array in one.items():
        np.testing.assert_array_equal(array, two[name])
    assert not np.array_equal(one["0.weight"], three["0.weight"])
    own = models.PolicyModel("own", {}, None, {})
    with pytest.raises(InputError, match="no environment"):
        TrainAgent().explain(own, Experience.none(), PolicyTarget(), None, FakeRun())
    with pytest.raises(Cancelled):
        TrainAgent().explain(
            model, Experience.none(), PolicyTarget(training=Training(share=0.02)), None,
            FakeRun(cancel_after=1),
        )  # fmt: skip
