"""What the command line asks of a family: its flags, its requests, its files, its scores."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable
from typing import Any, Protocol, cast

from backend.engine.engine import Engine
from backend.explanation import Comparison, Explanation, Request
from backend.settings import Settings
from backend.study import Studied

Picture = Callable[[str], bytes]
"""A format -> the explanation's figure in it."""

FAMILIES = ("tokens", "graphs", "concepts", "images", "policies")
"""The families that have a desk; `list` names all families."""
STUDIED = ("tokens", "graphs", "concepts", "images")
"""Those of them that can compare explainers over many inputs."""


class Desk(Protocol):
    """One family's side of `explain` and `score`; each is a module of its own."""

    def add_explain(self, parser: argparse.ArgumentParser) -> None:
        """Add the flags that say what is explained."""

    def add_score(self, parser: argparse.ArgumentParser) -> None:
        """Add the flags of `score`."""

    def comparison(self, given: argparse.Namespace, engine: Engine) -> Comparison:
        """What the flags describe, its input stored.

        Raises:
            InputError: a flag names nothing there is, or an input cannot be used.
        """

    def requests(self, engine: Engine, comparison: Comparison) -> tuple[Request, ...]:
        """One request a chosen explainer; what they stand on is computed first."""

    def files(
        self, explanation: Explanation, comparison: Comparison, engine: Engine, picture: Picture
    ) -> dict[str, bytes]:
        """The files of one explanation by name, but for its figures."""

    def score(self, given: argparse.Namespace, settings: Settings) -> dict[str, Any]:
        """Compute and return what `score --json` prints; what is not defined is null."""

    def table(self, outcome: dict[str, Any]) -> str:
        """What `score` found, for people."""


class StudyDesk(Desk, Protocol):
    """One family's side of `study`; those in STUDIED have it."""

    def add_study(self, parser: argparse.ArgumentParser) -> None:
        """Add the flags that say what is studied."""

    def study(self, given: argparse.Namespace, engine: Engine) -> Studied:
        """The study that the flags describe; what it stands on is computed first."""


def desk(family: str) -> Desk:
    """The desk of a family; its module is imported when it is needed."""
    found: Desk = importlib.import_module(f"backend.commands.{family}").Desk()
    return found


def study_desk(family: str) -> StudyDesk:
    """The desk of a family in STUDIED."""
    return cast(StudyDesk, desk(family))
