"""A person's own agent: weights out of safetensors, or out of a zip of stable-baselines3.

Nothing in the file is run: of a zip only `policy.pth` is read, with weights alone, and of the words
in `data` only the names of activations; whatever is serialised there stays unread.
"""

from __future__ import annotations

import dataclasses
import io
import json
import re
import zipfile
from typing import Any

import numpy as np

from backend.bundle import Arrays
from backend.errors import InputError
from backend.explainer import Explainer, Run
from backend.policies.agent import checked
from backend.policies.collected import explanation
from backend.policies.environment import OWN, find
from backend.policies.explanation import (
    PREFIX,
    Experience,
    Network,
    PolicyExplanation,
    PolicyTarget,
)

UPLOAD = "upload"
"""Name of the file's bytes among the arrays of an experience that brings an agent."""
MOST_UNPACKED = 200_000_000
"""Bytes."""
LONGEST_WORDS = 10_000_000
_BROKEN = (zipfile.BadZipFile, OSError, EOFError, ValueError, KeyError, RuntimeError, TypeError,
           AttributeError, RecursionError, MemoryError, NotImplementedError)  # fmt: skip
_LAYERS = {
    "ppo": (r"mlp_extractor\.policy_net\.(\d+)\.(weight|bias)", r"action_net\.(weight|bias)"),
    "dqn": (r"q_net\.q_net\.(\d+)\.(weight|bias)", ""),
}


def brought(name: str, data: bytes, most_mb: float) -> Experience:
    """A file with an agent as an input: read by a worker, which has torch.

    Raises:
        InputError: it is of no kind that is read, or too large.
    """
    if not name.lower().endswith((".zip", ".safetensors")):
        raise InputError(
            "This is no file of an agent.",
            name,
            "Bring a .zip that stable-baselines3 saved, or weights as .safetensors.",
        )
    if len(data) > most_mb * 1e6:
        raise InputError(f"The file has more than {most_mb:g} MB.", name)
    return Experience(arrays={UPLOAD: np.frombuffer(data, dtype=np.uint8)}, title=name)


class ReadAgent(Explainer):
    """Reads the agent of an uploaded file, for the environment that was chosen.

    Result: kind "experience", of no transitions, with the agent's weights.
    """

    id = "read_agent"
    title = "Read an agent"
    family = "policies"
    role = "preparation"
    how_to_read = "The weights of a policy; nothing else in the file is read."
    libraries = ("torch", "safetensors", "numpy")

    def explain(
        self, model: Any, input: Experience, target: PolicyTarget, parameters: Any, run: Run
    ) -> PolicyExplanation:
        """Read it.

        Raises:
            InputError: no policy is in it, or it is one of another environment.
        """
        if model.environment == OWN:
            raise InputError("Choose the environment that this agent acts in.")
        environment = find(model.environment)
        data = input.arrays[UPLOAD].tobytes()
        try:
            network, weights = (zipped if data[:2] == b"PK" else plain)(data)
        except InputError as error:
            raise InputError(error.what, input.title, error.todo) from error
        coded = any(variable.kind == "categorical" for variable in environment.variables)
        network = network.model_copy(update={"one_hot": network.one_hot or coded})
        kept = checked(network, weights, environment.variables, len(environment.action_names))
        found = Experience(
            arrays={PREFIX + name: array for name, array in kept.items()},
            title=environment.title,
            environment=environment.id,
            variables=environment.variables,
            action_names=environment.action_names,
            network=network,
            origin={"agent": {"file": input.title}},
        )
        return explanation(dataclasses.replace(found))


def plain(data: bytes) -> tuple[Network, Arrays]:
    """The network of a safetensors file: its metadata may hold `network` as JSON.

    Raises:
        InputError: it cannot be read.
    """
    import safetensors.numpy
    from pydantic import ValidationError

    try:
        weights = safetensors.numpy.load(data)
        size = int.from_bytes(data[:8], "little")
        told = json.loads(data[8 : 8 + size]).get("__metadata__", {}).get("network", "{}")
        return Network.model_validate_json(told), weights
    except (*_BROKEN, ValidationError, safetensors.SafetensorError) as error:
        raise InputError("The safetensors file cannot be read.", todo=str(error)[:200]) from error


def zipped(data: bytes) -> tuple[Network, Arrays]:
    """The policy of a zip that stable-baselines3 saved: of PPO and A2C, or of DQN.

    Raises:
        InputError: it cannot be read, or holds no such policy.
    """
    import torch

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > MOST_UNPACKED:
                raise InputError(f"It unpacks to more than {MOST_UNPACKED / 1e6:.0f} MB.")
            inside = archive.read("policy.pth")
            words = archive.read("data").decode("utf-8", "replace") if _has(archive, "data") else ""
        with zipfile.ZipFile(io.BytesIO(inside)) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > MOST_UNPACKED:
                raise InputError(f"It unpacks to more than {MOST_UNPACKED / 1e6:.0f} MB.")
        # Weights alone: what would run code on being read is refused.
        state = torch.load(io.BytesIO(inside), map_location="cpu", weights_only=True)  # noqa: TID251
        named = {str(n): t.numpy() for n, t in state.items() if isinstance(t, torch.Tensor)}
    except InputError:
        raise
    except Exception as error:
        raise InputError(
            "The zip holds no weights that can be read: nothing in it was run.",
            todo="Bring what `model.save` of stable-baselines3 wrote.",
        ) from error
    return _policy(named, words)


def _has(archive: zipfile.ZipFile, name: str) -> bool:
    return any(
        entry.filename == name and entry.file_size < LONGEST_WORDS for entry in archive.infolist()
    )


def _policy(named: Arrays, words: str) -> tuple[Network, Arrays]:
    for kind, (hidden, head) in _LAYERS.items():
        found = {}
        for name, array in named.items():
            if match := re.fullmatch(hidden, name):
                found[int(match[1]), match[2]] = array
            elif head and (match := re.fullmatch(head, name)):
                found[10**6, match[1]] = array
        numbers = sorted({number for number, _ in found})
        if numbers:
            weights = {f"{k}.{part}": found[number, part]
                       for k, number in enumerate(numbers) for part in ("weight", "bias")
                       if (number, part) in found}  # fmt: skip
            relu = "activation.ReLU" in words or (kind == "dqn" and "activation.Tanh" not in words)
            return Network(
                activation="relu" if relu else "tanh", head="logits" if kind == "ppo" else "values"
            ), weights
    raise InputError(
        "It holds no policy of PPO, A2C or DQN on plain states.",
        todo="Policies of images and of several inputs are not explained.",
    )
