"""Which sources move which targets: planted edges are found, and what only goes along is not."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from backend.errors import InputError
from backend.policies import gated
from backend.policies.equations import UNKNOWN, known_edges
from backend.policies.explanation import PolicyTarget, Variable
from backend.policies.learn_graph import LearnGraph
from backend.policies.learners import LEARNERS
from backend.policies.learning import learn
from backend.policies.loco import holm, loco, polynomials, steadied, worse
from backend.policies.polynomial import PENALTY, Sums, basis, highest_degree
from backend.policies.structure import Structure
from backend.policies.structure_metrics import scores
from backend.policies.transitions import HELD_OUT, prepare
from tests.backend.policies.worlds import (
    ACTED,
    DRIVE,
    FIXED,
    LEVEL,
    LIFT,
    PAID,
    SHADOW,
    STILL_AT,
    STRAIGHT,
    straight,
    truth,
    world,
)
from tests.fake import FakeRun


@pytest.fixture(scope="module")
def made():
    return world()


@pytest.fixture(scope="module")
def transitions(made):
    return prepare(made, 0)


def shortened(experience, rows):
    arrays = {name: array[:rows] for name, array in experience.arrays.items() if "/" not in name}
    return dataclasses.replace(experience, arrays=arrays, network=None)


# Transitions


def test_numeric_targets_are_changes_and_the_reward(made, transitions):
    targets = transitions.targets()
    change = made.arrays["next_states"] - made.arrays["states"]
    assert transitions.target_names == ("drive", "shadow", "level", "gauge", "fixed", "reward")
    assert transitions.source_names[-1] == "action"
    np.testing.assert_allclose(np.concatenate(targets[:-1], axis=1), change, atol=1e-6)
    np.testing.assert_allclose(targets[-1][:, 0], made.arrays["rewards"])
    values = dataclasses.replace(transitions, values=True).targets()
    np.testing.assert_allclose(values[LEVEL][:, 0], made.arrays["next_states"][:, LEVEL])


def test_a_categorical_target_is_one_column_a_value(made):
    arrays = {**made.arrays}
    for name in ("states", "next_states"):
        arrays[name] = arrays[name].copy()
        arrays[name][:, SHADOW] = np.arange(len(made)) % 3
    kinds = list(made.variables)
    kinds[SHADOW] = Variable(name="shadow", kind="categorical", levels=("a", "b", "c"))
    found = prepare(dataclasses.replace(made, arrays=arrays, variables=tuple(kinds)), 0)
    np.testing.assert_array_equal(found.targets()[SHADOW], np.eye(3)[np.arange(len(made)) % 3])
    assert found.columns() == (
        slice(0, 1),
        slice(1, 4),
        slice(4, 5),
        slice(5, 6),
        slice(6, 7),
        slice(7, 8),
    )
    assert not found.smooth


def test_what_never_moves_is_told_and_not_tested(transitions):
    np.testing.assert_array_equal(transitions.still, [0, 0, 0, 0, 1, 0])
    np.testing.assert_array_equal(transitions.flat, [0, 0, 0, 0, 1, 0])
    assert transitions.notes == (
        "Fixed hardly ever takes another value here, so what it causes cannot be tested.",
        "Fixed never changes here, so nothing can be found to cause it.",
    )
    found = loco(transitions, 0)
    assert not found.tested[FIXED].any()
    assert not found.tested[:, FIXED].any()
    assert found.tested[:4, :4].all()
    assert not found.present[FIXED].any()


def test_one_action_alone_and_one_reward_alone_are_told(made):
    arrays = {**made.arrays}
    arrays["actions"] = np.zeros_like(arrays["actions"])
    arrays["actions"][:5] = 1
    arrays["rewards"] = np.ones_like(arrays["rewards"])
    found = prepare(dataclasses.replace(made, arrays=arrays), 0)
    assert found.still[ACTED]
    assert found.flat[PAID]
    assert any(note.startswith("The action hardly ever") for note in found.notes)
    assert any(note.startswith("The reward never changes") for note in found.notes)


def test_few_rows_are_refused_with_how_many_are_needed(made):
    with pytest.raises(InputError, match="There are 59 transitions, too few"):
        prepare(shortened(made, 59), 0)
    assert len(prepare(shortened(made, 60), 0)) == 60


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_whole_episodes_are_held_out(made, seed):
    found = prepare(made, seed)
    episodes = made.arrays["episodes"]
    for episode in np.unique(episodes):
        assert len(np.unique(found.held[episodes == episode])) == 1
    assert found.held.mean() == pytest.approx(HELD_OUT, abs=1 / 40)


def test_seeds_hold_out_different_episodes(made):
    assert (prepare(made, 0).held != prepare(made, 1).held).any()


def test_of_one_long_episode_whole_blocks_are_held_out():
    found = prepare(world(episodes=1, length=600, known=False), 0)
    sizes = np.unique(found.groups, return_counts=True)[1]
    assert len(sizes) == 20
    assert set(sizes) == {30}
    for group in np.unique(found.groups):
        assert len(np.unique(found.held[found.groups == group])) == 1


def test_rows_follow_one_another_within_an_episode_only(made, transitions):
    np.testing.assert_array_equal(transitions.follows, made.arrays["steps"] > 0)


def test_a_bootstrap_draws_whole_groups_and_keeps_held_ones_apart(transitions):
    drawn = transitions.resampled(np.random.default_rng(0))
    assert len(drawn) == len(transitions)
    assert drawn.held.sum() == transitions.held.sum()
    held = set(transitions.groups[transitions.held])
    assert set(drawn.groups[drawn.held]) <= held
    assert not set(drawn.groups[~drawn.held]) & held
    counts = np.unique(drawn.groups, return_counts=True)[1]
    assert (counts % 50 == 0).all()
    assert counts.max() > 50


# Leave one covariate out


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("linear", [False, True])
def test_loco_finds_the_true_edges_and_no_other(seed, linear):
    found = loco(prepare(world(seed=seed, linear=linear), seed), seed)
    np.testing.assert_array_equal(found.present, truth() == 1)


def test_the_pair_with_a_hidden_cause_goes_along_and_is_no_edge(made, transitions):
    states = made.arrays["states"]
    assert np.corrcoef(states[:, DRIVE], states[:, SHADOW])[0, 1] > 0.5
    control = LEARNERS["correlation"](transitions, 0)
    found = loco(transitions, 0)
    for source, target in ((SHADOW, LEVEL), (SHADOW, DRIVE), (DRIVE, SHADOW), (SHADOW, PAID)):
        assert control.present[source, target]
        assert not found.present[source, target]
        assert abs(found.strength[source, target]) < 0.02
    assert found.strength[DRIVE, LEVEL] > 1


def test_what_the_agent_chooses_by_the_state_is_no_cause_beyond_its_action(transitions):
    # The action goes along with the reward, as both hang on the level.
    assert LEARNERS["correlation"](transitions, 0).strength[ACTED, PAID] > 0.4
    assert not loco(transitions, 0).present[ACTED, PAID]


def test_strength_is_the_log_ratio_of_errors_in_closed_form():
    # Without the action the error of `second` grows from noise to that of 0.7 * (+1 or -1).
    found = loco(prepare(straight(4000), 0), 0)
    assert found.strength[3, 1] == pytest.approx(np.log((0.05**2 + 0.7**2) / 0.05**2), abs=0.1)
    # The third enters with 0.5 and a variance of 1 into its own next value.
    assert found.strength[2, 2] == pytest.approx(np.log((0.05**2 + 0.5**2) / 0.05**2), abs=0.2)


def test_loco_by_forests_finds_edges_of_categorical_variables():
    generator = np.random.default_rng(5)
    rows = 1500
    plain = straight(rows)
    place, other = generator.integers(3, size=rows), generator.integers(3, size=rows)
    actions = plain.arrays["actions"]
    arrays = {
        **plain.arrays,
        "states": np.stack([place, other], 1).astype(np.float32),
        "next_states": np.stack([(place + actions) % 3, generator.integers(3, size=rows)], 1)
        .astype(np.float32),
        "rewards": (place == 2).astype(np.float32),
    }  # fmt: skip
    variables = tuple(
        Variable(name=name, kind="categorical", levels=("a", "b", "c"))
        for name in ("place", "other")
    )
    experience = dataclasses.replace(plain, arrays=arrays, variables=variables)
    found = loco(prepare(experience, 0), 0)
    # place' <- place, action; reward <- place; nothing moves the other one.
    np.testing.assert_array_equal(found.present, [[1, 0, 1], [0, 0, 0], [1, 0, 0]])


def test_holm_is_that_of_statsmodels():
    from statsmodels.stats.multitest import multipletests

    p_values = np.random.default_rng(0).random((5, 6)) ** 4
    pairs = np.random.default_rng(1).random((5, 6)) < 0.7
    found = holm(p_values, pairs)
    np.testing.assert_allclose(found[pairs], multipletests(p_values[pairs], method="holm")[1])
    assert (found[~pairs] == 1).all()


def test_holm_by_hand():
    found = holm(np.array([[0.01, 0.04], [0.03, 0.005]]), np.array([[1, 1], [1, 1]], dtype=bool))
    # Sorted 0.005 * 4, 0.01 * 3, 0.03 * 2, 0.04 * 1, none under the one before it.
    np.testing.assert_allclose(found, [[0.03, 0.06], [0.06, 0.02]])
    alone = holm(np.array([[0.01, 0.9]]), np.array([[True, False]]))
    np.testing.assert_allclose(alone, [[0.01, 1.0]])


def test_worse_is_one_sided():
    generator = np.random.default_rng(0)
    errors = generator.random(200)
    assert worse(errors, errors) == 1.0
    assert worse(errors + generator.random(200), errors) < 1e-20
    assert worse(errors, errors + generator.random(200)) > 0.999
    # Noise alone: the p-value is uniform.
    drawn = [worse(generator.random(60), generator.random(60)) for _ in range(300)]
    assert np.mean(np.array(drawn) < 0.05) == pytest.approx(0.05, abs=0.04)
    # Ten differences, all upwards: z = (55 - 27.5) / sqrt(10 * 11 * 21 / 24).
    from scipy.stats import norm

    z = 27.5 / np.sqrt(10 * 11 * 21 / 24)
    assert worse(np.arange(1, 11) * 1.0, np.zeros(10)) == pytest.approx(norm.sf(z))


# Polynomials


def numbers(rows, variables, seed=0):
    return np.random.default_rng(seed).normal(size=(rows, variables))


@pytest.mark.parametrize(
    ("variables", "degree", "products"), [(1, 3, 4), (3, 2, 10), (4, 3, 35), (4, 5, 126)]
)
def test_a_basis_has_as_many_products_as_there_are_monomials(variables, degree, products):
    still = np.zeros(variables, dtype=bool)
    found = basis(numbers(50, variables), 2, degree, still, [False] * variables)
    assert found.powers.shape == (products, variables)
    assert len(np.unique(found.powers, axis=0)) == products
    assert found.powers.sum(axis=1).max() == degree


def test_still_variables_stay_out_and_binary_ones_are_not_squared():
    found = basis(numbers(50, 3), 1, 2, np.array([False, True, False]), [False, False, True])
    # 1, a, c, a², ac
    expected = {(0, 0, 0), (1, 0, 0), (0, 0, 1), (2, 0, 0), (1, 0, 1)}
    assert {tuple(row) for row in found.powers.tolist()} == expected
    np.testing.assert_array_equal(found.without(2), found.powers[:, 2] == 0)
    assert found.without(2).sum() == 3
    assert found.up_to(1).sum() == 3


def test_features_are_products_of_standardised_variables_for_the_action_taken():
    states = numbers(40, 2)
    made = basis(states, 2, 2, np.zeros(2, dtype=bool), [False, False])
    actions = np.arange(40) % 2
    z = (states - states.mean(axis=0)) / states.std(axis=0)
    found = made.features(states, actions).reshape(40, len(made.powers), 2)
    for k, (first, second) in enumerate(made.powers):
        product = z[:, 0] ** first * z[:, 1] ** second
        np.testing.assert_allclose(found[:, k, 0], np.where(actions == 0, product, 0), atol=1e-12)
        np.testing.assert_allclose(found[:, k, 1], np.where(actions == 1, product, 0), atol=1e-12)


def test_ridge_is_least_squares_of_rows_that_carry_the_penalty():
    generator = np.random.default_rng(0)
    x, y = generator.normal(size=(300, 6)) * 3, generator.normal(size=(300, 2))
    sums, chosen = Sums.of(x, y), np.array([1, 1, 0, 1, 1, 0], dtype=bool)
    found = sums.ridge(chosen, [1])
    size = np.sqrt((x**2).mean(axis=0))[chosen]
    padded = np.concatenate([x[:, chosen] / size, np.sqrt(PENALTY * 300) * np.eye(4)])
    peer = np.linalg.lstsq(padded, np.concatenate([y[:, 1], np.zeros(4)]), rcond=None)[0] / size
    np.testing.assert_allclose(found[chosen, 0], peer, rtol=1e-8)
    np.testing.assert_array_equal(found[~chosen, 0], 0)
    plain = np.linalg.lstsq(x[:, chosen], y[:, 1], rcond=None)[0]
    np.testing.assert_allclose(found[chosen, 0], plain, atol=1e-6)


def test_pooled_sums_are_those_without_the_action():
    states, actions = numbers(80, 2), np.arange(80) % 3
    made = basis(states, 3, 2, np.zeros(2, dtype=bool), [False, False])
    features, y = made.features(states, actions), numbers(80, 1, seed=1)
    found = made.pooled(Sums.of(features, y))
    alone = features.reshape(80, -1, 3).sum(axis=2)
    np.testing.assert_allclose(found.squares, alone.T @ alone, atol=1e-10)
    np.testing.assert_allclose(found.products, alone.T @ y, atol=1e-10)


def test_the_degree_is_limited_by_rows_and_by_features():
    # 4 variables, 2 actions: 70 features of degree 3, 140 of degree 4, 252 of degree 5.
    assert highest_degree(4, 2, 699, 5) == 2
    assert highest_degree(4, 2, 700, 5) == 3
    assert highest_degree(4, 2, 2520, 5) == 5
    assert highest_degree(4, 2, 2520, 3) == 3
    assert highest_degree(20, 4, 10**6, 5) == 2
    assert highest_degree(9, 7, 10, 5) == 1


def jumping(rows=3000, seed=0):
    """Straight lines, but in a row of fifty `first` jumps far away."""
    made = straight(rows, seed)
    generator = np.random.default_rng([seed, 14])
    after = made.arrays["next_states"].copy()
    after[generator.random(rows) < 0.02, 0] += 60
    return dataclasses.replace(made, arrays={**made.arrays, "next_states": after})


def test_rare_far_changes_hide_no_edge():
    transitions = prepare(jumping(), 0)
    found = LEARNERS["loco"](transitions, 0)
    np.testing.assert_array_equal(found.present, STRAIGHT == 1)
    plain, limited = transitions.targets(), transitions.limited()
    assert np.abs(plain[0]).max() > 50
    low, middle, high = np.percentile(plain[0][~transitions.held], (16, 50, 84))
    assert limited[0].max() == pytest.approx(middle + 8 * (high - low) / 2)
    np.testing.assert_array_equal(limited[1], plain[1])
    rewards = transitions.limited(reward=False)[-1]
    np.testing.assert_array_equal(rewards, plain[-1])


def test_an_exact_law_with_a_wide_range_is_left_as_it_is():
    """Nine in ten rows hardly move; limiting the others would bend a straight line."""
    generator = np.random.default_rng(0)
    made = straight(2000)
    speed = np.where(generator.random(2000) < 0.9, 0.01, 5) * generator.normal(size=2000)
    states = made.arrays["states"].copy()
    states[:, 1] = speed
    after = made.arrays["next_states"].copy()
    after[:, 0] = states[:, 0] + states[:, 1]
    arrays = {**made.arrays, "states": states, "next_states": after}
    transitions = prepare(dataclasses.replace(made, arrays=arrays), 0)
    assert (transitions.limited()[0] != transitions.targets()[0]).any()
    basis = polynomials(transitions)
    learned = ~transitions.held
    features = basis.features(transitions.states[learned], transitions.actions[learned])
    np.testing.assert_array_equal(steadied(transitions, features)[:, 0],
                                  transitions.targets()[0][:, 0])  # fmt: skip


# Other learners


@pytest.mark.parametrize(
    ("learner", "rows"), [("fcit", 1000), ("lasso", 3000), ("pc", 1000), ("loco", 200)]
)
def test_learners_recover_straight_lines(learner, rows):
    found = LEARNERS[learner](prepare(straight(rows), 0), 0)
    np.testing.assert_array_equal(found.present, STRAIGHT == 1)


def test_bart_recovers_straight_lines_from_few_rows():
    found = LEARNERS["bart"](prepare(straight(250), 0), 0)
    np.testing.assert_array_equal(found.present, STRAIGHT == 1)
    # Half the 95 % interval away from one: first' moves with second by a standard deviation of it.
    assert 0.5 < found.strength[1, 0] < 1.1


def test_gates_of_true_edges_stay_open_and_a_penalty_shuts_the_others(monkeypatch):
    transitions = prepare(straight(3000), 0)
    # How first and second change does not hang on themselves.
    moved = (STRAIGHT == 1) & ~np.diag([True, True, False, False])
    found = gated.gated(transitions, 0)
    assert found.present[moved].all()
    assert found.strength[moved].min() > found.strength[~moved].max() + 0.05
    monkeypatch.setattr(gated, "PENALTY", gated.PENALTY / 10)
    loose = gated.gated(transitions, 0)
    assert loose.present[moved].all()
    assert np.median(found.strength[~moved]) < 0.3 < np.median(loose.strength[~moved])


def test_chance_draws_about_half_of_the_pairs_and_seeds_differ(transitions):
    found = [LEARNERS["random_graph"](transitions, seed) for seed in range(20)]
    shares = [one.present[one.tested].mean() for one in found]
    assert np.mean(shares) == pytest.approx(0.5, abs=0.08)
    assert not np.array_equal(found[0].present, found[1].present)
    assert not found[0].present[FIXED].any()


# Scores and equations


def test_structure_scores_by_hand():
    told = np.array([[1, 1, 0], [0, 1, 1]], dtype=bool)
    true = np.array([[1, 0, 1], [0, 1, UNKNOWN]], dtype=np.uint8)
    # Found and true: 2; found and not: 1; missed: 1; the unknown one counts for nothing.
    assert scores(told, true) == {
        "precision": pytest.approx(2 / 3),
        "recall": pytest.approx(2 / 3),
        "f1": pytest.approx(2 / 3),
        "shd": 2.0,
    }
    assert scores(true == 1, true)["f1"] == 1
    nothing = scores(np.zeros((2, 3), dtype=bool), true)
    assert (nothing["precision"], nothing["recall"], nothing["f1"], nothing["shd"]) == (0, 0, 0, 3)


@pytest.mark.parametrize(
    ("name", "reach", "lift"),
    [("cartpole", (1, 1, 0.15, 2), 0.05), ("mountaincar", (0.4, 0.03), 0.01)],
)
def test_known_edges_are_those_of_the_true_environment(name, reach, lift):
    from backend.policies.environment import find
    from backend.policies.world import World

    count = len(reach)
    found = known_edges(name)
    assert found.shape == (count + 1, count + 1)
    assert (found[:, -1] == UNKNOWN).all()
    environment = find(name)
    actions = len(environment.action_names)
    generator = np.random.default_rng(0)
    moved = np.zeros((count + 1, count), dtype=bool)
    with World(environment) as world:

        def after(state, action):
            world.set_state(state)
            return world.step(action).state

        for _ in range(20):
            state = generator.uniform(-1, 1, count) * reach
            action = int(generator.integers(actions))
            before = after(state, action)
            for source in range(count):
                other = state.copy()
                other[source] += lift
                moved[source] |= np.abs(after(other, action) - before) > 1e-6
            moved[count] |= np.abs(after(state, (action + 1) % actions) - before) > 1e-6
    np.testing.assert_array_equal(found[:, :-1], moved)


def test_of_an_unknown_environment_no_edges_are_known():
    assert known_edges("") is None
    assert known_edges("taxi") is None


# The graph as a whole


def test_a_learned_graph_tells_how_sure_and_how_large(transitions):
    found = learn(transitions, "loco", bootstraps=4, seed=0)
    np.testing.assert_array_equal(found.present, truth() == 1)
    assert (found.support[truth() == 1] == 1).all()
    assert found.support[truth() == 0].mean() < 0.05
    spread = transitions.spread()
    # Raised in place of lowered, the level ends up 2 * LIFT higher.
    assert found.effects[ACTED, LEVEL] == pytest.approx(2 * LIFT, abs=0.03)
    assert found.effects[DRIVE, LEVEL] == pytest.approx(0.3 * spread[DRIVE], abs=0.02)
    assert found.effects[LEVEL, LEVEL] == pytest.approx(0.8 * spread[LEVEL], abs=0.03)
    assert found.effects[LEVEL, PAID] == pytest.approx(-spread[LEVEL], abs=0.03)
    assert found.effects[SHADOW, LEVEL] == 0
    assert (found.low <= found.effects + 1e-9).all()
    assert (found.high >= found.effects - 1e-9).all()
    assert found.low[ACTED, LEVEL] > 0.7
    assert found.high[LEVEL, PAID] < 0


def test_the_step_keeps_the_graph_and_gives_it_back(made):
    run = FakeRun()
    given = LearnGraph.Parameters(learner="loco", bootstraps=2)
    found = LearnGraph().explain(None, made, PolicyTarget(), given, run)
    assert found.values["kind"] == "graph"
    assert found.values["still"] == ["fixed"]
    assert found.values["flat"] == ["fixed"]
    assert found.values["transitions"] == 2000
    assert found.values["structure_scores"] is None
    assert "truth" not in found.arrays
    assert len(found.notes) == 2
    assert run.reports[0][2] == "learning the causal graph"
    again = Structure.from_explanation(found)
    np.testing.assert_array_equal(again.present, truth() == 1)
    np.testing.assert_array_equal(again.parents(LEVEL), [DRIVE, LEVEL, ACTED])
    assert again.source_names[FIXED] == "fixed"
    assert made.arrays["states"][0, FIXED] == STILL_AT
