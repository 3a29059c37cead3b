"""The nouns: Request, Comparison, Explanation, Provenance."""

from __future__ import annotations

import dataclasses
import html
import weakref
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from backend.bundle import Arrays, Bundle, canonical_json, digest

Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
Precision = Literal["float32", "bfloat16", "float16"]


class Frozen(BaseModel):
    """Base of the validated values: immutable, and an unknown field is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Reinitialised(Frozen):
    """How much of a model has forgotten what it learned: stages from the output down, drawn anew.

    What a stage is, a family says.
    """

    depth: Annotated[int, Field(ge=1, le=100)]
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0


class ModelRef(Frozen):
    """Which model, never a server path: a folder is named by its name in the configuration.

    One that was made on a page is named by the key of what made it (`backend.made`).
    """

    source: Literal["preset", "hub", "folder", "made"] = "preset"
    name: Annotated[str, Field(min_length=1, max_length=200)]
    revision: Annotated[str, Field(pattern=r"^[\w./-]{1,100}$")] | None = None
    precision: Precision = "float32"
    reinitialised: Reinitialised | None = None
    """The model with a part of its weights drawn anew, for sanity checks."""

    def label(self) -> str:
        """The reference as one word, as the command line takes it: `name`, `hub:org/name@rev`.

        Of a model that has forgotten a part, which the command line does not take, how much.
        """
        prefix = "" if self.source == "preset" else f"{self.source}:"
        name = f"{prefix}{self.name}" + (f"@{self.revision}" if self.revision else "")
        drawn = self.reinitialised
        return f"{name}, {drawn.depth} stages re-initialised" if drawn else name


class Request(Frozen):
    """Everything that decides a result, and nothing else."""

    family: Name
    explainer: Name
    model: ModelRef
    input: Digest
    target: dict[str, JsonValue] = {}
    parameters: dict[str, JsonValue] = {}
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0
    subject: Request | None = None
    """The request whose explanation this one is about (a score is about an explanation)."""
    members: tuple[Request, ...] = ()
    """The requests whose explanations this one brings together."""

    @property
    def behind(self) -> tuple[Request, ...]:
        """The requests this one stands on."""
        return (*self.members, *((self.subject,) if self.subject else ()))

    def key(self, identity: Identity) -> str:
        """SHA-256 of the canonical JSON of this request and of what computes it."""
        subject = self.subject.key(identity) if self.subject else None
        members = [member.key(identity) for member in self.members]
        content = self.model_dump(mode="json", exclude={"subject", "members"})
        return digest(
            canonical_json({"request": content, "subject": subject, "members": members}).encode(),
            canonical_json(identity.of(self)).encode(),
        )

    def at_seed(self, offset: int) -> Request:
        """The same with another seed, of all it stands on too."""
        return self.model_copy(
            update={
                "seed": (self.seed + offset) % 2**32,
                "subject": self.subject.at_seed(offset) if self.subject else None,
                "members": tuple(member.at_seed(offset) for member in self.members),
            }
        )

    def of_model(self, model: ModelRef) -> Request:
        """The same of another model, and of it all this stands on."""
        return self.model_copy(
            update={
                "model": model,
                "subject": self.subject.of_model(model) if self.subject else None,
                "members": tuple(member.of_model(model) for member in self.members),
            }
        )

    def moved(self, input: Digest, target: dict[str, JsonValue]) -> Request:
        """The same about another input and target, its members too; what it is about stays."""
        return self.model_copy(
            update={
                "input": input,
                "target": target,
                "members": tuple(member.moved(input, target) for member in self.members),
            }
        )


class Identity:
    """What stands behind a request: the model's content and the code that computes.

    `of(request)` gives the JSON that goes into the key; `backend.catalogue.Catalogued` is the
    real one, tests may pass their own.
    """

    def of(self, request: Request) -> dict[str, JsonValue]:
        raise NotImplementedError


class Choice(Frozen):
    """One explainer with its parameters, as chosen on a page."""

    explainer: Name
    parameters: dict[str, JsonValue] = {}


class Comparison(Frozen):
    """What a page shows: several explainers on one input. Its digest is the page's permalink."""

    family: Name
    model: ModelRef
    input: Digest
    target: dict[str, JsonValue] = {}
    choices: tuple[Choice, ...] = ()
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0

    def key(self) -> str:
        """Content hash of the comparison."""
        return digest(b"comparison", canonical_json(self.model_dump(mode="json")).encode())


@dataclasses.dataclass(frozen=True, kw_only=True)
class Provenance:
    """Where an explanation came from, and what it cost."""

    key: str
    request: Request
    model_fingerprint: str
    versions: dict[str, str]
    device: str
    dtype: str
    seconds: float
    peak_memory_bytes: int
    forward_passes: int
    backward_passes: int
    batch_size: int | None
    warnings: tuple[str, ...]
    created: str
    """UTC, ISO 8601."""


CARDS: weakref.WeakKeyDictionary[Explanation, str] = weakref.WeakKeyDictionary()
"""The cards of explanations that a notebook shows, as HTML files."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Explanation(Bundle):
    """Base of the families' explanations: named arrays, plain values, provenance.

    `arrays` has a documented shape for each name in the family's subclass. `provenance` is filled
    in by the worker: an explainer leaves it None.
    """

    arrays: Arrays
    values: dict[str, Any] = dataclasses.field(default_factory=dict)
    notes: tuple[str, ...] = ()
    provenance: Provenance | None = None

    def source(self) -> Provenance:
        """The provenance of a finished explanation.

        Raises:
            ValueError: the explanation has not been through a worker.
        """
        if self.provenance is None:
            raise ValueError("this explanation has no provenance yet")
        return self.provenance

    def compared(self) -> np.ndarray:
        """[N] float64: the scores that are compared with another explanation's of this input."""
        return self.arrays["scores"].astype(np.float64)

    def _repr_html_(self) -> str | None:
        """What a notebook shows: the explanation's card, of which nothing can run."""
        card = CARDS.get(self)
        if card is None:
            return None  # A notebook then shows the plain text.
        style = "width: 100%; height: 42rem; border: 0"
        return f'<iframe sandbox srcdoc="{html.escape(card, quote=True)}" style="{style}"></iframe>'
