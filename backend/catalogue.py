"""All families, and what stands behind a request of each: code, libraries, model content."""

from __future__ import annotations

import importlib.metadata
import logging
import sys
from functools import cache
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, JsonValue, ValidationError

import backend
from backend import agreement, consensus
from backend.bundle import canonical_json, digest
from backend.errors import InputError
from backend.explainer import Explainer, Family
from backend.explanation import Identity, Request

log = logging.getLogger("vitrine.catalogue")

SHARED = (agreement, consensus)
"""What explainers of every family compute with."""

Model = TypeVar("Model", bound=BaseModel)


@cache
def catalogue() -> dict[str, Family]:
    """The families by id: Vitrine's own, then those of installed packages.

    A package adds a family with an entry point of the group `vitrine.families` that names a
    `Family`.
    """
    from backend import concepts, graphs, images, policies, tokens

    own = (tokens.FAMILY, graphs.FAMILY, concepts.FAMILY, images.FAMILY, policies.FAMILY)
    families = {family.id: family for family in own}
    for point in importlib.metadata.entry_points(group="vitrine.families"):
        try:
            family: Family = point.load()
            families.setdefault(family.id, family)
        except Exception:
            log.exception("the family %s of an installed package cannot be used", point.name)
    return families


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


def draws(request: Request) -> bool:
    """Whether it, or what it stands on, draws random numbers: else each seed gives the same."""
    return find(request).uses_seed or any(draws(other) for other in request.behind)


def normalised(request: Request) -> Request:
    """The request with target and parameters checked and every default written out.

    Two requests that mean the same thing are equal after this.

    Raises:
        InputError: a parameter or the target is not valid; the text names the field.
    """
    explainer, family = find(request), catalogue()[request.family]
    parameters = checked(explainer.Parameters, request.parameters, request.explainer)
    target = checked(family.Target, request.target, request.explainer)
    if any(other.model != request.model for other in request.behind):
        raise InputError("The explanation it is about is of another model.", request.explainer)
    return request.model_copy(
        update={
            "parameters": _finite(parameters.model_dump(mode="json"), request.explainer),
            "target": _finite(target.model_dump(mode="json"), request.explainer),
            "seed": request.seed if draws(request) else 0,
            "subject": normalised(request.subject) if request.subject else None,
            "members": tuple(normalised(member) for member in request.members),
        }
    )


def checked(kind: type[Model], values: dict[str, JsonValue], where: str) -> Model:
    """The values as an instance of a pydantic model.

    Raises:
        InputError: one is not valid; the text names the field.
    """
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise InputError(f"{field}: {first['msg']}", where=where) from error


def _finite(values: dict[str, JsonValue], explainer: str) -> dict[str, JsonValue]:
    for name, value in values.items():
        try:
            canonical_json(value)
        except ValueError as error:
            raise InputError(f"{name}: a finite number is needed", where=explainer) from error
    return values


@cache
def source_digest(family: str) -> str:
    """Digest of the family folder's Python source: editing a method retires its results.

    With the modules of SHARED, whose numbers are stored too.
    """
    nouns = sys.modules[catalogue()[family].Explanation.__module__]
    folder = Path(str(nouns.__file__)).parent
    shared = [Path(str(module.__file__)) for module in SHARED]
    files = [*sorted(folder.rglob("*.py")), *shared]
    return digest(*(part for file in files for part in (file.name.encode(), file.read_bytes())))


def versions(explainer: Explainer) -> dict[str, str]:
    """Version of Vitrine and of each library the explainer declares.

    Raises:
        InputError: a library is not installed.
    """
    try:
        libraries = {name: importlib.metadata.version(name) for name in explainer.libraries}
    except importlib.metadata.PackageNotFoundError as error:
        raise InputError(
            f"{explainer.title} needs {error.name}, which is not installed.",
            todo=f"Install it with: pip install {error.name}",
        ) from error
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
