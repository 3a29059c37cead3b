"""Jobs through a real worker: computed once, found again, shared and equal by seed."""

import dataclasses
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from backend.engine.engine import Engine
from backend.engine.store import StoreError
from backend.errors import Busy, InputError, ModelError
from backend.explanation import Choice, Comparison, ModelRef
from backend.tokens.prompt_sets import PromptSet
from tests.backend.engine.conftest import finished, make_model, until


def test_computes_stores_and_tells_where_it_came_from(engine, ask):
    request = ask(engine, seed=7)
    job = finished(engine.submit(request, "me"))
    assert (job.cached, job.error, job.title) == (False, "", "Noise")
    assert job.key == engine.key(request)
    found = engine.result(job.key)
    expected = np.random.default_rng(7).normal(size=(4, 3)).T
    np.testing.assert_array_equal(found.arrays["scores"], expected)
    assert found.values == {"text": "a text", "index": 0, "seed": 7, "model": "weights"}
    source = found.source()
    assert source.key == job.key
    assert source.request.seed == 7
    assert source.request.parameters["steps"] == 3  # defaults are written out
    assert (source.forward_passes, source.backward_passes) == (2, 1)
    assert (source.device, source.dtype, source.batch_size) == ("cpu", "float32", None)
    assert source.versions["numpy"] == np.__version__
    assert source.warnings == ()
    assert source.peak_memory_bytes > 10_000_000
    [entry] = engine.store.entries("explanation", "fakes")
    assert (entry.key, entry.title) == (job.key, "a text")
    assert entry.meta["explainer"] == "noise"


def test_stored_is_done_at_once_without_a_worker(engine, engines, ask, computed):
    finished(engine.submit(ask(engine)))
    other = engines()
    job = other.submit(ask(other))
    assert job.finished
    assert job.cached
    assert job.state == "done"
    assert other.workers() == []
    assert other.submit(ask(other)) is job
    assert other.job(job.key) is job
    assert computed() == ["computed noise"]


def test_equal_requests_share_a_job(engine, ask, computed):
    first = engine.submit(ask(engine, pause=0.1), "a")
    written_out = ask(engine, tag="", pause=0.1, steps=3)
    second = engine.submit(written_out.model_copy(update={"target": {"index": 0}}), "b")
    assert first is second
    finished(first)
    assert engine.submit(ask(engine, pause=0.1)) is first
    assert computed() == ["computed noise"]


def test_two_engines_at_once_give_equal_bytes(engines, ask):
    jobs = [(e, e.submit(ask(e, seed=5))) for e in (engines(), engines())]
    for _, job in jobs:
        finished(job)
    found = [dataclasses.replace(e.result(job.key), provenance=None) for e, job in jobs]
    assert found[0].to_bytes() == found[1].to_bytes()


def test_same_seed_same_bytes_in_another_store(engine, engines, ask, tmp_path):
    other = engines(store=tmp_path / "other")
    pairs = [(engine, 5), (other, 5), (other, 6)]
    jobs = [(e, finished(e.submit(ask(e, seed=seed)))) for e, seed in pairs]
    found = [dataclasses.replace(e.result(job.key), provenance=None) for e, job in jobs]
    assert jobs[0][1].key == jobs[1][1].key != jobs[2][1].key
    assert found[0].to_bytes() == found[1].to_bytes() != found[2].to_bytes()


@pytest.mark.parametrize("damage", ["flip", "cut", "gone"])
def test_damaged_result_is_computed_again(engine, engines, ask, computed, damage):
    key = finished(engine.submit(ask(engine))).key
    good = engine.result(key)
    file = engine.store.root / "explanation" / key[:2] / key
    data = bytearray(file.read_bytes())
    if damage == "gone":
        file.unlink()
    else:
        data[-1] ^= 255
        file.write_bytes(data[:-1] if damage == "cut" else data)
    other = engines()
    job = finished(other.submit(ask(other)))
    assert not job.cached
    np.testing.assert_array_equal(other.result(key).arrays["scores"], good.arrays["scores"])
    assert len(computed()) == 2


