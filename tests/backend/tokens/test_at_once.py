"""Explainers asked for at once on one model give the numbers they give one after the other."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from backend.engine.engine import Engine
from backend.explanation import ModelRef, Request
from backend.settings import Settings
from backend.tokens.explanation import Prompt
from tests.tiny import write

# Each hooks the model or changes its attention in a way of its own.
IDS = ("contribution_weights", "attn_lrp", "key_masking", "integrated_gradients", "leave_one_out")


def scores(folder: Path, store: Path, *, at_once: bool) -> list[np.ndarray]:
    engine = Engine(Settings(store=store, model_folders=(folder,), device="cpu", threads=1))
    try:
        given = engine.put_input(Prompt.of("The code for the vault is"), "tokens")
        requests = [
            Request(
                family="tokens",
                explainer=name,
                model=ModelRef(source="folder", name=folder.name),
                input=given,
                target={"ids": [40, 41, 42]},
            )
            for name in IDS
        ]
        if at_once:
            with ThreadPoolExecutor(len(IDS)) as people:
                jobs = list(people.map(engine.submit, requests))
        else:
            jobs = []
            for request in requests:
                jobs.append(engine.submit(request))
                assert jobs[-1].wait(120)
        for job in jobs:
            assert job.wait(120)
            assert job.state == "done", job.error
        return [engine.result(job.key).arrays["scores"] for job in jobs]
    finally:
        engine.close()


@pytest.mark.slow
def test_at_once_equals_one_after_the_other(tmp_path: Path) -> None:
    folder = write(tmp_path / "models" / "tiny")
    together = scores(folder, tmp_path / "a", at_once=True)
    apart = scores(folder, tmp_path / "b", at_once=False)
    for name, one, other in zip(IDS, together, apart, strict=True):
        np.testing.assert_array_equal(one, other, err_msg=name)
    assert len({one[:3].tobytes() for one in together}) == len(IDS)
