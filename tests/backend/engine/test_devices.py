"""Which devices workers compute on, told without torch."""

import pytest

from backend.engine.engine import devices
from tests.backend.engine.conftest import finished, until


@pytest.fixture
def tool(tmp_path, monkeypatch):
    """Puts an `nvidia-smi` of the given text first on the path."""

    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)

    def make(script):
        file = tmp_path / "bin" / "nvidia-smi"
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)
        monkeypatch.setenv("PATH", f"{file.parent}:/usr/bin:/bin")

    return make


@pytest.mark.parametrize("wanted", ["cpu", "cuda:1", "mps"])
def test_a_named_device_is_taken_as_it_is(tool, wanted):
    tool("echo 'GPU 0: x'")
    assert devices(wanted) == [wanted]


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ("echo 'GPU 0: A (UUID: GPU-1)'; echo 'GPU 1: A (UUID: GPU-2)'", ["cuda:0", "cuda:1"]),
        ("echo 'GPU 0: A'; echo '  MIG 1g.10gb Device 0: (UUID: MIG-1)'", ["cuda:0"]),
        ("echo 'No devices found'", ["cpu"]),
        ("exit 9", ["cpu"]),
    ],
)
def test_auto_asks_the_driver(tool, script, found):
    tool(script)
    assert devices("auto") == found


@pytest.mark.parametrize(
    ("visible", "found"),
    [
        ("3", ["cuda:0"]),
        ("GPU-1,GPU-2", ["cuda:0", "cuda:1"]),
        ("0,1,2,3,4", ["cuda:0", "cuda:1"]),
        ("1,-1,0", ["cuda:0"]),
        ("-1", ["cpu"]),
        ("", ["cpu"]),
    ],
)
def test_only_visible_devices(tool, monkeypatch, visible, found):
    tool("echo 'GPU 0: A'; echo 'GPU 1: A'")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert devices("auto") == found


def test_no_driver(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert devices("auto") == ["cpu"]


def test_two_devices_work_at_once(engines, ask, monkeypatch):
    """One worker a device; the queue is shared, and a killed job stops nobody else."""
    monkeypatch.setattr("backend.engine.engine.devices", lambda _: ["cpu", "cpu"])
    engine = engines()
    jobs = [engine.submit(ask(engine, seed=s, pause=0.3)) for s in (1, 2)]
    until(lambda: all(job.what == "dawdling" for job in jobs))
    assert {w.current for w in engine.workers()} == {job.key for job in jobs}
    killed = engine.submit(ask(engine, "killed"))
    for job in jobs:
        finished(job)
    finished(killed, "failed")
    finished(engine.submit(ask(engine, seed=3)))
