"""A worker holds a trained model and those that have forgotten, and never takes one for another."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from backend.engine.engine import Engine
from backend.explanation import ModelRef, Reinitialised, Request
from backend.settings import Settings
from backend.tokens.explanation import Prompt, Target
from backend.tokens.gradient_x_input import GradientXInput
from backend.tokens.models import load
from tests.backend.engine.conftest import finished
from tests.backend.tokens.passage import explain
from tests.tiny import write

PROMPT = Prompt.of("The code for the vault is 7481. What is the code for the vault? It is")
TARGET = Target(ids=(70, 80))
TRAINED = ModelRef(source="folder", name="tiny")
DRAWN = [Reinitialised(depth=depth, seed=seed) for depth, seed in ((4, 0), (4, 1), (2, 0))]
REFS = [TRAINED, *(TRAINED.model_copy(update={"reinitialised": one}) for one in DRAWN)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="module")
def engine(folder, tmp_path_factory):
    store = tmp_path_factory.mktemp("store")
    made = Engine(
        Settings(store=store, model_folders=(folder.parent,), device="cpu", threads=1, hub="off")
    )
    yield made
    made.close()


def asked(engine, model, **parameters):
    """The request, and its finished explanation."""
    request = Request(
        family="tokens",
        explainer="gradient_x_input",
        model=model,
        input=engine.put_input(PROMPT, "tokens"),
        target=TARGET.model_dump(mode="json"),
        parameters=parameters,
    )
    job = finished(engine.submit(request), seconds=120)
    return job, engine.result(job.key)


def test_each_has_its_own_explanation_and_the_trained_model_its_own_afterwards(engine, folder):
    found = [asked(engine, ref) for ref in REFS]
    assert len({job.key for job, _ in found}) == len(REFS)
    scores = [one.arrays["scores"] for _, one in found]
    for ref, given in zip(REFS, scores, strict=True):
        model = load(folder, ref, "cpu")
        expected = explain(model, GradientXInput, prompt=PROMPT, target=TARGET).arrays["scores"]
        np.testing.assert_allclose(given, expected, rtol=1e-4, atol=1e-7)
    for one, other in itertools.combinations(scores, 2):
        assert np.nanmax(np.abs(one - other)) > 1e-4
    # Another reading, which is not stored: the loaded models are asked again.
    for (before, first), ref in zip(found, REFS, strict=True):
        job, again = asked(engine, ref, reading="norm")
        assert job.key != before.key
        for name in ("readings/signed", "readings/norm"):
            np.testing.assert_array_equal(again.arrays[name], first.arrays[name])


def test_what_was_asked_for_is_told(engine):
    _, found = asked(engine, REFS[1])
    assert found.source().request.model.reinitialised == DRAWN[0]
    assert REFS[1].label() == "folder:tiny, 4 stages re-initialised"


@pytest.mark.parametrize("wrong", [{"depth": 0}, {"depth": 101}, {"depth": 1, "seed": -1}])
def test_a_reference_of_no_such_depth_or_seed_is_refused(wrong):
    with pytest.raises(ValueError, match=r"greater|less"):
        Reinitialised(**wrong)
