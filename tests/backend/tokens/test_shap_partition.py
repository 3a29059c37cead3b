"""SHAP against Owen values by every ordering, and what they must sum to."""

from itertools import permutations

import numpy as np
import pytest

from backend.tokens.explanation import Prompt
from backend.tokens.objective import Objective
from backend.tokens.shap_partition import (
    Game,
    ShapPartition,
    evaluations,
    exact_evaluations,
    halves,
)
from tests.backend.tokens.ablate import PROMPT, additive_mask, logprobs, target
from tests.backend.tokens.passage import explain
from tests.fake import FakeRun
from tests.tiny import untouched


def shap_partition(model, prompt=PROMPT, run=None, span=None, **parameters):
    about = target(model, span=span)
    return explain(model, ShapPartition, prompt=prompt, target=about, run=run, **parameters)


def orders(members):
    """Every ordering in which the two halves of each group come one after the other."""
    if len(members) == 1:
        return [members]
    middle = len(members) // 2
    pairs = [(a, b) for a in orders(members[:middle]) for b in orders(members[middle:])]
    return [a + b for a, b in pairs] + [b + a for a, b in pairs]


def mean_marginals(worth, ways, players):
    """What each player adds when it joins, averaged over the ways to join."""
    total = np.zeros(players)
    for way in ways:
        there = frozenset()
        for player in way:
            total[player] += worth(there | {player}) - worth(there)
            there = there | {player}
    return total / len(ways)


def worth_of(found, hf, model, operator):
    """f of the tokens that stay, by the untouched model."""
    ids, explained, known = list(found.sequence.ids), found.explained, {}

    def worth(there):
        if there not in known:
            gone = [p for p in range(explained[0]) if p not in there]
            if operator == "neutral":
                kept = [model.neutral_id if p in gone else t for p, t in enumerate(ids)]
                known[there] = float(logprobs(hf, kept, explained).sum())
            else:
                mask = additive_mask(len(ids), gone)
                known[there] = float(logprobs(hf, ids, explained, mask).sum())
        return known[there]

    return worth


@pytest.mark.parametrize("operator", ["neutral", "key_masking"])
@pytest.mark.parametrize("text", ["The code", "The code is", "The code for is", "code is five"])
def test_equals_owen_values_by_every_ordering(tiny, text, operator):
    model = tiny("llama")
    found = shap_partition(model, Prompt.of(text), operator=operator)
    players = found.explained[0]
    assert 2 <= players <= 6
    worth = worth_of(found, untouched("llama"), model, operator)
    expected = mean_marginals(worth, orders(list(range(players))), players)
    np.testing.assert_allclose(found.arrays["scores"][:players], expected, atol=1e-4)
    assert found.values["exact"]
    if players == 2:
        shapley = mean_marginals(worth, list(permutations(range(2))), 2)
        np.testing.assert_allclose(found.arrays["scores"][:2], shapley, atol=1e-4)


class Additive:
    """A game of known shares: each player that goes takes its weight, some pairs take more."""

    def __init__(self, weights, pairs=()):
        self.weights, self.pairs, self.run = weights, dict(pairs), FakeRun()

    def after(self, removals, operator, what, *, before=0, total=0):
        self.run.progress(before + len(removals), total, what)
        there = [set(range(len(self.weights))) - set(gone) for gone in removals]
        return np.array(
            [
                [
                    sum(self.weights[i] for i in t)
                    + sum(v for p, v in self.pairs.items() if {*p} <= t)
                ]
                for t in there
            ]
        )


@pytest.mark.parametrize("players", [1, 2, 3, 7, 16, 33])
def test_shares_of_an_additive_game_are_its_weights(players):
    weights = np.random.default_rng(players).normal(size=players)
    game = Game(Additive(weights), list(range(players)), "neutral", exact_evaluations(players))
    np.testing.assert_allclose(game.shares(0), weights, atol=1e-9)
    assert game.exact


def test_two_that_count_together_share_what_they_add():
    weights = [0.0] * 6
    game = Game(Additive(weights, {(1, 4): 3.0}.items()), list(range(6)), "neutral", 100)
    np.testing.assert_allclose(game.shares(0), [0, 1.5, 0, 0, 1.5, 0], atol=1e-9)


