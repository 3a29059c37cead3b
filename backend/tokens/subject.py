"""What an explanation of tokens is about: the sequence, the explained tokens, which scores exist.

Query row i holds what the token at position i takes from each key position j <= i; the token at
position p is predicted by query p - 1.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from backend.errors import InputError
from backend.tokens.explanation import Prompt, Target
from backend.tokens.sequence import Sequence


@dataclasses.dataclass(frozen=True)
class Subject:
    """The tokens as the model reads them, and the positions of those that are explained."""

    sequence: Sequence
    explained: tuple[int, ...]

    @classmethod
    def of(cls, model: Any, input: Prompt, target: Target) -> Subject:
        """Encode prompt and answer.

        Raises:
            InputError: the target has no token ids.
        """
        if not target.ids:
            raise InputError(
                "There is no answer to explain.", "target", "Generate an answer or type one."
            )
        sequence = model.encode(input, target.ids)
        return cls(sequence, sequence.explained(target.span))

    def __len__(self) -> int:
        return len(self.sequence)

    @property
    def queries(self) -> tuple[int, ...]:
        """The query rows that predict the explained tokens."""
        return tuple(p - 1 for p in self.explained)

    def masked(self, reading: np.ndarray) -> np.ndarray:
        """A reading [..., N] with NaN from the first explained token on, float32."""
        result = np.array(reading, dtype=np.float32)
        result[..., self.explained[0] :] = np.nan
        return result

    def scores(self, reading: np.ndarray, *, first: bool, special: bool) -> np.ndarray:
        """The token scores [N] of a reading, NaN from the first explained token on.

        Args:
            first: give position 0 the score 0.
            special: give special tokens the score 0.
        """
        result = self.masked(reading)
        left_out = np.array(self.sequence.special) & special
        left_out[0] |= first
        result[left_out & ~np.isnan(result)] = 0.0
        return result
