"""The skeleton of the methods that read one forward pass layer by layer.

1. Choose the query rows: all while their matrices are small or the reading needs them, else those
   that predict the explained tokens.
2. Per layer, as the pass goes on: a token matrix [Q, N] becomes readings; each head's matrices are
   kept within the budget; where layers are chained, the layer's mixing matrix joins the product.
3. After the last layer: the chosen reading's mean over layers is the score.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field, model_validator

from backend.bundle import Arrays
from backend.errors import InputError
from backend.explainer import Run
from backend.explanation import Frozen
from backend.tokens.explanation import Prompt, Target, TokenExplanation
from backend.tokens.matrices import Keep, Matrices
from backend.tokens.readings import Chain, Reading, Readings, stochastic
from backend.tokens.subject import Subject

if TYPE_CHECKING:
    from torch import Tensor

    from backend.tokens.capture import LayerParts

Layer = Annotated[int, Field(ge=1, le=1000)]


class RowParameters(Frozen):
    """Which tokens count, and which matrices are kept."""

    exclude_first: bool = Field(
        False,
        title="Leave out the first token",
        description="Many models park attention on position 0; its score becomes 0.",
    )
    exclude_special: bool = Field(
        False,
        title="Leave out special tokens",
        description="Scores of tokens such as <|im_start|> become 0.",
    )
    matrices: Keep = Field(
        "auto",
        title="Keep matrices",
        description="`auto` keeps each head's matrix for all query rows while they are small, "
        "else for the rows of the explained tokens; `all` insists; `none` keeps scores only.",
    )

    def layers(self, count: int) -> slice:
        """Indices of the layers that count, of `count`."""
        return slice(0, count)


class LayerParameters(RowParameters):
    """The same, and which layers count."""

    layer_from: Layer = Field(1, title="First layer", description="First layer that counts.")
    layer_to: Layer | None = Field(
        None, title="Last layer", description="Last layer that counts; empty for the model's last."
    )

    @model_validator(mode="after")
    def _ordered(self) -> LayerParameters:
        if self.layer_to is not None and self.layer_to < self.layer_from:
            raise ValueError(f"layer_to is {self.layer_to}, before layer_from {self.layer_from}")
        return self

    def layers(self, count: int) -> slice:
        """Indices of the layers that count, of `count`.

        Raises:
            InputError: the model has fewer layers.
        """
        highest = max(self.layer_to or 1, self.layer_from)
        if highest > count:
            raise InputError(
                f"Layer {highest} was asked for, the model has {count} layers.",
                "layer_to" if self.layer_to == highest else "layer_from",
                f"Choose layers from 1 to {count}.",
            )
        return slice(self.layer_from - 1, self.layer_to or count)


class Flow(ABC):
    """One explanation in the making, fed layer by layer.

    Args:
        reading: which reading becomes the scores.
    """

    names: ClassVar[tuple[str, ...]] = ("attention",)
    """The per-head matrices that `matrix` keeps."""
    chained: ClassVar[bool] = False
    """Whether `mixing` gives matrices to multiply."""

    def __init__(
        self, model: Any, input: Prompt, target: Target, parameters: RowParameters, reading: Reading
    ) -> None:
        self.model, self.parameters, self.reading = model, parameters, reading
        self.subject = Subject.of(model, input, target)
        self.layers = parameters.layers(model.layers)
        self.kept = Matrices.of(self.subject, model, parameters.matrices, self.names)
        every = tuple(range(len(self.subject)))
        self.whole = reading in ("received", "rollout") or self.kept.rows == every
        self.rows = every if self.whole else self.subject.queries
        self.readings = Readings(model.layers, len(every), self.subject.queries)
        self.chain = Chain()
        # A chain costs as much as the matrices: unasked it is made for short inputs only.
        self.chains = reading == "rollout" or (
            self.chained and self.whole and self.kept.within_budget
        )

    @abstractmethod
    def matrix(self, parts: LayerParts, *, keep: bool) -> Tensor:
        """The token matrix [Q, N] of the rows in `parts`; with `keep`, keep the heads' too."""

    def mixing(self, parts: LayerParts, matrix: Tensor) -> Tensor:
        """The layer's [N, N] step of the chain, non-negative; `matrix` is its token matrix."""
        return matrix

    def read(self, run: Run) -> None:
        """Run the model once and take in every layer."""
        from backend.tokens import capture

        queries = None if self.whole else self.rows
        capture.capture(self.model, self.subject.sequence.ids, self.each, queries, run)

    def each(self, parts: LayerParts) -> None:
        """Take in one layer."""
        from backend.tokens.contributions import at_rows

        keep_all = self.kept.rows == self.rows
        matrix = self.matrix(parts, keep=keep_all)
        self.readings.add(parts.index, matrix.cpu().numpy(), self.rows)
        if self.kept.rows and not keep_all:
            self.matrix(at_rows(parts, self.kept.rows), keep=True)
        if self.chains and self.layers.start <= parts.index < self.layers.stop:
            self.chain.add(stochastic(self.mixing(parts, matrix).cpu().numpy()))

    def explanation(
        self,
        unit: str,
        *,
        signed: bool,
        arrays: Arrays | None = None,
        values: dict[str, Any] | None = None,
        notes: tuple[str, ...] = (),
    ) -> TokenExplanation:
        """The result after the last layer.

        `values["left_out"]` is the part of the chosen reading that no score shows: it lies on
        tokens the parameters leave out, and on the answer from the first explained token on.
        """
        readings = self.readings.means(self.layers)
        if self.chains:
            readings["rollout"] = self.chain.mean_row(self.subject.queries)
        chosen = readings[self.reading]
        leave = self.parameters
        scores = self.subject.scores(
            chosen, first=leave.exclude_first, special=leave.exclude_special
        )
        shown = float(scores[: self.subject.explained[0]].sum(dtype="float64"))
        by_layer = self.readings.by_layer
        return TokenExplanation(
            arrays={
                "scores": scores,
                **{f"readings/{name}": self.subject.masked(r) for name, r in readings.items()},
                "layer_tokens": self.subject.masked(by_layer.get(self.reading, by_layer["span"])),
                **self.kept.arrays,
                **(arrays or {}),
            },
            values={
                "queries": list(self.kept.rows),
                "reading": self.reading,
                "left_out": float(chosen.sum(dtype="float64")) - shown,
                **(values or {}),
            },
            notes=(*self.kept.notes, *self._notes(), *notes),
            sequence=self.subject.sequence,
            explained=self.subject.explained,
            unit=unit,
            signed=signed,
        )

    def _notes(self) -> tuple[str, ...]:
        missing = [] if self.whole else ["received"]
        if self.chained and not self.chains:
            missing.append("rollout")
        if not missing:
            return ()
        names = " and ".join(f"`{name}`" for name in missing)
        return (f"Readings computed at this length only when chosen: {names}.",)