@pytest.mark.parametrize("players", [2, 3, 5, 8, 13])
def test_the_exact_number_of_evaluations_is_what_the_walk_asks_for(players):
    weights = np.random.default_rng(0).normal(size=players)
    pairs = {(i, j): 0.1 * i + j for i in range(players) for j in range(i)}.items()
    needed = exact_evaluations(players)
    exact = Game(Additive(weights, pairs), list(range(players)), "neutral", needed)
    more = Game(Additive(weights, pairs), list(range(players)), "neutral", 10 * needed)
    np.testing.assert_allclose(exact.shares(0), more.shares(0), atol=1e-9)
    shapley = [w + sum(v / 2 for p, v in pairs if i in p) for i, w in enumerate(weights)]
    np.testing.assert_allclose(exact.shares(0), shapley, atol=1e-9)
    assert needed <= max(4, players**2)
    assert not Game(Additive(weights), list(range(players)), "neutral", needed - 1).exact


@pytest.mark.parametrize("most", [4, 9, 40])
def test_short_of_evaluations_the_scores_still_sum_up(tiny, most):
    model, run = tiny("qwen2"), FakeRun()
    found = shap_partition(model, run=run, max_evals=most)
    values = found.values
    assert abs(values["additivity_gap"]) < 1e-4
    assert np.nansum(found.arrays["scores"]) + values["base_value"] == pytest.approx(
        values["value"], abs=1e-4
    )
    full = logprobs(untouched("qwen2"), found.sequence.ids, found.explained).sum()
    assert values["value"] == pytest.approx(float(full), abs=1e-4)
    assert not values["exact"]
    assert f"{values['evaluations']} coalitions of {found.explained[0]} tokens" in found.notes[0]
    assert values["evaluations"] <= most + 1
    assert run.forward == values["evaluations"]
    assert run.reports[-1][0] <= run.reports[-1][1]


def test_a_seed_decides_ties_and_leaves_numpys_generator_alone(tiny):
    np.random.seed(5)  # noqa: NPY002
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    runs = [shap_partition(tiny("llama"), run=FakeRun(seed=s), max_evals=12) for s in (3, 3)]
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002
    np.testing.assert_array_equal(runs[0].arrays["scores"], runs[1].arrays["scores"])


def test_special_tokens_play_unless_they_are_kept(tiny):
    model = tiny("llama", bos=True)
    prompt = Prompt.of("The code", chat=True)
    all_play = shap_partition(model, prompt)
    kept = shap_partition(model, prompt, keep_special=True)
    special = np.array(kept.sequence.special[: kept.explained[0]])
    assert special.sum() >= 3
    assert (kept.arrays["scores"][: kept.explained[0]][special] == 0).all()
    assert (all_play.arrays["scores"][: kept.explained[0]][special] != 0).any()
    ids = [
        model.neutral_id if p < kept.explained[0] and not kept.sequence.special[p] else token
        for p, token in enumerate(kept.sequence.ids)
    ]
    base = logprobs(untouched("llama"), ids, kept.explained).sum()
    assert kept.values["base_value"] == pytest.approx(float(base), abs=1e-4)


def test_the_tree_is_balanced_and_in_order():
    tree = halves(5)
    assert tree.tolist() == [[0, 1, 2, 2], [3, 4, 2, 2], [2, 6, 3, 3], [5, 7, 5, 5]]
    assert halves(1).shape == (0, 4)


def test_long_prompts_get_fewer_evaluations():
    assert evaluations(10, 12) == exact_evaluations(10)
    assert evaluations(100, 110) == 400
    assert evaluations(2000, 2000) == 50
    assert evaluations(5000, 5000) == 32


def test_each_coalition_is_computed_once(tiny):
    model, run = tiny("llama"), FakeRun()
    game = Game(Objective(model, PROMPT, target(model), run), [0, 1, 2], "neutral", 8)
    staying = np.array([[True, False, True], [True, False, True], [False] * 3])
    first = game.worth(staying)
    assert first[0] == first[1] != first[2]
    assert run.forward == 2
    np.testing.assert_array_equal(game.worth(staying[::-1]), first[::-1])
    assert run.forward == 2
