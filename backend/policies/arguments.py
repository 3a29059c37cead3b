"""The command line of the Policies family: which agent and experience, and which moment of it."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any, get_args

from pydantic import ValidationError

from backend.errors import InputError, shown
from backend.explanation import ModelRef
from backend.files import contents
from backend.policies import inputs, read_agent, trajectories
from backend.policies.columns import Columns, guess
from backend.policies.environment import ENVIRONMENTS, OWN, find
from backend.policies.explanation import Collecting, Experience, PolicyTarget, Training
from backend.settings import Settings

OF_WORLD = {
    "agent": "--agent",
    "actions": "--actions",
    "transitions": "--transitions",
    "collect_seed": "--collect-seed",
    "train_share": "--train-share",
    "train_seed": "--train-seed",
}


def add(parser: argparse.ArgumentParser) -> None:
    """Add the family's own flags."""
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument(
        "--example", metavar="NAME", help=f"one of {', '.join(e.id for e in ENVIRONMENTS)}"
    )
    source.add_argument(
        "--input", metavar="FILE", type=Path, help="a .csv, .tsv, .parquet or .npz of trajectories"
    )
    parser.add_argument("--columns", metavar="JSON", help="which column is what: JSON")
    parser.add_argument(
        "--agent",
        metavar="FILE",
        type=Path,
        help="an agent of one's own: a zip of stable-baselines3, or safetensors",
    )
    modes = get_args(Collecting.model_fields["mode"].annotation)
    parser.add_argument("--actions", choices=modes, help="how transitions are collected")
    parser.add_argument("--transitions", metavar="N", type=int, help="how many are collected")
    parser.add_argument("--collect-seed", metavar="N", type=int, help="seed of the collecting")
    parser.add_argument(
        "--train-share", metavar="X", type=float, help="train an agent: length of the training"
    )
    parser.add_argument(
        "--train-seed", metavar="N", type=int, help="train an agent: seed of the training"
    )
    parser.add_argument("--episode", metavar="N", type=int, help="explain a moment of this episode")
    parser.add_argument("--step", metavar="N", type=int, help="this step of it")
    parser.add_argument(
        "--state", metavar="X[,X]", help="a state of one's own, a number a variable"
    )
    parser.add_argument("--action", metavar="N", type=int, help="explain this action, from 0")
    parser.add_argument("--instead", metavar="N", type=int, help="set it against this action")


def experience(given: argparse.Namespace, settings: Settings) -> Experience:
    """The input of the flags: a table, the file of an agent, or nothing.

    Raises:
        InputError: a file cannot be read, or a flag is for the other kind.
    """
    if given.input is None:
        if given.columns is not None:
            raise InputError("It is about a table.", "--columns", "Give one with --input.")
        if given.agent is None:
            return Experience.none()
        data = contents(given.agent, settings.max_table_mb)
        return read_agent.brought(given.agent.name, data, settings.max_table_mb)
    for name, flag in OF_WORLD.items():
        if getattr(given, name) is not None:
            raise InputError("It is about an environment.", flag, "Give one with --example.")
    frame = inputs.read(given.input.name, contents(given.input, settings.max_table_mb), settings)
    return trajectories.build(frame, columns(given.columns, guess(frame)))


def columns(text: str | None, guessed: Columns) -> Columns:
    """The columns as the flag says, else as guessed.

    Raises:
        InputError: the flag is no such JSON.
    """
    if text is None:
        return guessed
    try:
        return Columns.model_validate(guessed.model_dump() | json.loads(text))
    except (ValueError, TypeError, RecursionError) as error:
        raise InputError(
            "It is no JSON of columns.",
            "--columns",
            'Write such as {"episode": "ep", "action": "a", "states": ["x", "v"]}.',
        ) from error


def model(given: argparse.Namespace) -> ModelRef:
    """The environment, or what stands for a table of one's own.

    Raises:
        InputError: there is no such environment.
    """
    if given.example is None:
        return ModelRef(name=OWN)
    try:
        return ModelRef(name=find(given.example).id)
    except InputError as error:
        raise InputError(error.what, "--example", error.todo) from error


def target(given: argparse.Namespace) -> PolicyTarget:
    """The moment, and how its experience comes to be.

    Raises:
        InputError: a flag's value is out of bounds.
    """
    asked: dict[str, Any] = {
        "episode": given.episode,
        "step": given.step,
        "state": _state(given.state),
        "action": given.action,
        "instead": given.instead,
    }
    if given.example is not None:
        collecting = {
            "mode": given.actions, "transitions": given.transitions, "seed": given.collect_seed,
        }  # fmt: skip
        training = {"share": given.train_share, "seed": given.train_seed}
        asked["collecting"] = {k: v for k, v in collecting.items() if v is not None}
        if given.agent is not None and _given(training):
            raise InputError("This agent is trained already.", "--train-share", "Leave it out.")
        if given.agent is None and (_given(training) or not find(given.example).agent):
            asked["training"] = Training().model_dump() | _given(training)
    try:
        return PolicyTarget.model_validate(asked)
    except ValidationError as error:
        first = error.errors()[0]
        flag = str(first["loc"][-1]).replace("_", "-")
        raise InputError(f"{first['msg']}.", f"--{flag}") from error


def _given(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _state(text: str | None) -> tuple[float, ...] | None:
    if text is None:
        return None
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError as error:
        raise InputError(
            f"'{shown(text)}' is no state.", "--state", "Write numbers with commas between."
        ) from error
