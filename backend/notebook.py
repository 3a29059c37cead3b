"""`from backend import explain`: an explanation in a notebook, shown there as its card.

The same requests, numbers and store as the command line's: what a page has computed is there.
"""

from __future__ import annotations

import atexit
import functools
import os
from collections.abc import Mapping
from typing import Any

from backend import consensus, files
from backend.cli import parser
from backend.commands import work
from backend.commands.desk import FAMILIES, desk
from backend.commands.explain import drawing
from backend.engine.engine import Engine
from backend.errors import InputError
from backend.explanation import CARDS, Explanation
from backend.figures import Figures
from backend.settings import settings


def explain(
    family: str,
    explainer: str,
    *,
    parameters: Mapping[str, Any] | None = None,
    **choices: Any,
) -> Explanation:
    """Explain one input by one explainer.

    At the end of a notebook's cell the explanation is shown as its card: figure, numbers, where it
    came from, and the command that makes it again. It needs no server and no network.

    Args:
        family: "tokens", "graphs" or "concepts".
        explainer: its id; `python -m backend list` prints them. A consensus is named with those
            it is of: "saliency,edge_occlusion,consensus".
        parameters: the explainer's, by name.
        choices: flags of `python -m backend explain`, with underscores for dashes:
            `example="mutag"`, `graph=3`, `text="The capital of"`, `no_chat=True`.

    Returns:
        The explanation, with `arrays`, `values`, `notes` and `provenance`.

    Raises:
        InputError: there is no such family, explainer, flag or input; the text says what to do.
        VitrineError: the model cannot be had, or the job failed.
    """
    if family not in FAMILIES:
        raise InputError(f"There is no family '{family}'.", "", f"Use {', '.join(FAMILIES)}.")
    words = ["explain", family, "--explainer", explainer, "--out", os.devnull]
    given = parser().parse_args([*words, *_flags(choices), *files.settings(parameters or {})])
    options = work.with_folder(settings(), given.model)
    engine = _engine(options.model_dump_json())
    asked = desk(family)
    comparison = asked.comparison(given, engine)
    requests = asked.requests(engine, comparison)
    shown = [one for one in requests if one.explainer == consensus.ID] or requests
    if len(shown) != 1:
        raise InputError("One explainer is shown at a time.", "explainer", "Name one.")
    [(_, found)] = work.finish(engine, shown)
    picture = drawing(found, engine, Figures())
    CARDS[found] = asked.files(found, comparison, engine, picture)["card.html"].decode()
    return found


@functools.lru_cache(maxsize=1)
def _engine(options: str) -> Engine:
    """The engine of this process, until the settings change."""
    engine = Engine(type(settings()).model_validate_json(options))
    atexit.register(engine.close)
    return engine


def _flags(choices: Mapping[str, Any]) -> list[str]:
    """Keyword arguments as words of a command line; None and False are left out."""
    words = []
    for name, value in choices.items():
        flag = f"--{name.replace('_', '-')}"
        if value is None or value is False:
            continue
        if value is True:
            words.append(flag)
        elif isinstance(value, list | tuple):
            words.append(f"{flag}={','.join(map(str, value))}")
        else:
            words.append(f"{flag}={value}")
    return words
