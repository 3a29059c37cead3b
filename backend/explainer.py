"""The verb: what an explainer declares and does, and the run it is given.

A module that defines an explainer is also read by the app, which has no torch: torch and the
libraries built on it are imported inside `explain`, or in modules only `explain` imports.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, TypeVar

from pydantic import BaseModel

from backend.bundle import Bundle
from backend.explanation import Explanation, Frozen, ModelRef

if TYPE_CHECKING:
    import numpy as np
    import torch

T = TypeVar("T")
Progress = Callable[[float, float, str], None]
"""(done, total, what); raises Cancelled where the job was cancelled."""


class Reference(Frozen):
    """The paper a method comes from."""

    authors: str
    title: str
    year: int
    link: str


class NoParameters(Frozen):
    """The parameters of an explainer that has none."""


class Run(Protocol):
    """What the engine gives an explainer for one job."""

    device: str
    dtype: str
    seed: int
    subject: Explanation | None
    """The explanation this request is about, or None."""
    members: Sequence[Explanation]
    """The explanations this request brings together."""

    def torch_generator(self) -> torch.Generator:
        """A new generator on the CPU, seeded with the request's seed."""

    def numpy_generator(self) -> np.random.Generator:
        """A new generator, seeded with the request's seed."""

    def progress(self, done: float, total: float, what: str) -> None:
        """Report progress; raises Cancelled where the job was cancelled."""

    def check_cancelled(self) -> None:
        """Raise Cancelled if the job was cancelled."""

    def warn(self, message: str) -> None:
        """Put a sentence into the provenance's warnings."""

    def count(self, forward: int = 0, backward: int = 0) -> None:
        """Count passes of the model: a batch of n sequences is n passes."""

    def batches(
        self,
        items: Sequence[T],
        size: int,
        work: Callable[[Sequence[T]], Sequence[Any]],
        what: str = "",
        *,
        before: int = 0,
        total: int = 0,
    ) -> list[Any]:
        """Apply `work` to slices of at most `size` items and join what it returns.

        Out of memory halves the size and goes on, noted in the provenance. Reports progress: these
        items alone, or where they are a part of a longer work, after `before` items of `total`.

        Raises:
            OutOfMemory: one item alone does not fit.
        """


class Explainer(ABC):
    """One method. Its class attributes are drawn by the page, the command line and the docs."""

    id: ClassVar[str]
    title: ClassVar[str]
    family: ClassVar[str]
    role: ClassVar[Literal["attribution", "slicing", "view", "preparation", "score"]] = (
        "attribution"
    )
    reference: ClassVar[Reference | None] = None
    reconstruction: ClassVar[bool] = False
    how_to_read: ClassVar[str] = ""
    libraries: ClassVar[tuple[str, ...]] = ("torch", "transformers")
    """Distributions whose versions go into the key."""
    uses_seed: ClassVar[bool] = False
    control: ClassVar[bool] = False
    """Whether it knows nothing, as random scores do: something to beat, not an opinion."""
    Parameters: ClassVar[type[BaseModel]] = NoParameters

    def supports(self, config: dict[str, Any], input: Bundle) -> str | None:
        """Why this model (its config.json) or input cannot be explained, or None."""
        return None

    @abstractmethod
    def explain(
        self, model: Any, input: Any, target: Any, parameters: Any, run: Run
    ) -> Explanation:
        """Compute the explanation; `provenance` stays None.

        Args:
            model: the family's adapter, from `Family.load`.
            input: a `Family.Input`.
            target: a `Family.Target`.
            parameters: an instance of `self.Parameters`.
        """


class Preset(Frozen):
    """A bundled model: a file inside an installed carrier package."""

    id: str
    title: str
    package: str
    """Import name of the carrier."""
    file: str
    """Path of the weights inside the carrier."""
    distribution: str
    """What to install: `name==version`."""
    licence: str
    note: str = ""
    beside: tuple[str, ...] = ()
    """Paths of other files of the carrier that decide what the model computes."""


@dataclasses.dataclass(frozen=True)
class Family:
    """One explainer family: all that the engine, the pages and the command line ask of it."""

    id: str
    title: str
    summary: str
    explainers: tuple[type[Explainer], ...]
    steps: tuple[type[Explainer], ...]
    """Preparations and scores: keyed, cached and run like explainers, not offered as such."""
    presets: tuple[Preset, ...]
    Input: type[Bundle]
    Target: type[BaseModel]
    Explanation: type[Explanation]
    load: Callable[[Path, ModelRef, str], Any]
    """(folder with config and safetensors, reference, device) -> adapter. Imports torch inside."""
    convert: Callable[[Path, Path, Progress], None]
    """(carrier file, empty folder, progress): write the preset as config, tokenizer, safetensors.

    One that takes long, as training does, calls progress often; what that raises ends it.
    """
    unsupported: Callable[[dict[str, Any]], str | None]
    """config.json -> why the adapter cannot serve it, or None."""
    default: tuple[str, ...] = ()
    """Explainers a page and the command line start with."""

    def find(self, explainer: str) -> Explainer:
        """The explainer or step with this id.

        Raises:
            KeyError: there is none; the text lists those there are.
        """
        known = {cls.id: cls for cls in (*self.explainers, *self.steps)}
        if explainer not in known:
            raise KeyError(
                f"{self.id} has no explainer '{explainer}'; it has {', '.join(sorted(known))}"
            )
        return known[explainer]()
