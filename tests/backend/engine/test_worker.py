"""What goes wrong in a worker stays there: faults, memory, death, late answers."""

import contextlib
import dataclasses
import io
import json
import logging
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from backend.engine import worker as module
from backend.engine.lane import Lane
from backend.engine.process import ROOT, WorkerProcess
from backend.engine.worker import Worker
from backend.explanation import ModelRef
from tests.backend.engine.conftest import finished, make_model, until


def alive(pid):
    """Whether a process runs; one that has ended but was not waited for does not."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    return False


def test_fault_gets_a_number_and_no_traceback(engine, ask, capfd):
    job = finished(engine.submit(ask(engine, "faulty")), "failed")
    assert job.fault
    number = re.search(r"error ([0-9a-f]{8})", job.error)[1]
    for secret in ("Traceback", "hidden", "ValueError", ".py"):
        assert secret not in job.error
    log = capfd.readouterr().err
    assert number in log
    assert "ValueError: the secret place /etc/hidden" in log
    pid = engine.workers()[0].pid
    finished(engine.submit(ask(engine)))
    assert engine.workers()[0].pid == pid


def test_message_for_the_person_reaches_the_person(engine, ask):
    job = finished(engine.submit(ask(engine, "choosy")), "failed")
    assert job.error == "answer: The answer has no tokens. Type one."
    assert not job.fault


def test_batches_are_halved_and_noted(engine, ask, computed):
    job = finished(engine.submit(ask(engine, "batched", steps=5)))
    found = engine.result(job.key)
    assert found.arrays["scores"].tolist() == [2 * i for i in range(20)]
    assert found.source().batch_size == 4
    assert found.source().warnings == (
        "Memory ran out with 16 items at once; 8 were used instead.",
        "Memory ran out with 8 items at once; 4 were used instead.",
    )
    assert computed() == ["4 batched"] * 5


def test_one_item_too_big(engine, ask):
    job = finished(engine.submit(ask(engine, "batched", steps=0)), "failed")
    assert "not enough memory for even one item" in job.error
    assert "bfloat16" in job.error
    assert not job.fault


def test_killed_at_work(engine, ask, computed):
    job = finished(engine.submit(ask(engine, "killed")), "failed")
    assert "most likely because memory ran out" in job.error
    assert "bfloat16" in job.error
    assert computed() == ["computed killed"]  # what killed a worker is not tried twice
    finished(engine.submit(ask(engine)))


@pytest.mark.parametrize("wait", [0.0, 0.5])
def test_killed_while_idle(engine, ask, wait):
    finished(engine.submit(ask(engine)))
    pid = engine.workers()[0].pid
    os.kill(pid, signal.SIGKILL)
    time.sleep(wait)
    finished(engine.submit(ask(engine, seed=1)))
    assert engine.workers()[0].pid != pid


def test_stopped_worker_that_dies_before_it_takes_the_job(engine, ask):
    """The pipe took the job, the worker never did: a new one does."""
    finished(engine.submit(ask(engine)))
    pid = engine.workers()[0].pid
    os.kill(pid, signal.SIGSTOP)
    job = engine.submit(ask(engine, seed=1))
    time.sleep(0.3)
    os.kill(pid, signal.SIGKILL)
    finished(job)


def test_worker_that_cannot_start(engines, ask, monkeypatch, site):
    """Two attempts, then a message; nobody waits for ever."""
    engine = engines(device="cpu")
    request = ask(engine)
    monkeypatch.setenv("PYTHONPATH", str(site / "broken"))
    (site / "broken").mkdir()
    (site / "broken" / "sitecustomize.py").write_text("import os; os._exit(3)")
    job = finished(engine.submit(request), "failed", 20)
    assert "ended with status 3" in job.error
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    job = finished(engine.submit(request), "failed", 5)
    assert "cannot be started" in job.error
    monkeypatch.undo()


def test_closed_engine_ends_its_workers(engine, ask):
    finished(engine.submit(ask(engine)))
    pid = engine.workers()[0].pid
    assert alive(pid)
    engine.close()
    until(lambda: not alive(pid), 5)
    assert [w.state for w in engine.workers()] == ["stopped"]


@pytest.mark.parametrize("busy", [False, True])
def test_worker_ends_with_its_parent(options, busy):
    script = """
import os, sys, time
from backend.engine.engine import Engine
from backend.explanation import ModelRef, Request
from backend.settings import settings
from tests.backend.engine.fakes import FakeInput
engine = Engine(settings())
given = engine.put_input(FakeInput(text="x"), "fakes")
model = ModelRef(source="folder", name="small")
pause = {"pause": 0.2, "steps": 500} if sys.argv[1] == "True" else {}
job = engine.submit(
    Request(family="fakes", explainer="noise", model=model, input=given, parameters=pause)
)
while job.what != "dawdling" and not job.finished:
    time.sleep(0.01)
