"""Which moment is explained, which transitions show an edge, and bootstraps of an experience."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from backend.errors import InputError
from backend.policies.agent import agent_of
from backend.policies.bootstrap_experience import bootstrapped
from backend.policies.explained import value_words
from backend.policies.explanation import PREFIX, Experience, PolicyTarget, Variable
from backend.policies.moment import moment
from backend.policies.supporting import supporting
from tests.backend.policies.worlds import ACTED, DRIVE, LEVEL, PAID, straight, world


@pytest.fixture(scope="module")
def made():
    return world()


def test_without_words_it_is_where_the_agent_is_most_decided_and_its_choice(made):
    at = moment(made, PolicyTarget())
    # The agent's margin is its level: the largest of the middle half of the first episode.
    level = np.abs(made.arrays["states"][12:37, LEVEL])
    assert (at.episode, at.step, at.row) == (0, 12 + level.argmax(), 12 + level.argmax())
    np.testing.assert_array_equal(at.state, made.arrays["states"][at.row])
    chosen = agent_of(made).act(at.state[None])[0]
    assert (at.action, at.instead) == (chosen, 1 - chosen)
    assert at.probabilities.sum() == pytest.approx(1)


def test_without_an_agent_it_is_the_middle():
    assert moment(world(known=False), PolicyTarget(episode=3)).step == 25


def test_an_episode_a_step_and_both_actions_are_taken_as_asked(made):
    at = moment(made, PolicyTarget(episode=7, step=3, action=0, instead=1))
    assert (at.episode, at.step, at.row) == (7, 3, 353)
    assert (at.action, at.instead) == (0, 1)


def test_without_an_agent_it_is_the_recorded_action_and_what_is_else_done_nearby():
    made = world(known=False)
    at = moment(made, PolicyTarget(episode=2, step=4))
    assert at.action == made.arrays["actions"][at.row]
    assert at.instead == 1 - at.action
    assert at.probabilities is None
    low = moment(made, PolicyTarget(state=(0, 0, -1.5, 0, 2)))
    assert low.row is None
    assert low.action == 1  # where the level is low it is raised


@pytest.mark.parametrize(
    ("target", "said"),
    [
        (PolicyTarget(episode=40), "There is no episode 40.*0 to 39"),
        (PolicyTarget(step=50), "has no step 50.*0 to 49"),
        (PolicyTarget(action=2), "no action 2.*0 to 1"),
        (PolicyTarget(action=1, instead=1), "against itself"),
        (PolicyTarget(state=(1, 2)), "has 2 numbers.*needs 5"),
        (PolicyTarget(state=(1, 2, float("nan"), 0, 0)), "finite number"),
    ],
)
def test_a_moment_that_is_not_there_says_what_is(made, target, said):
    with pytest.raises(InputError, match=f"(?s){said}"):
        moment(made, target)


def test_no_transitions_and_no_such_value_are_refused(made):
    with pytest.raises(InputError, match="no transitions yet"):
        moment(Experience.none(), PolicyTarget())
    kinds = (*made.variables[:4], Variable(name="k", kind="categorical", levels=("a", "b", "c")))
    coloured = dataclasses.replace(made, variables=kinds, network=None)
    assert moment(coloured, PolicyTarget(state=(0, 0, 0, 0, 2))).state[4] == 2
    for value in (3, -1, 0.5):
        with pytest.raises(InputError, match="whole number from 0 to 2"):
            moment(coloured, PolicyTarget(state=(0, 0, 0, 0, value)))


def test_values_in_words():
    told = {"levels": [[], ["red", "blue"], []], "units": ["m", "", ""]}
    assert value_words(told, 0, 1.23456) == "1.23 m"
    assert value_words(told, 1, 1.0) == "blue"
    assert value_words(told, 2, -0.5) == "-0.5"


def test_the_transitions_that_show_an_edge_come_first():
    made = straight(200)
    arrays = made.arrays
    # first' = first + second: where second is far out, first changes as much.
    order = supporting(made, 1, 0, 1.0)
    change = arrays["next_states"][:, 0] - arrays["states"][:, 0]
    both = (arrays["states"][:, 1] - arrays["states"][:, 1].mean()) * (change - change.mean())
    np.testing.assert_array_equal(both[order], np.sort(both)[::-1])
    np.testing.assert_array_equal(supporting(made, 1, 0, -1.0)[::-1][:20], order[:20])


def test_of_an_action_those_first_whose_change_is_most_like_it(made):
    order = supporting(made, ACTED, LEVEL, 0.8)
    change = made.arrays["next_states"][:, LEVEL] - made.arrays["states"][:, LEVEL]
    raised = made.arrays["actions"] == 1
    first = order[:100]
    assert change[first][raised[first]].min() > change.mean()
    assert change[first][~raised[first]].max() < change.mean()
    paid = supporting(made, LEVEL, PAID, -1.0)
    assert sorted(paid.tolist()) == list(range(len(made)))
    assert (np.sign(made.arrays["states"][paid[:20], LEVEL]) != 0).all()


def test_a_bootstrap_draws_whole_episodes_and_keeps_the_agent(made):
    again = bootstrapped(made, 5)
    assert len(again) == len(made)
    lengths = np.bincount(again.arrays["episodes"])
    assert lengths.tolist() == [50] * 40
    first = {made.arrays["states"][e * 50, DRIVE] for e in range(40)}
    drawn = again.arrays["states"][::50, DRIVE]
    assert set(drawn.tolist()) < first
    assert 15 < len(set(drawn.tolist())) < 36
    for name, array in made.arrays.items():
        if name.startswith(PREFIX):
            np.testing.assert_array_equal(again.arrays[name], array)
    np.testing.assert_array_equal(bootstrapped(made, 5).arrays["states"], again.arrays["states"])
    assert not np.array_equal(bootstrapped(made, 6).arrays["states"], again.arrays["states"])
    assert again.origin["bootstrap"] == 5


def test_few_long_episodes_are_drawn_by_blocks():
    made = world(episodes=2, length=400)
    again = bootstrapped(made, 0)
    assert len(np.unique(again.arrays["episodes"])) >= 20
    assert again.arrays["episodes"].max() == len(np.unique(again.arrays["episodes"])) - 1