def test_damage_seen_by_the_engine_that_computed(engine, ask, computed):
    key = finished(engine.submit(ask(engine))).key
    file = engine.store.root / "explanation" / key[:2] / key
    file.write_bytes(b"x" * file.stat().st_size)
    assert engine.result(key) is None
    finished(engine.submit(ask(engine)))
    assert engine.result(key) is not None
    assert len(computed()) == 2


def test_subject_is_computed_first_and_kept(engine, ask, computed):
    subject = ask(engine, seed=3)
    score = engine.submit(ask(engine, "score", subject=subject))
    finished(score)
    assert computed() == ["computed noise", "computed score"]
    expected = np.random.default_rng(3).normal(size=(4, 3)).T.sum()
    assert engine.result(score.key).values["sum"] == expected
    job = engine.submit(subject)
    assert job.cached
    assert engine.result(score.key).source().request.subject.seed == 3


def test_damaged_subject_is_computed_again(engine, ask, computed):
    subject = ask(engine)
    key = finished(engine.submit(subject)).key
    file = engine.store.root / "explanation" / key[:2] / key
    file.write_bytes(file.read_bytes()[:100])
    finished(engine.submit(ask(engine, "score", subject=subject)))
    assert computed() == ["computed noise", "computed noise", "computed score"]
    assert engine.store.get(key, "explanation") is not None


def test_asked_again_the_moment_it_ends(engine, ask):
    """Between a job's end and its lane's last word, a new request gets a job of its own."""
    faulty = finished(engine.submit(ask(engine, "faulty")), "failed")
    until(lambda: engine.workers()[0].state == "ready")
    engine._live[faulty.key] = faulty
    again = engine.submit(ask(engine, "faulty"))
    assert again is not faulty
    finished(again, "failed")


def test_nothing_stored_is_a_pickle(engine, ask):
    for seed in range(3):
        finished(engine.submit(ask(engine, seed=seed)))
    files = [p for p in engine.store.root.glob("*/??/*") if p.is_file()]
    assert len(files) == 4
    for file in files:
        data = file.read_bytes()
        assert not data.startswith(b"\x80")
        size = int.from_bytes(data[:8], "little")
        assert "__metadata__" in json.loads(data[8 : 8 + size])


def test_what_a_library_prints_does_no_harm(engine, ask):
    for _ in range(2):
        found = engine.result(finished(engine.submit(ask(engine, "chatty"))).key)
        assert "torch" not in found.values["imported"]
        engine.store.delete(found.source().key, "explanation")
    finished(engine.submit(ask(engine)))


def test_prepare_loads_the_model(engine, ask):
    job = finished(engine.prepare(ask(engine).model, "fakes", "me"))
    assert job.request is None
    assert engine.job(job.key) is job
    assert [w.state for w in engine.workers()] == ["ready"]


def test_prepare_of_nothing_fails_with_a_message(engine):
    job = finished(engine.prepare(ModelRef(source="folder", name="none"), "fakes"), "failed")
    assert "There is no model folder named 'none'" in job.error
    assert "small" in job.error


def test_unsupported_is_refused_before_anything_runs(engine, ask, tmp_path):
    make_model(tmp_path / "models" / "encoder", '{"architecture": "encoder"}')
    make_model(tmp_path / "models" / "flat", '{"architecture": "fake", "layers": 0}')
    with pytest.raises(ModelError, match="serve no encoder"):
        engine.submit(ask(engine, model=ModelRef(source="folder", name="encoder")))
    with pytest.raises(ModelError, match="needs a model with layers"):
        engine.submit(ask(engine, model=ModelRef(source="folder", name="flat")))
    with pytest.raises(ModelError, match="refuses fake and 'a text'"):
        engine.submit(ask(engine, "refusing"))
    assert engine.workers() == []


def test_requests_that_name_nothing(engine, ask):
    with pytest.raises(InputError, match=r"no explainer 'absent'.*noise"):
        engine.submit(ask(engine, "absent"))
    with pytest.raises(InputError, match=r"no family 'absent'.*fakes"):
        engine.submit(ask(engine).model_copy(update={"family": "absent"}))
    with pytest.raises(InputError, match="steps"):
        engine.submit(ask(engine, steps="many"))
    with pytest.raises(InputError, match="no longer stored"):
        engine.submit(ask(engine).model_copy(update={"input": "0" * 64}))
    assert engine.workers() == []


