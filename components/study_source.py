"""What a study is about, by family: the widgets that choose it, and the study once it can run."""

from __future__ import annotations

from typing import Protocol

import streamlit as st

from backend.catalogue import catalogue
from backend.concepts import examples as concept_examples
from backend.concepts import studied as concepts_studied
from backend.concepts.explanation import ConceptTable, ConceptTarget
from backend.concepts.explanation import Recipe as ConceptRecipe
from backend.explanation import Choice, Comparison
from backend.graphs import examples as graph_examples
from backend.graphs import items
from backend.graphs import studied as graphs_studied
from backend.graphs.explanation import GraphSet, GraphTarget
from backend.graphs.plan import Sets
from backend.images import plan
from backend.images import studied as images_studied
from backend.images.explanation import ImageTarget, Photos
from backend.settings import settings
from backend.study import Studied
from backend.tokens import studied as tokens_studied
from backend.tokens.explanation import Target as TokenTarget
from backend.tokens.suite import lean
from components import (
    choose,
    concept_source,
    graph_source,
    image_grounds,
    image_source,
    study_prompts,
    trained_here,
)
from components.session import engine

ANSWER_TOKENS = 4


class Subject(Protocol):
    """One family's side of the page."""

    what: str
    """What an input is, several of them."""

    def model(self) -> None:
        """Draw the choice of the model."""

    def inputs(self, opened: Comparison | None) -> bool:
        """Draw the choice of inputs; whether there are some."""

    def explainers(self) -> tuple[Choice, ...]:
        """Draw the choice of explainers."""

    def chosen(self, choices: tuple[Choice, ...], seed: int) -> Comparison:
        """What the widgets describe, its input stored; only where there are inputs."""

    def seed(self, opened: Comparison) -> None:
        """Set the widgets as an opened study has them."""

    def studied(self, opened: Comparison, inputs: int, seeds: int) -> Studied | None:
        """The study; None while its model is trained, with the progress drawn."""


class Tokens:
    """Answers of a language model to the prompts of a set."""

    what = "prompts"

    def __init__(self, prefix: str) -> None:
        self.family, self.prefix = catalogue()["tokens"], prefix

    def model(self) -> None:
        self.ref = choose.model(self.family, self.prefix)

    def inputs(self, opened: Comparison | None) -> bool:
        self.prompts = study_prompts.chosen(opened, self.prefix)
        self.length = int(
            st.number_input(
                "Answer tokens",
                min_value=1,
                max_value=settings().max_new_tokens,
                value=ANSWER_TOKENS,
                key=f"{self.prefix}.length",
                persist_state="session",
                help="Of the model's own answer, where a prompt brings none.",
            )
        )
        return self.prompts is not None and self.ref is not None

    def explainers(self) -> tuple[Choice, ...]:
        default = tokens_studied.DEFAULT
        return choose.explainers(self.family, self.prefix, "attribution", default)

    def chosen(self, choices: tuple[Choice, ...], seed: int) -> Comparison:
        assert self.prompts is not None and self.ref is not None  # noqa: S101, PT018  looked
        return Comparison(
            family=self.family.id,
            model=self.ref,
            input=engine().put_input(self.prompts, self.family.id),
            target=TokenTarget(max_new_tokens=self.length).model_dump(mode="json"),
            choices=lean(choices, self.family),
            seed=seed,
        )

    def seed(self, opened: Comparison) -> None:
        choose.seed_model(self.family, self.prefix, opened.model)
        choose.seed_explainers(self.family, self.prefix, opened.choices)
        study_prompts.seed(opened, self.prefix)
        asked = TokenTarget.model_validate(opened.target)
        st.session_state[f"{self.prefix}.length"] = asked.max_new_tokens

    def studied(self, opened: Comparison, inputs: int, seeds: int) -> Studied | None:
        return study_prompts.prepared(opened, inputs, seeds, self.prefix)


class Graphs:
    """Graphs or nodes of a set."""

    what = "graphs or nodes"

    def __init__(self, prefix: str) -> None:
        self.family, self.prefix = catalogue()["graphs"], prefix

    def model(self) -> None:
        examples = graph_examples.EXAMPLES
        self.preset = trained_here.model(self.family, examples, self.prefix)
        self.recipe = trained_here.recipe(self.preset, examples, self.prefix)

    def inputs(self, opened: Comparison | None) -> bool:
        self.source = graph_source.given(self.preset, self.recipe, opened, self.prefix)
        st.caption("Test graphs or nodes, first those with a known reason.")
        return self.source is not None

    def explainers(self) -> tuple[Choice, ...]:
        return choose.explainers(self.family, self.prefix)

    def chosen(self, choices: tuple[Choice, ...], seed: int) -> Comparison:
        assert self.source is not None  # noqa: S101  the caller looked
        return Comparison(
            family=self.family.id,
            model=self.source.model,
            input=engine().put_input(self.source.graphs, self.family.id),
            target=GraphTarget(recipe=self.source.recipe).model_dump(mode="json"),
            choices=choices,
            seed=seed,
        )

    def seed(self, opened: Comparison) -> None:
        graph_source.seed(opened, self.prefix)
        choose.seed_explainers(self.family, self.prefix, opened.choices)

    def studied(self, opened: Comparison, inputs: int, seeds: int) -> Studied | None:
        prepared = graph_source.sets(opened, self.prefix)
        if prepared is None:
            return None
        sets, graphs = prepared
        key = (opened.key(), sets.explained, sets.fitted)
        return _of_graphs(key, inputs, seeds, opened, sets, graphs)


