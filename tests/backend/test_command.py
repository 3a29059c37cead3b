"""The command as a person starts it: real figures, a second run without torch, an interrupt."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.tiny import write

ROOT = Path(__file__).parents[2]
HEAVY = ("torch", "transformers", "plotly", "kaleido", "matplotlib", "streamlit")
# Runs the command in this process's stead, and says at the end what it had to load and start.
RUN = f"""
import runpy, subprocess, sys
started, real = [], subprocess.Popen
class Popen(real):
    def __init__(self, *words, **more):
        started.append(words[0])
        super().__init__(*words, **more)
subprocess.Popen = Popen
try:
    runpy.run_module("backend", run_name="__main__", alter_sys=True)
except SystemExit as stop:
    loaded = [name for name in {HEAVY!r} if name in sys.modules]
    workers = sum("backend.engine.worker" in words for words in started)
    print(stop.code, workers, *loaded, file=sys.stderr)
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    return write(tmp_path_factory.mktemp("models") / "tiny", "llama")


@pytest.fixture
def environment(tmp_path) -> dict[str, str]:
    own = {"VITRINE_STORE": str(tmp_path / "store"), "VITRINE_DEVICE": "cpu"}
    return {
        **os.environ,
        **own,
        "VITRINE_THREADS": "1",
        "BROWSER_PATH": "",
        "PYTHONPATH": str(ROOT),
    }


def explain(model: Path, out: Path) -> list[str]:
    words = ["explain", "tokens", "--text", "The code is", "--explainer", "attention_mean"]
    return [*words, "--model", str(model), "--out", str(out), "--figure", "png,html", "--json"]


def test_second_run_starts_no_worker_and_loads_no_torch_and_no_plotly(
    model: Path, environment: dict[str, str], tmp_path
) -> None:
    runs, contents = [], []
    for _ in range(2):
        runs.append(
            subprocess.run(
                [sys.executable, "-c", RUN, *explain(model, tmp_path / "out")],
                env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=300,
            )
        )  # fmt: skip
        folder = tmp_path / "out" / "attention_mean"
        contents.append({file.name: file.read_bytes() for file in folder.iterdir()})
    cached = [json.loads(run.stdout)["results"][0]["cached"] for run in runs]
    assert cached == [False, True]
    said = [run.stderr.splitlines()[-1].split() for run in runs]
    assert said[0][:2] == ["0", "1"]
    assert "torch" not in said[0]
    assert said[1] == ["0", "0"]
    assert contents[0] == contents[1]
    assert contents[0]["figure.png"].startswith(b"\x89PNG")
    assert b"<svg" not in contents[0]["card.html"]  # an image: nothing in it can run
    assert b"data:image/svg+xml;base64," in contents[0]["card.html"]


def test_interrupt_ends_the_command_and_its_worker(
    model: Path, environment: dict[str, str], tmp_path
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "backend", *explain(model, tmp_path / "out")],
        env=environment, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        # Tests in the background of a shell ignore interrupts, and so would what they start.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    found: list[int] = []
    end = time.monotonic() + 60
    while not found and time.monotonic() < end:
        tasks = Path(f"/proc/{process.pid}/task").glob("*/children")
        found = [int(child) for task in tasks for child in task.read_text().split()]
        time.sleep(0.02)
    assert found, "no worker was started"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == ""
    assert err == "Cancelled.\n"
    assert not any(Path(f"/proc/{child}").exists() for child in found)
