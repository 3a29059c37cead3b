"""The adapter: an environment by name, and the agent that comes with it."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy

from backend.bundle import Arrays
from backend.errors import ModelError
from backend.policies.environment import ENVIRONMENTS, OWN, find
from backend.policies.explanation import Network

MODEL_TYPE = "policy"
NOTHING = "none"
"""A weight that stands for no agent: a file of weights is never empty."""


@dataclasses.dataclass(frozen=True, eq=False)
class PolicyModel:
    """An environment, and its agent where one comes with it.

    Attributes:
        environment: id of an environment, or OWN.
        origin: how the agent was trained.
    """

    environment: str
    weights: Arrays
    network: Network | None
    origin: dict[str, Any]


def convert(carrier: Path, folder: Path) -> None:
    """Write config.json and model.safetensors; the folder's name begins with the preset's id."""
    name = folder.name.partition(".")[0].rpartition("-")[0]
    config: dict[str, Any] = {"model_type": MODEL_TYPE, "environment": name}
    weights = {NOTHING: np.zeros(1, dtype=np.float32)}
    if carrier.suffix == ".safetensors":
        with safetensors.safe_open(carrier, framework="numpy") as file:
            config |= json.loads(file.metadata()["agent"])
        weights = safetensors.numpy.load_file(carrier)
    safetensors.numpy.save_file(weights, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")


def load(folder: Path) -> PolicyModel:
    """The adapter of a converted folder.

    Raises:
        ModelError: the folder is of another family.
    """
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    if reason := unsupported(config):
        raise ModelError(reason)
    weights = safetensors.numpy.load_file(folder / "model.safetensors")
    weights.pop(NOTHING, None)
    network = Network.model_validate(config["network"]) if "network" in config else None
    return PolicyModel(config["environment"], weights, network, config.get("origin", {}))


def unsupported(config: dict[str, Any]) -> str | None:
    """Why a model's config is no environment's, or None."""
    if config.get("model_type") != MODEL_TYPE:
        return "This model is no agent; choose an environment, or bring trajectories."
    name = config.get("environment")
    if name != OWN and name not in {environment.id for environment in ENVIRONMENTS}:
        return f"There is no environment '{name}'."
    return None


def environment_title(name: str) -> str:
    """What an experience's environment is called; "" where none is known."""
    return find(name).title if name else ""


def shipped(name: str) -> PolicyModel:
    """The agent that comes with an environment.

    Raises:
        FileNotFoundError: none does.
    """
    file = Path(__file__).parent / "agents" / f"{name}.safetensors"
    with safetensors.safe_open(file, framework="numpy") as opened:
        told = json.loads(opened.metadata()["agent"])
    network = Network.model_validate(told["network"])
    return PolicyModel(name, safetensors.numpy.load_file(file), network, told["origin"])
