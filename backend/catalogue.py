"""All families, and what stands behind a request of each: code, libraries, model content."""

from __future__ import annotations

import importlib.metadata
import sys
from functools import cache
from pathlib import Path

from pydantic import JsonValue, ValidationError

import backend
from backend.bundle import digest
from backend.errors import InputError
from backend.explainer import Explainer, Family
from backend.explanation import Identity, Request


@cache
def catalogue() -> dict[str, Family]:
    """The families by id: Vitrine's own, then those of installed packages.

    A package adds a family with an entry point of the group `vitrine.families` that names a
    `Family`.
    """
    from backend import tokens

    added = importlib.metadata.entry_points(group="vitrine.families")
    return {family.id: family for family in (tokens.FAMILY, *(point.load() for point in added))}


def find(request: Request) -> Explainer:
    """The explainer a request names.

    Raises:
        InputError: no such family or explainer.
    """
    families = catalogue()
    if request.family not in families:
        raise InputError(
            f"There is no family '{request.family}'.", todo=f"Choose from {', '.join(families)}."
        )
    try:
        return families[request.family].find(request.explainer)
    except KeyError as error:
        raise InputError(str(error.args[0])) from error


def normalised(request: Request) -> Request:
    """The request with target and parameters checked and every default written out.

    Two requests that mean the same thing are equal after this.

    Raises:
        InputError: a parameter or the target is not valid; the text names the field.
    """
    explainer, family = find(request), catalogue()[request.family]
    try:
        parameters = explainer.Parameters.model_validate(request.parameters)
        target = family.Target.model_validate(request.target)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise InputError(f"{field}: {first['msg']}", where=request.explainer) from error
    return request.model_copy(
        update={
            "parameters": parameters.model_dump(mode="json"),
            "target": target.model_dump(mode="json"),
            "seed": request.seed if explainer.uses_seed else 0,
            "subject": normalised(request.subject) if request.subject else None,
        }
    )


@cache
def source_digest(family: str) -> str:
    """Digest of the family folder's Python source: editing a method retires its results."""
    nouns = sys.modules[catalogue()[family].Explanation.__module__]
    folder = Path(str(nouns.__file__)).parent
    files = sorted(folder.rglob("*.py"))
    return digest(*(part for file in files for part in (file.name.encode(), file.read_bytes())))


def versions(explainer: Explainer) -> dict[str, str]:
    """Version of Vitrine and of each library the explainer declares."""
    libraries = {name: importlib.metadata.version(name) for name in explainer.libraries}
    return {"vitrine": backend.__version__, **libraries}


class Catalogued(Identity):
    """The identity of requests on one model whose content is known.

    Args:
        fingerprint: content fingerprint of the request's model.
    """

    def __init__(self, fingerprint: str) -> None:
        self.fingerprint = fingerprint

    def of(self, request: Request) -> dict[str, JsonValue]:
        return {
            "model": self.fingerprint,
            "source": source_digest(request.family),
            "versions": dict(versions(find(request))),
        }
