"""What gradients and removals explain: the summed log-probability of the explained tokens.

    f = Σ_{p explained} log p(token p | tokens before p)        in nats, float32

f is a function of the tokens before the first explained one (the context): their embeddings, or
which of them are there. The explained tokens themselves stay as they are (teacher forcing), so one
backward pass, or one forward pass a removal, explains the whole span.

Removal operators:
- `neutral`: a removed token's id becomes the model's neutral token (padding or end of text).
- `key_masking`: later tokens may not attend to a removed token; ids and positions stay.
- `delete`: the token is taken out of the sequence; what follows moves up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from backend.bundle import Arrays
from backend.errors import InputError, ModelError
from backend.explainer import Run
from backend.tokens.explanation import Prompt, Target, TokenExplanation
from backend.tokens.sequence import Level
from backend.tokens.subject import Subject

if TYPE_CHECKING:
    import torch
    from torch import Tensor

UNIT = "log-prob (nats)"
Operator = Literal["neutral", "key_masking", "delete"]
Removal = tuple[int, ...]
"""Positions that are removed together."""

TOKENS_PER_BATCH = 4096
ROWS_PER_BATCH = 32


def gradients_unsupported(config: dict[str, Any]) -> str | None:
    """Why gradients of a model with this config.json cannot be had, one sentence, or None."""
    if config.get("quantization_config"):
        return "The weights are quantised, and gradients need plain ones; choose the original."
    return None


class Objective:
    """f for one model, prompt and answer.

    Args:
        model: the adapter (`backend.tokens.models.DecoderModel`).

    Raises:
        InputError: the target has no token ids.
    """

    def __init__(self, model: Any, input: Prompt, target: Target, run: Run) -> None:
        self.model, self.run = model, run
        self.subject = Subject.of(model, input, target)
        self.ids = self.subject.sequence.ids
        self.context = range(self.subject.explained[0])
        """Positions that vary: all before the first explained token."""

    def of_embeddings(self, embeds: Tensor) -> Tensor:
        """f [B] float32 of embeddings [B, N, d] of any precision; gradients flow."""
        ids = self._rows([self.ids] * len(embeds))
        logprobs: Tensor = self.model.answer_logprobs(
            ids, self.subject.explained, embeds=embeds.to(self.model.dtype)
        )
        return logprobs.sum(dim=1)

    def gradient(self, what: str) -> tuple[float, Tensor, Tensor]:
        """f, its gradient at the embeddings [N, d] and the embeddings [N, d], both float32.

        The gradient is zero from the last explained token on.

        Raises:
            ModelError: f or its gradient is not finite.
        """
        import torch

        embeds = self.model.embeddings(self.ids).detach().float()

        def once(_: Sequence[int]) -> list[tuple[float, Tensor]]:
            with torch.enable_grad():
                leaf = embeds[None].clone().requires_grad_(True)
                value = self.of_embeddings(leaf)
                (gradient,) = torch.autograd.grad(value.sum(), leaf)
            self.run.count(forward=1, backward=1)
            return [(float(value.detach()), gradient[0])]

        ((value, gradient),) = self.run.batches([0], 1, once, what)
        self.finite(np.array(value), "log-probabilities")
        self.finite(gradient.cpu().numpy(), "gradients")
        return value, gradient, embeds

    def after(
        self,
        removals: Sequence[Removal],
        operator: Operator,
        what: str,
        *,
        before: int = 0,
        total: int = 0,
    ) -> np.ndarray:
        """Log-probability of each explained token after each removal, [removals, S] float64.

        Args:
            before, total: progress, where these removals are a part of `total`.

        Raises:
            InputError: a deletion leaves nothing before the first explained token.
            ModelError: a log-probability is not finite.
        """
        size = max(1, min(ROWS_PER_BATCH, TOKENS_PER_BATCH // len(self.ids)))

        def forward(batch: Sequence[Removal]) -> list[np.ndarray]:
            rows = self._deleted(batch) if operator == "delete" else self._kept(batch, operator)
            self.run.count(forward=len(batch))
            return rows

        found = self.run.batches(list(removals), size, forward, what, before=before, total=total)
        return self.finite(np.array(found).reshape(len(found), -1), "log-probabilities")

    def drops(self, groups: Sequence[Removal], operator: Operator, what: str) -> Drops:
        """What each group's removal takes from f, shared equally by the group's tokens.

        Args:
            groups: disjoint groups of context positions.
        """
        logprobs = self.after([(), *groups], operator, what)
        by_answer = np.full((logprobs.shape[1], len(self.ids)), np.nan)
        for group, drop in zip(groups, logprobs[0] - logprobs[1:], strict=True):
            by_answer[:, list(group)] = drop[:, None] / len(group)
        return Drops(self, logprobs[0], by_answer)

    def groups(self, level: Level) -> tuple[Removal, ...]:
        """The context's tokens, words or sentences as groups of positions that cover it once."""
        if level == "token":
            return tuple((position,) for position in self.context)
        stop = len(self.context)
        units = self.subject.sequence.units(level)
        return tuple(
            tuple(range(unit.start, min(unit.stop, stop))) for unit in units if unit.start < stop
        )

    def explanation(
        self,
        scores: np.ndarray,
        values: dict[str, Any],
        *,
        arrays: Arrays | None = None,
        unit: str = UNIT,
        signed: bool = True,
        notes: tuple[str, ...] = (),
    ) -> TokenExplanation:
        """The result: scores [N], NaN from the first explained token on.

        Raises:
            ModelError: a score of the context is not finite.
        """
        self.finite(scores[: len(self.context)], "scores")
        return TokenExplanation(
            arrays={"scores": self.subject.masked(scores), **(arrays or {})},
            values=values,
            notes=notes,
            sequence=self.subject.sequence,
            explained=self.subject.explained,
            unit=unit,
            signed=signed,
        )

    def finite(self, found: np.ndarray, name: str) -> np.ndarray:
        """`found` as it is.

        Raises:
            ModelError: it holds a NaN or an infinity.
        """
        if not np.isfinite(found).all():
            dtype = str(self.model.dtype).removeprefix("torch.")
            better = "float32" if dtype == "bfloat16" else "float32 or bfloat16"
            raise ModelError(f"The {name} are not finite in {dtype}; choose {better} precision.")
        return found

    def _rows(self, ids: Sequence[Sequence[int]]) -> torch.Tensor:
        import torch

        return torch.tensor(ids, dtype=torch.long, device=self.model.device)

    def _logprobs(self, ids: Tensor, answer: Sequence[int], masked: Tensor | None) -> np.ndarray:
        import torch

        with torch.no_grad():
            found = self.model.answer_logprobs(ids, answer, masked=masked)
        rows: np.ndarray = found.double().cpu().numpy()
        return rows

    def _kept(self, batch: Sequence[Removal], operator: Operator) -> list[np.ndarray]:
        """Log-probabilities where removed tokens keep their place."""
        import torch

        ids = np.tile(np.array(self.ids, dtype=np.int64), (len(batch), 1))
        hidden = np.zeros(ids.shape, dtype=bool)
        for row, removal in enumerate(batch):
            hidden[row, list(removal)] = True
        if operator == "neutral":
            ids[hidden] = self.model.neutral_id
            return list(self._logprobs(self._rows(ids.tolist()), self.subject.explained, None))
        masked = torch.from_numpy(hidden).to(self.model.device)
        return list(self._logprobs(self._rows(ids.tolist()), self.subject.explained, masked))

    def _deleted(self, batch: Sequence[Removal]) -> list[np.ndarray]:
        """Log-probabilities of shorter sequences; those of one length are one pass."""
        found: list[np.ndarray] = [np.empty(0)] * len(batch)
        for count in sorted({len(removal) for removal in batch}):
            if count == len(self.context):
                raise InputError(
                    "Deleting these tokens leaves nothing before the answer.",
                    "operator",
                    "Choose the operator `neutral`, or a finer level.",
                )
            rows = [row for row, removal in enumerate(batch) if len(removal) == count]
            ids = [[t for p, t in enumerate(self.ids) if p not in set(batch[row])] for row in rows]
            answer = [p - count for p in self.subject.explained]
            for row, logprobs in zip(
                rows, self._logprobs(self._rows(ids), answer, None), strict=True
            ):
                found[row] = logprobs
        return found


class Drops:
    """What removals take from the explained tokens' log-probabilities.

    Args:
        full: [S] log-probabilities with nothing removed.
        by_answer: [S, N], NaN outside the context.
    """

    def __init__(self, objective: Objective, full: np.ndarray, by_answer: np.ndarray) -> None:
        self.objective, self.full, self.by_answer = objective, full, by_answer

    def explanation(self, values: dict[str, Any]) -> TokenExplanation:
        """The result: `scores` [N] is the sum of `by_answer` [S, N] over the explained tokens."""
        return self.objective.explanation(
            self.by_answer.sum(axis=0),
            {"value": float(self.full.sum()), **values},
            arrays={"by_answer": self.by_answer.astype(np.float32)},
        )