class Concepts:
    """Samples of a table of concept predictions."""

    what = "samples"

    def __init__(self, prefix: str) -> None:
        self.family, self.prefix = catalogue()["concepts"], prefix

    def model(self) -> None:
        examples = concept_examples.EXAMPLES
        self.preset = trained_here.model(self.family, examples, self.prefix)
        self.recipe: ConceptRecipe | None = trained_here.recipe(self.preset, examples, self.prefix)

    def inputs(self, opened: Comparison | None) -> bool:
        self.source = concept_source.given(self.preset, self.recipe, opened, self.prefix)
        st.caption("Samples are drawn, the same ones whenever the table is as long.")
        return self.source is not None

    def explainers(self) -> tuple[Choice, ...]:
        default = concepts_studied.DEFAULT
        return choose.explainers(self.family, self.prefix, "attribution", default)

    def chosen(self, choices: tuple[Choice, ...], seed: int) -> Comparison:
        assert self.source is not None  # noqa: S101  the caller looked
        return Comparison(
            family=self.family.id,
            model=self.source.model,
            input=engine().put_input(self.source.table, self.family.id),
            target=ConceptTarget(recipe=self.source.recipe).model_dump(mode="json"),
            choices=choices,
            seed=seed,
        )

    def seed(self, opened: Comparison) -> None:
        concept_source.seed(opened, self.prefix)
        choose.seed_explainers(self.family, self.prefix, opened.choices)

    def studied(self, opened: Comparison, inputs: int, seeds: int) -> Studied | None:
        prepared = concept_source.table(opened, self.prefix)
        if prepared is None:
            return None
        digest, table = prepared
        return _of_samples((opened.key(), digest), inputs, seeds, opened, table)


class Images:
    """Pictures of a set."""

    what = "pictures"

    def __init__(self, prefix: str) -> None:
        self.family, self.prefix = catalogue()["images"], prefix

    def model(self) -> None:
        self.ref = choose.model(self.family, self.prefix)

    def inputs(self, opened: Comparison | None) -> bool:
        self.photos = image_source.given(opened, self.prefix, many=True)
        return self.photos is not None and self.ref is not None

    def explainers(self) -> tuple[Choice, ...]:
        return choose.explainers(self.family, self.prefix, "attribution")

    def chosen(self, choices: tuple[Choice, ...], seed: int) -> Comparison:
        assert self.photos is not None and self.ref is not None  # noqa: S101, PT018  looked
        return Comparison(
            family=self.family.id,
            model=self.ref,
            input=engine().put_input(self.photos, self.family.id),
            target=ImageTarget().model_dump(mode="json"),
            choices=choices,
            seed=seed,
        )

    def seed(self, opened: Comparison) -> None:
        choose.seed_model(self.family, self.prefix, opened.model)
        choose.seed_explainers(self.family, self.prefix, opened.choices)
        image_source.seed(opened, self.prefix)

    def studied(self, opened: Comparison, inputs: int, seeds: int) -> Studied | None:
        photos = engine().get_input(opened.family, opened.input)
        if not isinstance(photos, Photos):
            st.warning(
                "The pictures are no longer stored. Bring them again.", icon=":material/history:"
            )
            return None
        found = None
        if plan.by_concepts(opened):
            found = image_grounds.found(opened, photos, self.prefix)
            if found is None:
                return None
        return images_studied.studied(opened, photos, inputs, seeds, found)


# A study names hundreds of requests, and the page runs twice a second while one is under way.
@st.cache_resource(max_entries=4, show_spinner=False)
def _of_graphs(
    key: tuple[str, ...],  # noqa: ARG001
    inputs: int,
    seeds: int,
    _opened: Comparison,
    _sets: Sets,
    _graphs: GraphSet,
) -> Studied:
    return graphs_studied.studied(_opened, _sets, _graphs, min(inputs, items.count(_graphs)), seeds)


@st.cache_resource(max_entries=4, show_spinner=False)
def _of_samples(
    key: tuple[str, ...], inputs: int, seeds: int, _opened: Comparison, _table: ConceptTable
) -> Studied:
    return concepts_studied.studied(_opened, key[-1], _table, min(inputs, len(_table)), seeds)


def subject(family: str, prefix: str) -> Subject:
    """The side of a family."""
    sides: dict[str, type[Tokens] | type[Graphs] | type[Concepts] | type[Images]] = {
        "tokens": Tokens,
        "graphs": Graphs,
        "concepts": Concepts,
        "images": Images,
    }
    return sides[family](f"{prefix}.{family}")
