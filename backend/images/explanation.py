"""The nouns of the Images family: Photos, ImageTarget, ImageExplanation."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Annotated

import numpy as np
from pydantic import Field

from backend.bundle import Arrays, Bundle
from backend.explanation import Explanation, Frozen
from backend.images.cells import pooled


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Photos(Bundle):
    """Pictures as they are shown: turned upright, on white, eight bits.

    Arrays (of picture i, h × w pixels of its own):
        image/<i>: [h, w, 3] uint8, red, green, blue.
        mask/<i>: [h, w] uint8, optional. 1 where the known object is.

    `names`: a name each. `folders`: the folder each came from, "" where there was none; folders are
    classes. `remarks`: what was done to each on reading, in sentences.
    """

    arrays: Arrays
    names: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    remarks: tuple[tuple[str, ...], ...] = ()
    title: str = ""
    example: str = ""
    """Id of the bundled example, or "" of a person's own."""

    def label(self) -> str:
        return self.title

    def __len__(self) -> int:
        return len(self.names)

    def image(self, number: int) -> np.ndarray:
        """[h, w, 3] uint8.

        Raises:
            IndexError: there is no such picture.
        """
        if not 0 <= number < len(self):
            raise IndexError(f"there is no picture {number}")
        return self.arrays[f"image/{number}"]

    def mask(self, number: int) -> np.ndarray | None:
        """[h, w] uint8, or None where the object is not known."""
        return self.arrays.get(f"mask/{number}")

    def only(self, number: int) -> Photos:
        """The set of one of its pictures."""
        return self.subset([number])

    def subset(self, numbers: Sequence[int]) -> Photos:
        """The set of some of its pictures, in that order."""
        arrays: Arrays = {}
        for new, old in enumerate(numbers):
            arrays[f"image/{new}"] = self.image(old)
            if (mask := self.mask(old)) is not None:
                arrays[f"mask/{new}"] = mask
        return dataclasses.replace(
            self,
            arrays=arrays,
            names=tuple(self.names[i] for i in numbers),
            folders=tuple(self.folders[i] for i in numbers),
            remarks=tuple(self.remarks[i] for i in numbers),
            example="",
        )

    def beside(self, other: Photos) -> Photos:
        """This set with the pictures of another after its own."""
        arrays = dict(self.arrays)
        for name, array in other.arrays.items():
            kind, _, number = name.partition("/")
            arrays[f"{kind}/{int(number) + len(self)}"] = array
        return dataclasses.replace(
            self,
            arrays=arrays,
            names=self.names + other.names,
            folders=self.folders + other.folders,
            remarks=self.remarks + other.remarks,
            example="",
        )

    @classmethod
    def none(cls) -> Photos:
        """The set of no pictures: what is asked of a model alone is asked with it."""
        return cls(arrays={})


class ImageTarget(Frozen):
    """What is explained: which picture, and which class."""

    image: Annotated[int, Field(ge=0)] = 0
    label: Annotated[int, Field(ge=0)] | None = None
    """None is the predicted class."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class ImageExplanation(Explanation):
    """What an explainer found in one picture.

    `values["kind"]` says which of these it is.

    "map": arrays (h × w pixels of the model's input) scores: [h, w] float32, higher speaks for the
        class; seen: [h, w, 3] uint8, the picture as the model saw it; mask: [h, w] uint8, optional.
        Values: see `backend.images.explained`.
    "tcav": what `Tcav` found of the concepts of a set.
    "classes", "mask_bias", "concepts": what `Classify`, `MaskBias` and `DiscoverConcepts` found.
    "score": numbers about a subject.
    "head": a linear head: see `backend.images.fit_head`.
    """

    unit: str = ""
    """What one unit of a score is."""
    signed: bool = False
    """Whether a negative score speaks against the class."""

    def compared(self) -> np.ndarray:
        """[N] float64: means over the cells of a coarse grid; single pixels hang together."""
        return pooled(self.arrays["scores"])
