"""What follows a state and an action: predictions, interventions, and bands around paths."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from backend.policies.agent import agent_of
from backend.policies.chains import carriers, chain
from backend.policies.effects import fit_models
from backend.policies.explanation import Variable
from backend.policies.fitted import fit
from backend.policies.imagined import Path, band, contrast, imagine, true_path
from backend.policies.learning import learn
from backend.policies.local_graph import local_graph
from backend.policies.transitions import prepare
from tests.backend.policies.worlds import (
    ACTED,
    DRIVE,
    FIXED,
    GAUGE,
    KEPT,
    LEAK,
    LEVEL,
    LIFT,
    NOISE,
    PAID,
    PULL,
    SHADOW,
    STILL_AT,
    acted,
    gauged,
    straight,
    structure,
    truth,
    world,
)

STATES = np.array(
    [
        [0.5, 0.2, -0.4, 0.3, STILL_AT],
        [-0.8, 0.6, 0.7, -0.2, STILL_AT],
        [0.1, -0.9, 0.2, 0.6, STILL_AT],
    ]
)
HERE = STATES[0]
LOWER, RAISE = 0, 1


@pytest.fixture(scope="module")
def made():
    return world()


@pytest.fixture(scope="module")
def transitions(made):
    return prepare(made, 0)


@pytest.fixture(scope="module")
def models(transitions):
    return fit_models(transitions, structure(transitions, truth()), 0)


@pytest.fixture(scope="module")
def learned(transitions):
    """Models along the edges that were found, not those that are known."""
    return fit_models(transitions, learn(transitions, "loco", 2, 0), 0)


@pytest.fixture(scope="module")
def unpruned(transitions):
    """Models that may use every variable for every target."""
    return fit_models(transitions, structure(transitions, np.ones((6, 6))), 0)


def true_change(states, actions):
    """[N, 6]: what the equations say, but for noise."""
    drive, shadow, level, gauge, _ = states.T
    return np.stack(
        [
            (KEPT - 1) * drive,
            (KEPT - 1) * shadow,
            PULL * drive + LIFT * (2 * actions - 1) - LEAK * level,
            gauged(gauge, level, False) - gauge,
            np.zeros(len(states)),
            1 - level,
        ],
        axis=1,
    )


# Fitted models


@pytest.mark.parametrize("action", [LOWER, RAISE])
def test_polynomials_say_what_the_equations_say(transitions, action):
    model = fit(transitions, truth().astype(bool), 0)
    actions = np.full(3, action)
    found = model.change(STATES, actions)
    clean = [LEVEL, GAUGE, FIXED, PAID]
    true = true_change(STATES, actions)
    np.testing.assert_allclose(found[:, clean], true[:, clean], atol=0.04)
    # The hidden hand pushes these two: noise of 0.5 leaves the line less sure.
    np.testing.assert_allclose(found[:, :2], true[:, :2], atol=0.12)


def test_a_polynomial_uses_its_causes_alone(transitions):
    model = fit(transitions, truth().astype(bool), 0)
    before = model.change(STATES, np.zeros(3, dtype=int))
    for source in range(5):
        moved = STATES.copy()
        moved[:, source] += 0.3
        apart = np.abs(model.change(moved, np.zeros(3, dtype=int)) - before).max(axis=0)
        strangers = truth()[source] == 0
        np.testing.assert_array_equal(apart[strangers], 0)
        assert (apart[~strangers] > 0.01).all()
    other = np.abs(model.change(STATES, np.ones(3, dtype=int)) - before).max(axis=0)
    np.testing.assert_array_equal(other > 1e-12, truth()[ACTED] == 1)


def test_a_polynomial_does_not_run_away_outside_what_was_seen(transitions):
    model = fit(transitions, truth().astype(bool), 0)
    far, rim = HERE.copy(), HERE.copy()
    far[LEVEL] = 50
    rim[LEVEL] = transitions.states[~transitions.held, LEVEL].max()
    actions = np.zeros(1, dtype=int)
    np.testing.assert_allclose(model.change(far[None], actions), model.change(rim[None], actions))


def test_forests_learn_a_categorical_rule_and_constants():
    generator = np.random.default_rng(5)
    rows = 600
    plain = straight(rows)
    place, actions = generator.integers(3, size=rows), plain.arrays["actions"]
    arrays = {
        **plain.arrays,
        "states": place[:, None].astype(np.float32),
        "next_states": ((place + actions) % 3)[:, None].astype(np.float32),
        "rewards": np.full(rows, 0.25, dtype=np.float32),
    }
    variables = (Variable(name="place", kind="categorical", levels=("a", "b", "c")),)
    transitions = prepare(dataclasses.replace(plain, arrays=arrays, variables=variables), 0)
    found = fit_models(transitions, structure(transitions, np.array([[1, 0], [1, 0]])), 0, models=2)
    states, actions = np.array([[0.0], [1.0], [2.0], [2.0]]), np.array([0, 1, 1, 0])
    after, rewards = found.follow(states, actions)
    np.testing.assert_array_equal(after[:, 0], [0, 2, 0, 2])
    np.testing.assert_allclose(rewards, 0.25)
    drawn, _ = found.follow(states, actions, np.random.default_rng(0))
    np.testing.assert_array_equal(drawn[:, 0], [0, 2, 0, 2])


# How good they are said to be


def test_held_out_errors_are_those_of_the_noise(transitions, models):
    told = {error["target"]: error for error in models.errors}
    assert told["fixed"] == {"target": "fixed", "r2": None, "coverage": None}
    for name, column, noise in (("level", LEVEL, NOISE), ("reward", PAID, NOISE)):
        truths = transitions.targets()[column][transitions.held, 0]
        best = 1 - noise**2 / truths.var()
        assert told[name]["r2"] == pytest.approx(best, abs=0.01)
    for name in ("drive", "shadow", "level", "gauge", "reward"):
        assert told[name]["coverage"] == pytest.approx(0.9, abs=0.06)
    level = models.residuals[:, LEVEL]
    assert level.std() == pytest.approx(NOISE, rel=0.1)


def test_models_of_bootstraps_differ_by_little(models):
    found = models.draws(STATES, np.zeros(3, dtype=int))
    assert found.shape == (12, 3, 6)
    apart = found.std(axis=0)
    assert (apart[:, :4] > 0).all()
    assert (apart[:, [LEVEL, GAUGE]] < 0.05).all()
    np.testing.assert_allclose(found[:, :, FIXED], STILL_AT)


def test_followed_with_a_generator_a_step_is_as_noisy_as_the_world(models):
    states = np.repeat(HERE[None], 4000, axis=0)
    after, rewards = models.follow(states, np.ones(4000, dtype=int), np.random.default_rng(0))
    true = true_change(HERE[None], np.ones(1))[0]
    assert after[:, LEVEL].std() == pytest.approx(NOISE, rel=0.12)
    assert after[:, LEVEL].mean() == pytest.approx(HERE[LEVEL] + true[LEVEL], abs=0.03)
    assert rewards.std() == pytest.approx(NOISE, rel=0.12)
    # What is drawn keeps what goes along: both of the pair are pushed at once.
    assert np.corrcoef(after[:, DRIVE], after[:, SHADOW])[0, 1] == pytest.approx(0.64, abs=0.08)


# Interventions: a cause moves what it causes, nothing else does


def test_a_non_cause_leaves_the_predicted_effect_as_it_is(learned):
    for source, target in ((SHADOW, LEVEL), (SHADOW, DRIVE), (DRIVE, SHADOW), (SHADOW, PAID),
                           (GAUGE, LEVEL), (DRIVE, GAUGE), (FIXED, LEVEL)):  # fmt: skip
        for by in (-0.5, 0.5):
            moved = HERE.copy()
            moved[source] += by
            before = learned.draws(HERE[None], np.array([RAISE]))[:, 0]
            after = learned.draws(moved[None], np.array([RAISE]))[:, 0]
            np.testing.assert_array_equal(after[:, target], before[:, target])


@pytest.mark.parametrize(
    ("source", "target", "slope"),
    [
        (DRIVE, LEVEL, PULL),
        (LEVEL, LEVEL, 1 - LEAK),
        (LEVEL, PAID, -1.0),
        (DRIVE, DRIVE, KEPT),
        (SHADOW, SHADOW, KEPT),
        (GAUGE, GAUGE, 0.6),
    ],
)
def test_a_cause_moves_it_with_the_right_sign_and_size(learned, source, target, slope):
    moved = HERE.copy()
    moved[source] += 0.4
    before = learned.draws(HERE[None], np.array([RAISE]))[:, 0, target]
    after = learned.draws(moved[None], np.array([RAISE]))[:, 0, target]
    assert (np.sign(after - before) == np.sign(slope)).all()
    loose = 0.12 if target in (DRIVE, SHADOW) else 0.04
    assert np.median(after - before) == pytest.approx(0.4 * slope, abs=loose)


def test_where_the_effect_turns_the_sign_turns(learned):
    # The gauge shows 0.4 level² - 0.2 level: it falls up to a level of 0.25, then rises.
    def step(level):
        low, high = HERE.copy(), HERE.copy()
        low[LEVEL], high[LEVEL] = level, level + 0.3
        found = learned.draws(np.stack([low, high]), np.array([LOWER, LOWER]))[:, :, GAUGE]
        return found[:, 1] - found[:, 0]

    assert (step(-0.8) < -0.1).all()
    assert (step(0.8) > 0.1).all()


def test_the_action_moves_the_level_and_not_the_pair(learned):
    raised = learned.draws(STATES, np.full(3, RAISE))
    lowered = learned.draws(STATES, np.full(3, LOWER))
    np.testing.assert_allclose(raised[..., LEVEL] - lowered[..., LEVEL], 2 * LIFT, atol=0.06)
    strangers = [DRIVE, SHADOW, GAUGE, FIXED, PAID]
    np.testing.assert_array_equal(raised[..., strangers], lowered[..., strangers])


def test_even_with_every_edge_a_non_cause_stays_inside_its_interval(unpruned):
    found = local_graph(unpruned, HERE, RAISE, LOWER)
    for target in (LEVEL, PAID, GAUGE):
        assert found.low[SHADOW, target] <= 0.02
        assert found.high[SHADOW, target] >= -0.02
        assert abs(found.effect[SHADOW, target]) < 0.05
    assert found.low[DRIVE, LEVEL] > 0.1
    assert found.high[LEVEL, PAID] < -0.3


def test_on_an_imagined_path_the_pair_is_told_apart(made, learned):
    agent = agent_of(acted(made, [0, 0, 0, 0, 0], bias=9.0))
    widths = np.zeros((9, 6))
    moved = [HERE.copy() for _ in range(3)]
    moved[1][SHADOW] += 1
    moved[2][DRIVE] += 1
    plain, shadow, drive = (imagine(learned, agent, one, RAISE, widths) for one in moved)
    np.testing.assert_array_equal(shadow.expected[:, LEVEL], plain.expected[:, LEVEL])
    np.testing.assert_array_equal(shadow.expected[:, PAID], plain.expected[:, PAID])
    # One step on the level has moved by PULL; the reward falls by as much a step later.
    apart = drive.expected - plain.expected
    assert apart[1, LEVEL] == pytest.approx(PULL, abs=0.04)
    assert apart[1, PAID] == pytest.approx(0, abs=1e-9)
    assert apart[2, PAID] == pytest.approx(-PULL, abs=0.05)
    assert (apart[1:, LEVEL] > 0).all()


# The graph at one state


def test_the_local_graph_has_effects_with_intervals_that_hold_the_truth(transitions, models):
    found = local_graph(models, HERE, RAISE, LOWER)
    spread = transitions.spread()
    assert not found.present[truth() == 0].any()
    assert not found.effect[truth() == 0].any()
    expected = {
        (DRIVE, LEVEL): PULL * spread[DRIVE],
        (LEVEL, LEVEL): (1 - LEAK) * spread[LEVEL],
        (LEVEL, PAID): -spread[LEVEL],
        (ACTED, LEVEL): 2 * LIFT,
    }
    for (source, target), effect in expected.items():
        assert found.present[source, target]
        assert found.effect[source, target] == pytest.approx(effect, abs=0.06)
        assert found.low[source, target] <= found.high[source, target]
        assert found.low[source, target] - 0.03 < effect < found.high[source, target] + 0.03
        assert (found.low[source, target] > 0) == (effect > 0)


def test_against_the_other_action_the_effect_turns_round(models):
    ours = local_graph(models, HERE, RAISE, LOWER)
    other = local_graph(models, HERE, LOWER, RAISE)
    assert other.effect[ACTED, LEVEL] == pytest.approx(-ours.effect[ACTED, LEVEL], abs=1e-9)


def test_the_chain_goes_from_the_action_over_the_level_to_the_reward(models):
    # From a level of -0.4 a rise makes the gauge fall and the reward fall.
    local = local_graph(models, HERE, RAISE, LOWER)
    found = chain(models, local)
    links = [(link["step"], link["source"], link["target"]) for link in found]
    assert links[0] == (1, "action", "level")
    assert {link[1:] for link in links if link[0] == 2} <= {("level", "reward"), ("level", "gauge")}
    assert (2, "level", "reward") in links
    reward = next(link for link in found if link["target"] == "reward")
    assert reward["high"] < 0
    assert all(link["source"] not in ("shadow", "drive") for link in found)


def test_carriers_share_out_the_last_difference_in_deviations(models):
    spread = models.transitions.next_states.std(axis=0)
    last = np.array([0, 0, 3 * spread[LEVEL], -1 * spread[GAUGE], 0, 5.0])
    path = np.stack([np.zeros(6), last])
    found = carriers(models, Path(path, path, path))
    assert [one["variable"] for one in found] == ["level", "gauge"]
    assert [one["share"] for one in found] == pytest.approx([0.75, 0.25])
    assert carriers(models, Path(path * 0, path * 0, path * 0)) == []


# Bands around paths


def test_a_band_holds_whole_paths_of_episodes_never_seen(models):
    horizon = 10
    widths, stretches = band(models, horizon, np.random.default_rng(0))
    assert stretches == 400
    assert (widths[0] == 0).all()
    assert (widths[1:, [DRIVE, SHADOW, LEVEL, GAUGE, PAID]] > 0).all()
    # What never moves has a band of no width, and spoils no other.
    assert (widths[:, FIXED] == 0).all()
    fresh = prepare(world(episodes=60, seed=9), 0)
    starts = np.flatnonzero(np.arange(len(fresh)) % 50 % 12 == 0)
    starts = starts[starts % 50 + horizon <= 50]
    states, inside = fresh.states[starts], np.ones(len(starts), dtype=bool)
    said, true = np.zeros(len(starts)), np.zeros(len(starts))
    for step in range(horizon):
        rows = starts + step
        states, rewards = models.follow(states, fresh.actions[rows])
        said, true = said + rewards, true + fresh.rewards[rows]
        apart = np.column_stack([np.abs(states - fresh.next_states[rows]), np.abs(said - true)])
        inside &= (apart <= widths[step + 1] + 1e-6).all(axis=1)
    assert len(starts) == 240
    assert inside.mean() == pytest.approx(0.95, abs=0.045)


def test_without_enough_held_out_stretches_a_band_is_without_bound(models):
    widths, stretches = band(models, 60, np.random.default_rng(0))
    assert stretches == 0
    assert np.isinf(widths).all()


def test_a_path_takes_the_action_first_and_then_the_agent_chooses(made, models):
    widths = np.full((5, 6), 0.2)
    widths[0] = 0
    agent = agent_of(made)
    found = imagine(models, agent, HERE, LOWER, widths)
    state, total = HERE[None], 0.0
    for step in range(4):
        action = np.array([LOWER]) if step == 0 else agent.act(state)
        # The agent raises where the level is low.
        assert step == 0 or action[0] == int(state[0, LEVEL] < 0)
        state, reward = models.follow(state, action)
        total += reward[0]
        np.testing.assert_allclose(found.expected[step + 1, :-1], state[0])
        assert found.expected[step + 1, -1] == pytest.approx(total)
    np.testing.assert_array_equal(found.expected[0], [*HERE, 0])
    assert (found.low <= found.expected - widths + 1e-12).all()
    assert (found.high >= found.expected + widths - 1e-12).all()


def test_an_imagined_path_is_that_of_the_equations(made, models):
    agent = agent_of(acted(made, [0, 0, 0, 0, 0], bias=9.0))
    found = imagine(models, agent, HERE, RAISE, np.zeros((7, 6)))
    state, total = HERE[None].copy(), 0.0
    for step in range(6):
        change = true_change(state, np.ones(1))
        state, total = state + change[:, :-1], total + change[0, -1]
        assert found.expected[step + 1, LEVEL] == pytest.approx(state[0, LEVEL], abs=0.12)
        assert found.expected[step + 1, PAID] == pytest.approx(total, abs=0.3)
    assert found.expected[-1, FIXED] == STILL_AT


def test_a_path_stays_where_its_episode_ends(made):
    arrays = {**made.arrays}
    arrays["terminated"] = (arrays["next_states"][:, LEVEL] > 1.0).astype(np.uint8)
    transitions = prepare(dataclasses.replace(made, arrays=arrays), 0)
    models = fit_models(transitions, structure(transitions, truth()), 0, models=2)
    over, under = HERE.copy(), HERE.copy()
    over[LEVEL], under[LEVEL] = 1.3, 0.6
    np.testing.assert_array_equal(models.ended(np.stack([over, under])), [True, False])
    agent = agent_of(acted(made, [0, 0, 0, 0, 0], bias=9.0))
    found = imagine(models, agent, under, RAISE, np.zeros((9, 6))).expected
    ends = int(np.argmax(models.ended(found[:, :-1])))
    assert 0 < ends < 5
    assert found[ends - 1, LEVEL] < 1.05
    np.testing.assert_array_equal(found[ends:], np.repeat(found[[ends]], 9 - ends, axis=0))


def test_where_nothing_ended_no_end_is_foreseen(models):
    assert models.ends is None
    assert not models.ended(STATES).any()


def test_a_contrast_is_a_difference_with_both_half_widths():
    ours = Path(np.array([[1.0, 5.0]]), np.array([[0.5, 4.0]]), np.array([[2.0, 5.5]]))
    other = Path(np.array([[3.0, 1.0]]), np.array([[2.9, 0.0]]), np.array([[3.3, 1.25]]))
    found = contrast(ours, other)
    np.testing.assert_allclose(found.expected, [[-2.0, 4.0]])
    # Lowest: our low against the other's high.
    np.testing.assert_allclose(found.low, [[0.5 - 3.3, 4.0 - 1.25]])
    np.testing.assert_allclose(found.high, [[2.0 - 2.9, 5.5 - 0.0]])


def test_the_true_path_of_cartpole_is_that_of_its_equations(made):
    from backend.policies.environment import find

    cart = find("cartpole")
    experience = dataclasses.replace(
        made, environment="cartpole", variables=cart.variables, action_names=cart.action_names
    )
    agent = agent_of(acted(experience, [0, 0, 9, 2], bias=0.01))
    state = np.array([0.1, -0.2, 0.03, 0.1], dtype=np.float32)
    found = true_path(experience, agent, state, 0, 6)
    assert found.shape == (7, 5)
    np.testing.assert_allclose(found[0], [*state, 0], rtol=1e-6)
    x, speed, angle, turning = (float(value) for value in state)
    for step in range(6):
        action = 0 if step == 0 else int(9 * angle + 2 * turning + 0.01 > 0)
        force = 10.0 if action else -10.0
        push = (force + 0.05 * turning**2 * np.sin(angle)) / 1.1
        swing = 9.8 * np.sin(angle) - np.cos(angle) * push
        swing /= 0.5 * (4 / 3 - 0.1 * np.cos(angle) ** 2 / 1.1)
        slide = push - 0.05 * swing * np.cos(angle) / 1.1
        x, speed = x + 0.02 * speed, speed + 0.02 * slide
        angle, turning = angle + 0.02 * turning, turning + 0.02 * swing
        np.testing.assert_allclose(found[step + 1, :4], [x, speed, angle, turning], atol=1e-5)
        assert found[step + 1, 4] == step + 1


def test_a_true_path_ends_with_its_episode_and_none_is_made_up(made):
    from backend.policies.environment import find

    cart = find("cartpole")
    experience = dataclasses.replace(made, environment="cartpole", variables=cart.variables)
    agent = agent_of(acted(experience, [0, 0, 9, 2]))
    falling = np.array([0, 0, 0.2, 2.0], dtype=np.float32)
    assert len(true_path(experience, agent, falling, 1, 10)) < 11
    assert true_path(made, agent_of(made), HERE, 1, 10) is None
