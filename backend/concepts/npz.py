"""NumPy archives as a frame: named arrays, read without pickle and without trusting their sizes."""

from __future__ import annotations

import numpy as np

from backend.errors import InputError, shown
from backend.names import apart, listed
from backend.settings import Settings
from backend.tables.archive import arrays
from backend.tables.frame import Frame, Role, checked_size

NAMES: dict[str, tuple[str, ...]] = {
    "logits": ("logits", "concept_logits", "c_logits"),
    "probabilities": ("probabilities", "probs", "concept_probabilities", "c_prob", "c_pred"),
    "concepts": ("concepts", "true_concepts", "c_true", "c", "attributes"),
    "task_logits": ("task_logits", "class_logits", "y_logits"),
    "labels": ("labels", "label", "y", "y_true", "targets", "target"),
    "predictions": ("predictions", "prediction", "y_pred", "y_hat", "pred"),
    "groups": ("groups", "group"),
    "references": ("references", "reference", "paths", "files", "ids"),
    "concept_names": ("concept_names", "attribute_names"),
    "class_names": ("class_names", "classes"),
    "group_names": ("group_names",),
}
_SIDES: dict[str, Role] = {"logits": "logit", "probabilities": "probability", "concepts": "truth"}
_SINGLES: dict[str, Role] = {
    "labels": "label",
    "predictions": "prediction",
    "groups": "group",
    "references": "reference",
}


def read(name: str, data: bytes, settings: Settings) -> Frame:
    """The table of an .npz file.

    Its arrays: `logits` or `probabilities` [n, k], `concepts` [n, k], `labels` [n], `predictions`
    [n] or `task_logits` [n, m]; optional `groups`, `references`, `concept_names`, `class_names`,
    `group_names`, `images` [n, height, width, 3] uint8, `embedding` [n, e], head/<i>/weight and
    head/<i>/bias. Other arrays of n are columns under their own names.

    Raises:
        InputError: it is broken or too large, or its arrays do not fit one another.
    """
    return _Archive(name, arrays(name, data, settings), settings).frame()


class _Archive:
    """The arrays of one archive on their way into columns."""

    def __init__(self, name: str, found: dict[str, np.ndarray], settings: Settings) -> None:
        self.name, self.settings = name, settings
        self.given: dict[str, np.ndarray] = {}
        for noun, aliases in NAMES.items():
            alias = next((a for a in aliases if a in found), None)
            if alias is not None:
                self.given[noun] = found.pop(alias)
        self.rest = found
        self.columns: dict[str, np.ndarray] = {}
        self.roles: dict[str, tuple[Role, str]] = {}
        self.notes: list[str] = []

    def frame(self) -> Frame:
        missing = [noun for noun in ("concepts", "labels") if noun not in self.given]
        if "logits" not in self.given and "probabilities" not in self.given:
            missing.insert(0, "logits")
        if missing:
            raise InputError(
                f"There is no array {listed(missing)}.",
                self.name,
                f"Save it under that name; there is {listed(list(self.rest) or ['no other'])}.",
            )
        self.n = len(self._of("labels", 1))
        concepts = self._names("concept_names", self._of("concepts", 2).shape[1])
        wide = sum(self.given[s].shape[1] for s in self.given if self.given[s].ndim == 2)
        checked_size(self.name, self.n, wide, self.settings.max_samples, self.settings.max_columns)
        for noun, role in _SIDES.items():
            if noun in self.given:
                self._spread(noun, role, concepts)
        if "task_logits" in self.given:
            scores = self._of("task_logits", 2)
            self._spread("task_logits", "class", self._names("class_names", scores.shape[1]))
        for noun, role in _SINGLES.items():
            if noun in self.given:
                self.columns[noun] = self._cells(self._of(noun, 1))
                self.roles[noun] = (role, "")
        return Frame(
            self.name,
            self.columns,
            self.roles,
            self._words("class_names"),
            self._words("group_names"),
            self._others(),
            tuple(self.notes),
        )

    def _of(self, noun: str, axes: int) -> np.ndarray:
        """The array of a noun, checked to have this many axes and n rows."""
        array = self.given[noun]
        if array.ndim == 2 and axes == 1 and array.shape[1] == 1:
            array = array[:, 0]
        n = getattr(self, "n", len(array) if array.ndim else 0)
        if array.ndim != axes or len(array) != n or not array.size:
            wanted = "(samples, columns)" if axes == 2 else "(samples)"
            raise InputError(
                f"'{noun}' has the shape {array.shape}; {wanted} with {n:,} samples is needed.",
                self.name,
                "Save it with one row a sample.",
            )
        return array

    def _spread(self, noun: str, role: Role, names: list[str]) -> None:
        array = self._of(noun, 2)
        if array.shape[1] != len(names) or array.dtype.kind in "US":
            raise InputError(
                f"'{noun}' has {array.shape[1]} columns of {array.dtype}; numbers for "
                f"{len(names)} names are needed.",
                self.name,
                "Save one column a concept or class, in the same order.",
            )
        for column, name in zip(array.T, names, strict=True):
            key = f"{role}_{name}"
            self.columns[key] = column.astype(np.float64)
            self.roles[key] = (role, name)

    def _names(self, noun: str, count: int) -> list[str]:
        words = self._words(noun)
        if not words:
            stem = "" if noun == "class_names" else "concept "
            return [f"{stem}{i}" for i in range(count)]
        if len(words) != count:
            raise InputError(
                f"'{noun}' has {len(words)} names for {count} columns.", self.name, "Name each."
            )
        return list(words)

    def _words(self, noun: str) -> tuple[str, ...]:
        words = self.given.get(noun)
        if words is None:
            return ()
        cells = self._cells(words.ravel()).tolist()
        names, doubled = apart(f"{c:.15g}" if isinstance(c, float) else c for c in cells)
        if doubled:
            self.notes.append(f"Equal names are kept apart by a number: {listed(doubled)}.")
        return tuple(names)

    @staticmethod
    def _cells(array: np.ndarray) -> np.ndarray:
        if array.dtype.kind in "biuf":
            return array.astype(np.float64)
        words = [w.decode("utf-8", "replace") if isinstance(w, bytes) else str(w) for w in array]
        return np.array([word.strip() for word in words], dtype=object)

    def _others(self) -> dict[str, np.ndarray]:
        """The arrays a table holds beside its columns; plain columns of n are added to those."""
        kept: dict[str, np.ndarray] = {}
        for key, array in self.rest.items():
            rows = array.ndim > 0 and len(array) == self.n
            real = array.dtype.kind == "f"
            if key == "images" and rows and array.dtype == np.uint8 and array.shape[3:] == (3,):
                kept[key] = array
            elif real and (key.startswith("head/") or (key == "embedding" and rows)):
                kept[key] = array.astype(np.float32)
            elif rows and array.ndim == 1 and key not in self.columns:
                self.columns[key] = self._cells(array)
            else:
                self.notes.append(f"The array '{shown(key)}' is not read.")
        return kept
