"""Removing tokens from a prompt: two operators, every distinct removal computed once.

- `key_masking`: later tokens may not attend to a removed token; ids and positions stay.
- `neutral`: a removed token's id is replaced with the model's neutral token. The text that is left
  is unlike anything the model was trained on, which is why no score rests on this operator alone.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from backend.explainer import Run
from backend.tokens import metrics
from backend.tokens.sequence import Sequence as Tokens

if TYPE_CHECKING:
    import torch

Operator = Literal["key_masking", "neutral"]
OPERATORS: tuple[Operator, ...] = get_args(Operator)

TOKENS_PER_BATCH = 4096
ROWS_PER_BATCH = 32

Removal = tuple[Operator, bytes]
"""An operator and which of the n candidates go, as the bytes of a bool [n]."""


@dataclasses.dataclass(frozen=True, eq=False)
class Ranking:
    """The candidates in the order in which they are removed.

    Args:
        scores: [n] as ranked, NaN where a token has none.
        groups: steps of the curves.
    """

    scores: np.ndarray
    groups: int
    order: np.ndarray = dataclasses.field(init=False)
    """[n] candidate indices, most relevant first."""
    counts: np.ndarray = dataclasses.field(init=False)
    """[points] tokens removed along a curve."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", metrics.ranking(self.scores))
        object.__setattr__(self, "counts", metrics.group_counts(len(self.scores), self.groups))

    def without(self, most: int = 0, least: int = 0) -> np.ndarray:
        """Which candidates go when the `most` and the `least` relevant ones do, bool [n]."""
        removed = np.zeros(len(self.order), dtype=bool)
        removed[self.order[:most]] = True
        removed[self.order[len(self.order) - least :]] = True
        return removed

    def morf(self) -> list[np.ndarray]:
        """Removals along the curve that starts with the most relevant tokens."""
        return [self.without(most=count) for count in self.counts.tolist()]

    def lerf(self) -> list[np.ndarray]:
        """Removals along the curve that starts with the least relevant tokens."""
        return [self.without(least=count) for count in self.counts.tolist()]

    def levels(self) -> dict[int, tuple[np.ndarray, np.ndarray]]:
        """Per percentage: the removal of the top tokens, and of all but the top tokens."""
        n = len(self.order)
        tops = {k: metrics.level_count(n, k) for k in metrics.LEVELS}
        return {k: (self.without(most=top), self.without(least=n - top)) for k, top in tops.items()}

    def removals(self) -> list[np.ndarray]:
        """Every removal that some metric needs."""
        pairs = self.levels().values()
        return [*self.morf(), *self.lerf(), *(mask for pair in pairs for mask in pair)]


class Ablations:
    """Summed log-probability of the explained tokens after removals, each removal computed once.

    Args:
        model: the adapter (`backend.tokens.models.DecoderModel`).
        tokens: prompt and answer.
        explained: positions of the explained answer tokens.
    """

    def __init__(self, model: Any, tokens: Tokens, explained: Sequence[int]) -> None:
        self.model, self.tokens, self.explained = model, tokens, list(explained)
        self.candidates = np.array(tokens.candidates(), dtype=np.int64)
        self._known: dict[Removal, float] = {}

    def compute(
        self,
        removals: Iterable[np.ndarray],
        run: Run,
        operators: tuple[Operator, ...] = OPERATORS,
    ) -> int:
        """Compute what is not known yet, for these operators; returns the forward passes made."""
        masks = [mask.tobytes() for mask in removals]
        wanted = dict.fromkeys((operator, mask) for operator in operators for mask in masks)
        missing = [removal for removal in wanted if removal not in self._known]
        size = max(1, min(ROWS_PER_BATCH, TOKENS_PER_BATCH // max(1, len(self.tokens))))

        def forward(batch: Sequence[Removal]) -> list[float]:
            sums = self._forward(batch)
            run.count(forward=len(batch))
            return sums

        sums = run.batches(missing, size, forward, "removing tokens") if missing else []
        self._known.update(zip(missing, sums, strict=True))
        return len(missing)

    def logprob(self, operator: Operator, removed: np.ndarray) -> float:
        """The summed log-probability after a removal that `compute` has seen."""
        return self._known[operator, removed.tobytes()]

    def _forward(self, batch: Sequence[Removal]) -> list[float]:
        import torch

        ids, hidden = self._inputs(batch)
        with torch.no_grad():
            logprobs = self.model.answer_logprobs(ids, self.explained, masked=hidden)
        sums: list[float] = logprobs.detach().double().sum(dim=1).cpu().tolist()
        return sums

    def _inputs(self, batch: Sequence[Removal]) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Ids [B, N] and hidden keys [B, N] bool (None where no row hides any)."""
        import torch

        ids = np.tile(np.array(self.tokens.ids, dtype=np.int64), (len(batch), 1))
        hidden = np.zeros(ids.shape, dtype=bool)
        for row, (operator, mask) in enumerate(batch):
            gone = self.candidates[np.frombuffer(mask, dtype=bool)]
            if operator == "neutral":
                ids[row, gone] = self.model.neutral_id
            else:
                hidden[row, gone] = True
        device = self.model.device
        masked = torch.from_numpy(hidden).to(device) if hidden.any() else None
        return torch.from_numpy(ids).to(device), masked