print(engine.workers()[0].pid, flush=True)
time.sleep(60)
"""
    parent = subprocess.Popen(
        [sys.executable, "-c", script, str(busy)],
        env=os.environ | options.environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    pid = int(parent.stdout.readline())
    assert alive(pid)
    parent.kill()
    parent.communicate(timeout=10)
    until(lambda: not alive(pid), 5)


def test_late_answers_of_another_job_are_ignored(engine, ask):
    job = engine.submit(ask(engine, pause=0.2))
    until(lambda: job.what == "dawdling")
    answers = engine._lanes[0]._process.answers
    answers.put({"id": "0" * 32, "end": "failed", "error": "of an earlier job"})
    answers.put({"id": "0" * 32, "progress": [9, 9, "of an earlier job"]})
    answers.put({"ready": True})
    finished(job)
    assert job.error == ""
    assert job.what == "dawdling"


def test_half_a_line_is_no_answer(monkeypatch, options):
    """A worker killed in the middle of a line still counts as ended."""
    real = subprocess.Popen

    def shell(command, **more):
        script = """read -r task; printf '{"id": "half'; exit 7"""
        return real(["/bin/sh", "-c", script], **more)

    monkeypatch.setattr("backend.engine.process.subprocess.Popen", shell)
    process = WorkerProcess(options, "cpu")
    process.say(do="explain", id="x")
    assert process.answers.get(timeout=5) is None
    assert process.reason() == "ended with status 7"


def test_models_stay_loaded_while_they_fit(options, tmp_path):
    """Least recently used models go when the next would not fit."""
    family, loads = module.catalogue()["fakes"], []

    def load(folder, ref, device):
        loads.append(ref.name)
        return family.load(folder, ref, device)

    for name in ("one", "two", "six"):
        make_model(tmp_path / "models" / name, weights=name * 20)
    # 60 bytes of 16-bit weights are 120 in float32: two models fit, three do not.
    worker = Worker(options.model_copy(update={"model_memory_gb": 2.6e-7}), "cpu", io.StringIO())
    watched = dataclasses.replace(family, load=load)
    for name in ("one", "two", "one", "six", "one", "two"):
        ref = ModelRef(source="folder", name=name)
        assert worker.model(ref, watched, "job") == name * 20
    assert loads == ["one", "two", "six", "two"]


def test_worker_says_one_line_an_answer(options):
    out = io.StringIO()
    worker = Worker(options, "cpu", out)
    worker.perform({"id": "j", "do": "prepare", "family": "nothing", "model": {"name": "x"}})
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    assert lines[0] == {"id": "j", "progress": [0, 1, "starting"]}
    assert lines[-1]["end"] == "failed"
    assert lines[-1]["fault"]


def test_cancelled_before_it_begins(options):
    """A cancel may arrive while the task still waits in the pipe: no model is loaded for it."""
    out = io.StringIO()
    worker = Worker(options, "cpu", out)
    worker.cancelled.add("j")
    model = {"source": "folder", "name": "small"}
    for _ in range(2):
        worker.perform({"id": "j", "do": "prepare", "family": "fakes", "model": model})
    ends = [json.loads(line).get("end") for line in out.getvalue().splitlines()]
    assert [end for end in ends if end] == ["cancelled", "done"]  # and it is forgotten afterwards
    assert len(worker.loaded) == 1


def test_no_pickle_in_the_product():
    """Neither the worker's own code nor what it is made of imports pickle."""
    pattern = re.compile(
        r"^\s*(import|from)\s+(pickle|cPickle|dill|cloudpickle|joblib|shelve)", re.M
    )
    files = [*(ROOT / "backend").rglob("*.py"), *(ROOT / "components").rglob("*.py")]
    assert len(files) > 30
    assert [f.name for f in files if pattern.search(f.read_text(encoding="utf-8"))] == []


def test_worker_starts_light():
    ran = subprocess.run(
        [sys.executable, "-c", "import sys, backend.engine.worker; print(*sys.modules)"],
        cwd=ROOT, capture_output=True, text=True, timeout=30,
    )  # fmt: skip
    heavy = {"torch", "transformers", "captum", "shap", "streamlit", "plotly", "multiprocessing"}
    assert heavy.isdisjoint(ran.stdout.split())


def test_lane_survives_a_fault_of_its_own(options, ask, engine, monkeypatch, caplog):
    """A lane that fails fails its job, and takes the next."""
    send = Lane._send

    def broken(self, job):
        monkeypatch.setattr(Lane, "_send", send)
        raise OSError("no more processes")

    monkeypatch.setattr(Lane, "_send", broken)
    with caplog.at_level(logging.ERROR):
        job = finished(engine.submit(ask(engine)), "failed", 5)
    assert "cannot be started: no more processes" in job.error
    finished(engine.submit(ask(engine)))


def test_memory_limit_of_the_worker(engines, ask):
    """Within VITRINE_WORKER_MEMORY_GB a job fails by itself and the worker lives on."""
    engine = engines(worker_memory_gb=3)
    job = finished(engine.submit(ask(engine, "greedy", steps=4)), "failed")
    assert job.error.startswith("Memory ran out.")
    assert not job.fault
    pid = engine.workers()[0].pid
    finished(engine.submit(ask(engine, "greedy", steps=1)))
    assert engine.workers()[0].pid == pid


def test_interrupt_of_the_terminal_is_for_the_app(engine, ask):
    """Ctrl+C reaches every process of the terminal; the app decides what it means."""
    job = engine.submit(ask(engine, pause=0.2))
    until(lambda: job.what == "dawdling")
    os.kill(engine.workers()[0].pid, signal.SIGINT)
    finished(job)
