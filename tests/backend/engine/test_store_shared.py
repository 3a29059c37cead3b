"""The store shared by processes and threads, and on a full disk."""

import errno
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from backend.engine import store as module
from backend.engine.store import Store, StoreError
from tests.backend.engine.hammer import content

ROOT = Path(__file__).parents[3]
KEY = "ab" * 32


def hammer(root, seed, seconds):
    command = [sys.executable, "-m", "tests.backend.engine.hammer", str(root), str(seed)]
    return subprocess.Popen(
        [*command, str(seconds)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_processes_never_see_wrong_bytes(tmp_path):
    processes = [hammer(tmp_path, seed, 3) for seed in range(4)]
    for process in processes:
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        assert int(out) > 20
    assert not list(tmp_path.rglob("*.tmp"))
    store = Store(tmp_path, 20_000)
    assert store.size() <= 20_000
    rows = {entry.key: entry.size for entry in store.entries("explanation")}
    assert {p.name: p.stat().st_size for p in tmp_path.glob("explanation/??/*")} == rows


def test_killed_while_writing(tmp_path):
    """Whatever a killed process leaves, every entry that is found is whole."""
    for seed in range(3):
        process = hammer(tmp_path, seed, 60)
        deadline = time.monotonic() + 20
        while not list(tmp_path.glob("explanation/??/*")) and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(0.2)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=10)
    store = Store(tmp_path, 20_000)
    entries = store.entries("explanation")
    assert entries
    for entry in entries:
        data = store.get(entry.key, "explanation")
        if data is not None:
            assert data == content(entry.key, int(data.split(b":", 2)[1]))


def test_threads_share_a_store(tmp_path):
    store = Store(tmp_path, 10**6)

    def work(seed):
        for i in range(30):
            key = f"{(seed + i) % 8:02x}" * 32
            store.put(key, "explanation", content(key, i))
            data = store.get(key, "explanation")
            assert data is not None
            assert data.startswith(key.encode())
        return True

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(4), timeout=30))
    assert len(store.entries("explanation")) == 8


def test_full_disk(tmp_path, monkeypatch):
    """A put that does not fit says so and leaves nothing; what is stored stays readable."""
    store = Store(tmp_path, 10**6)
    store.put(KEY, "explanation", b"kept")
    write = Path.write_bytes

    def full(self, data):
        write(self, data[: len(data) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(StoreError, match=r"No space left.*VITRINE_STORE"):
        store.put("cd" * 32, "explanation", b"x" * 100)
    assert [p.name for p in tmp_path.glob("*/??/*")] == [KEY]
    assert not store.has("cd" * 32, "explanation")
    assert store.get(KEY, "explanation") == b"kept"


def test_use_that_cannot_be_noted_is_no_reason_to_withhold(tmp_path, monkeypatch):
    """Reading goes on where the index can no longer be written."""
    store = Store(tmp_path, 10**6)
    store.put(KEY, "explanation", b"kept")
    store._index.disconnect()
    with store._index.transaction("DEFERRED") as index:
        pass
    index.execute("PRAGMA query_only=ON")
    monkeypatch.setattr(module, "USED_RESOLUTION_S", 0.0)
    assert store.get(KEY, "explanation") == b"kept"
    with pytest.raises(StoreError):
        store.pin(KEY, "explanation")
    index.execute("PRAGMA query_only=OFF")
    store.pin(KEY, "explanation")  # the connection is still good
    assert store.entries("explanation")[0].pinned