def test_input_lost_while_waiting(engine, ask):
    first = engine.submit(ask(engine, pause=0.2))
    waiting = engine.submit(ask(engine, text="lost"))
    engine.store.delete(waiting.request.input, "input")
    finished(first)
    assert "Bring it again" in finished(waiting, "failed").error


def test_model_changed_while_waiting(engine, ask, tmp_path):
    first = engine.submit(ask(engine, pause=0.2))
    until(lambda: first.what == "dawdling")
    waiting = engine.submit(ask(engine, seed=1))
    (tmp_path / "models" / "small" / "model.safetensors").write_text("changed")
    finished(first)
    assert "changed while this waited" in finished(waiting, "failed").error
    found = engine.result(finished(engine.submit(ask(engine, seed=1))).key)
    assert found.values["model"] == "changed"


def test_queue_limit(engines, ask):
    engine = engines(queue_limit=2)
    running = engine.submit(ask(engine, pause=0.2))
    until(lambda: running.state == "running")
    jobs = [engine.submit(ask(engine, seed=s)) for s in (1, 2)]
    with pytest.raises(Busy, match="2 jobs are waiting"):
        engine.submit(ask(engine, seed=3))
    assert engine.submit(ask(engine, seed=2)) is jobs[1]
    for job in (running, *jobs):
        finished(job)
    finished(engine.submit(ask(engine, seed=3)))


def test_preparations_go_before_attributions_before_scores(engine, ask, computed):
    running = engine.submit(ask(engine, pause=0.3))
    until(lambda: running.state == "running")
    score = engine.submit(ask(engine, "score", subject=ask(engine, pause=0.3), tag="4"))
    jobs = [engine.submit(ask(engine, "noise", seed=s, tag=t)) for s, t in ((2, "2"), (1, "3"))]
    first = engine.submit(ask(engine, "preparing", tag="1"))
    assert [j.place for j in (first, *jobs, score, running)] == [1, 2, 3, 4, 0]
    for job in (*jobs, first, score):
        finished(job)
    assert computed()[1:] == ["computed 1", "computed 2", "computed 3", "computed 4"]
    assert score.place == 0


def test_comparisons_and_inputs_come_back(engine, ask):
    request = ask(engine)
    assert engine.get_input("fakes", request.input).text == "a text"
    assert engine.get_input("fakes", "0" * 64) is None
    other = engine.put_input(PromptSet(prompts=(), answers=()), "fakes")
    assert engine.get_input("fakes", other) is None, "it is of another kind"
    comparison = Comparison(
        family="fakes",
        model=request.model,
        input=request.input,
        choices=(Choice(explainer="noise"),),
    )
    key = engine.put_comparison(comparison)
    assert key == comparison.key() == engine.put_comparison(comparison)
    assert engine.get_comparison(key) == comparison
    assert engine.get_comparison("0" * 64) is None


def test_app_process_stays_without_torch(options, site):
    script = """
import sys
from backend.engine.engine import Engine
from backend.explanation import ModelRef, Request
from backend.settings import settings
from tests.backend.engine.fakes import FakeInput
engine = Engine(settings())
given = engine.put_input(FakeInput(text="x"), "fakes")
model = ModelRef(source="folder", name="small")
job = engine.submit(Request(family="fakes", explainer="noise", model=model, input=given))
assert job.wait(30) and job.state == "done", job.error
assert engine.result(job.key) is not None
engine.close()
heavy = ("torch", "transformers", "captum", "shap", "multiprocessing")
print([m for m in heavy if m in sys.modules])
"""
    env = os.environ | options.environment()
    ran = subprocess.run(
        [sys.executable, "-c", script], env=env, capture_output=True, text=True, timeout=60
    )
    assert ran.stdout.strip() == "[]", ran.stderr


def test_a_folder_that_cannot_be_used(options, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match="VITRINE_STORE"):
        Engine(options.model_copy(update={"store": tmp_path / "file"}))
