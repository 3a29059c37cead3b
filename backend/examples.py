"""Ready examples: what is the same in every family."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

from backend.errors import InputError


class Named(Protocol):
    """Something with an id."""

    @property
    def id(self) -> str:
        """Its name in flags and lists."""


Entry = TypeVar("Entry", bound=Named)
R = TypeVar("R")


@dataclasses.dataclass(frozen=True)
class Example(Generic[R]):
    """A bundled data set with a recipe for the model that is trained on it, and what to look at."""

    id: str
    title: str
    about: str
    model: str
    """Id of the preset."""
    recipe: R


def find(among: Sequence[Entry], name: str) -> Entry:
    """The example with this id.

    Raises:
        KeyError: there is none; the text lists those there are.
    """
    for entry in among:
        if entry.id == name:
            return entry
    raise KeyError(f"no example '{name}'; there are {', '.join(e.id for e in among)}")


def flagged(example: Callable[[str], Entry], name: str) -> Entry:
    """The example that the flag `--example` names.

    Args:
        example: a family's `find` over its own.

    Raises:
        InputError: there is none.
    """
    try:
        return example(name)
    except KeyError as error:
        raise InputError(f"{error.args[0]}.", "--example") from error
