"""The errors a person may see; every other exception is a fault of ours."""

from __future__ import annotations

LONGEST_SHOWN = 60
"""Characters."""


def shown(text: str, most: int = LONGEST_SHOWN) -> str:
    """Text of somebody's file or flag as a message may hold it: short, and printable anywhere."""
    short = text if len(text) <= most else f"{text[: most - 1]}…"
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in short)


class VitrineError(Exception):
    """Base of the errors whose text is written for the person who caused them."""


class InputError(VitrineError):
    """Something brought in cannot be used.

    Args:
        what: what is wrong, one sentence.
        where: the place (a file name, row, field), or "" when there is only one.
        todo: what to do next, one sentence.
    """

    def __init__(self, what: str, where: str = "", todo: str = "") -> None:
        self.what, self.where, self.todo = what, where, todo
        super().__init__(
            " ".join(part for part in (f"{where}:" if where else "", what, todo) if part)
        )


class ModelError(VitrineError):
    """A model cannot be found, loaded or served; the text says why and what would work."""


class ModelNotReady(ModelError):
    """The model must be fetched or converted by a worker before a request can be keyed."""


class OutOfMemory(VitrineError):
    """Not even one item of a batch fits; the text says what would."""


class Cancelled(VitrineError):
    """The job was cancelled; raised by `Run.check_cancelled` inside an explainer."""


class Busy(VitrineError):
    """The queue is full."""
