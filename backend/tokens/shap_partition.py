"""SHAP, partition: Owen values, a fair share of the answer's log-probability for each token.

Lundberg & Lee, "A Unified Approach to Interpreting Model Predictions", NIPS 2017; Owen, "Values of
Games with A Priori Unions", 1977:

1. The players are the tokens before the first explained one; a coalition is a set of tokens that
   stay, the others are removed; its worth is f = Σ log p(explained token).
2. The tokens are halved again and again, in the order of the text, into a balanced tree.
3. shap walks the tree from the top, largest differences first: each half's worth is the mean of
   what it adds with and without the other half. What the evaluations do not reach is shared
   equally inside its group.
4. The scores sum to f(all stay) - f(none stays).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from backend.explainer import Explainer, Reference, Run
from backend.explanation import Frozen
from backend.tokens.explanation import TokenExplanation
from backend.tokens.objective import Objective

MOST, LEAST = 400, 32
TOKENS = 100_000
"""Where the evaluations are not chosen: at most this many token positions are computed."""
SHAP_BATCH = 16
"""Coalitions shap asks for at once; it decides the order of the walk, so memory must not."""


class ShapPartitionParameters(Frozen):
    """How tokens are removed and how many coalitions are tried."""

    operator: Literal["neutral", "key_masking"] = Field(
        "neutral",
        title="Operator",
        description="`neutral` puts the model's padding or end token in the place of a removed "
        "token; `key_masking` hides it from later tokens.",
    )
    max_evals: Annotated[int, Field(ge=4, le=20_000)] | None = Field(
        None,
        title="Evaluations",
        description=f"Coalitions that are tried; empty for what is exact up to {MOST}, fewer for "
        f"prompts over {TOKENS // MOST} tokens. The square of the number of tokens is exact.",
    )
    keep_special: bool = Field(
        False,
        title="Keep special tokens",
        description="Tokens such as <|im_start|> always stay, and their score is 0.",
    )


class ShapPartition(Explainer):
    """Owen values of the tokens.

    Values:
        value, base_value: f with every player there and with none (nats).
        additivity_gap: sum of the scores plus base_value less value, nats.
        evaluations: coalitions tried; exact: whether the whole tree was walked.
        operator, keep_special: as chosen.
    """

    id = "shap_partition"
    title = "SHAP, partition"
    family = "tokens"
    reference = Reference(
        authors="Lundberg, Lee",
        title="A Unified Approach to Interpreting Model Predictions",
        year=2017,
        link="https://arxiv.org/abs/1705.07874",
    )
    how_to_read = (
        "Each token's fair share, in nats, of the difference between the answer's log-probability "
        "with the whole prompt and with none of it. Positive: it speaks for the answer. Negative: "
        "against it. Neighbours that share one score were not told apart: more evaluations would."
    )
    libraries = ("torch", "transformers", "shap")
    uses_seed = True
    Parameters = ShapPartitionParameters

    def explain(
        self, model: Any, input: Any, target: Any, parameters: Any, run: Run
    ) -> TokenExplanation:
        objective = Objective(model, input, target, run)
        special = objective.subject.sequence.special
        players = [p for p in objective.context if not (parameters.keep_special and special[p])]
        most = parameters.max_evals or evaluations(len(players), len(objective.ids))
        game = Game(objective, players, parameters.operator, most)
        shares = game.shares(run.seed)
        scores = np.zeros(len(objective.ids))
        scores[players] = shares
        value, base = game.ends()
        values = {
            "value": value,
            "base_value": base,
            "additivity_gap": float(shares.sum() + base - value),
            "evaluations": len(game.known),
            "exact": game.exact,
            "operator": parameters.operator,
            "keep_special": parameters.keep_special,
        }
        notes = () if game.exact else (_unfinished(len(game.known), len(players)),)
        return objective.explanation(scores, values, notes=notes)


def _unfinished(tried: int, players: int) -> str:
    return (
        f"{tried} coalitions of {players} tokens were tried; inside groups they did not open, the "
        "tokens share one score."
    )


def evaluations(players: int, length: int) -> int:
    """Coalitions that are tried where none are chosen."""
    return min(exact_evaluations(players), max(LEAST, min(MOST, TOKENS // length)))


def exact_evaluations(players: int, contexts: int = 1) -> int:
    """Coalitions of the whole tree: both ends, and two for each group in each context.

    A group k halvings down is seen in 2^k contexts.
    """
    if players < 2:
        return 2
    left = players // 2
    below = sum(exact_evaluations(half, 2 * contexts) - 2 for half in (left, players - left))
    return 2 + 2 * contexts + below


def halves(players: int) -> np.ndarray:
    """A balanced tree over players in a row, [players - 1, 4] as scipy's linkage writes it.

    Row i is node players + i: its two children, its height and the players below it.
    """
    rows: list[tuple[float, float, float, float]] = []

    def node(first: int, stop: int) -> int:
        if stop - first == 1:
            return first
        middle = (first + stop) // 2
        left, right = node(first, middle), node(middle, stop)
        rows.append((left, right, stop - first, stop - first))
        return players + len(rows) - 1

    node(0, players)
    return np.array(rows, dtype=np.float64).reshape(-1, 4)


class Game:
    """The worth of coalitions, each computed once.

    Args:
        players: positions of the tokens that may be removed.
        most: evaluations shap may ask for.
    """

    def __init__(
        self,
        objective: Objective,
        players: list[int],
        operator: Literal["neutral", "key_masking"],
        most: int,
    ) -> None:
        self.objective, self.players, self.operator, self.most = objective, players, operator, most
        self.known: dict[bytes, float] = {}
        self.exact = most >= exact_evaluations(len(players))

    def worth(self, staying: np.ndarray) -> np.ndarray:
        """f of coalitions [B, players] bool, [B] float64."""
        rows = {row.tobytes(): row for row in staying.astype(bool)}
        new = {key: row for key, row in rows.items() if key not in self.known}
        if new:
            removals = [
                tuple(self.players[i] for i in np.flatnonzero(~row)) for row in new.values()
            ]
            found = self.objective.after(
                removals,
                self.operator,
                "trying coalitions",
                before=len(self.known),
                total=max(self.most, len(self.known) + len(new)),
            )
            self.known.update(zip(new, found.sum(axis=1).tolist(), strict=True))
        return np.array([self.known[row.tobytes()] for row in staying.astype(bool)])

    def ends(self) -> tuple[float, float]:
        """f where all players stay, and where none does."""
        count = len(self.players)
        value, base = self.worth(np.array([[True] * count, [False] * count])).tolist()
        return value, base

    def shares(self, seed: int) -> np.ndarray:
        """Owen values of the players, [players] float64."""
        count = len(self.players)
        if count < 2:  # no tree to walk
            value, base = self.ends()
            return np.full(count, value - base)
        from shap.explainers import PartitionExplainer

        explainer = PartitionExplainer(self.worth, _Masker(count))
        with _numpy_seed(seed):
            found = explainer(
                np.ones((1, count)), max_evals=self.most, batch_size=SHAP_BATCH, silent=True
            )
        shares: np.ndarray = found.values[0].astype(np.float64)
        return shares


class _Masker:
    """Hands shap's masks to the game as they are; shap reads these names."""

    immutable_outputs = True

    def __init__(self, players: int) -> None:
        self.shape = (1, players)
        self.clustering = halves(players)

    def __call__(self, mask: np.ndarray, _row: np.ndarray) -> np.ndarray:
        return mask[None].copy()


@contextlib.contextmanager
def _numpy_seed(seed: int) -> Iterator[None]:
    """numpy's global generator seeded, and as it was afterwards: shap breaks ties with it."""
    before = np.random.get_state()  # noqa: NPY002
    np.random.seed(seed)  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(before)  # noqa: NPY002
