"""The store in one process: what is put comes back whole or not at all."""

import os
import sqlite3
import stat
import time

import pytest

from backend.engine import store as module
from backend.engine.store import Store, StoreError

KEYS = [f"{i:02x}" * 32 for i in range(64)]


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store", 10**9)


def file_of(store, key, kind="explanation"):
    return store.root / kind / key[:2] / key


def files(store):
    return sorted(p.name for p in store.root.glob("*/??/*"))


def used(store, key):
    return next(e.used for e in store.entries("explanation") if e.key == key)


def test_round_trip(store):
    data = os.urandom(1000)
    store.put(KEYS[1], "explanation", data, family="fakes", title="a title", meta={"n": [1, 2]})
    assert store.get(KEYS[1], "explanation") == data
    assert store.has(KEYS[1], "explanation")
    [entry] = store.entries("explanation")
    assert (entry.key, entry.kind, entry.family) == (KEYS[1], "explanation", "fakes")
    assert (entry.title, entry.size, entry.pinned) == ("a title", 1000, False)
    assert entry.meta == {"n": [1, 2]}
    assert abs(entry.created - time.time()) < 5
    assert store.size() == 1000


def test_kinds_are_apart(store):
    store.put(KEYS[1], "explanation", b"one")
    assert store.get(KEYS[1], "input") is None
    store.put(KEYS[1], "input", b"two")
    assert store.get(KEYS[1], "explanation") == b"one"
    store.delete(KEYS[1], "explanation")
    assert not file_of(store, KEYS[1]).exists()
    assert store.get(KEYS[1], "input") == b"two"
    store.delete(KEYS[1], "explanation")


def test_empty_bytes_are_an_entry(store):
    store.put(KEYS[1], "figure", b"")
    assert store.get(KEYS[1], "figure") == b""


def test_put_replaces_and_keeps_the_pin(store):
    store.put(KEYS[1], "explanation", b"old" * 50)
    store.pin(KEYS[1], "explanation")
    store.put(KEYS[1], "explanation", b"new")
    assert store.get(KEYS[1], "explanation") == b"new"
    assert store.size() == 3
    assert store.entries("explanation")[0].pinned


def test_another_store_on_the_folder_sees_the_same(store):
    store.put(KEYS[1], "explanation", b"data")
    assert Store(store.root, 10**9).get(KEYS[1], "explanation") == b"data"


def test_entries_newest_first_and_by_family(store):
    for i, family in enumerate(["a", "b", "a"]):
        store.put(KEYS[i], "input", b"x", family=family)
    assert [e.key for e in store.entries("input")] == [KEYS[2], KEYS[1], KEYS[0]]
    assert [e.key for e in store.entries("input", "a")] == [KEYS[2], KEYS[0]]
    assert store.entries("input", "c") == []


def flipped(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def truncated(path):
    path.write_bytes(path.read_bytes()[:-1])


@pytest.mark.parametrize("damage", [flipped, truncated, lambda path: path.unlink()])
def test_damage_is_a_miss_and_goes(store, damage):
    store.put(KEYS[1], "explanation", b"some bytes that matter")
    damage(file_of(store, KEYS[1]))
    assert store.get(KEYS[1], "explanation") is None
    assert not store.has(KEYS[1], "explanation")
    assert files(store) == []
    assert store.size() == 0
    store.put(KEYS[1], "explanation", b"again")
    assert store.get(KEYS[1], "explanation") == b"again"


def test_row_of_another_put_is_read_again(store, monkeypatch):
    """A get between a replaced file and its row waits for the row instead of missing."""
    store.put(KEYS[1], "explanation", b"old")
    seen = []
    read = Store._read

    def once(self, index, kind, key):
        found = (None, 0.0) if not seen else read(self, index, kind, key)
        seen.append(found)
        return found

    monkeypatch.setattr(Store, "_read", once)
    assert store.get(KEYS[1], "explanation") == b"old"
    assert len(seen) == 2


def test_least_recently_used_goes_first(tmp_path, monkeypatch):
    store = Store(tmp_path / "store", 1000)
    clock = [1000.0]
    monkeypatch.setattr(module.time, "time", lambda: clock[0])
    for key in KEYS[:4]:
        store.put(key, "explanation", b"x" * 240)
        clock[0] += 100
    store.get(KEYS[0], "explanation")  # used again: now the oldest is KEYS[1]
    clock[0] += 100
    store.put(KEYS[9], "explanation", b"x" * 240)
    assert {e.key for e in store.entries("explanation")} == {KEYS[0], KEYS[3], KEYS[9]}
    assert store.size() == 720  # to 90 % of the bound, so that not every put evicts
    assert files(store) == sorted([KEYS[0], KEYS[3], KEYS[9]])


def test_pinned_and_newest_stay(tmp_path):
    store = Store(tmp_path / "store", 1000)
    store.put(KEYS[1], "comparison", b"x" * 400)
    store.pin(KEYS[1], "comparison")
    store.put(KEYS[2], "explanation", b"x" * 400)
    store.put(KEYS[3], "explanation", b"x" * 5000)
    assert store.get(KEYS[1], "comparison") == b"x" * 400
    assert store.get(KEYS[2], "explanation") is None
    assert store.get(KEYS[3], "explanation") == b"x" * 5000
    store.pin(KEYS[1], "comparison", False)
    store.put(KEYS[4], "explanation", b"y")
    assert store.get(KEYS[1], "comparison") is None
    assert store.get(KEYS[4], "explanation") == b"y"


def test_used_is_written_once_a_minute(store, monkeypatch):
    clock = [1000.0]
    monkeypatch.setattr(module.time, "time", lambda: clock[0])
    store.put(KEYS[1], "explanation", b"x")
    clock[0] = 1059.0
    store.get(KEYS[1], "explanation")
    assert used(store, KEYS[1]) == 1000.0
    clock[0] = 1060.0
    store.get(KEYS[1], "explanation")
    assert used(store, KEYS[1]) == 1060.0
    clock[0] = 500.0  # a clock that was set back
    store.get(KEYS[1], "explanation")
    assert used(store, KEYS[1]) == 500.0


def test_sweep_removes_what_nobody_names(store):
    store.put(KEYS[1], "explanation", b"kept")
    old = time.time() - 2 * module.TEMPORARY_S
    orphan, fresh = file_of(store, KEYS[2]), file_of(store, KEYS[3])
    stale = orphan.with_name("0" * 32 + ".tmp")
    young = orphan.with_name("1" * 32 + ".tmp")
    foreign = store.root / "Not-a-kind" / "ab" / KEYS[4]
    for path in (orphan, stale, fresh, young, foreign):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
    for path in (orphan, stale, foreign, file_of(store, KEYS[1])):
        os.utime(path, (old, old))
    assert store.sweep() == 2
    assert not orphan.exists()
    assert not stale.exists()
    assert fresh.exists()  # perhaps another process is about to name it
    assert young.exists()
    assert foreign.exists()
    assert store.get(KEYS[1], "explanation") == b"kept"


@pytest.mark.parametrize(
    "key",
    ["", "ab", "../" * 21 + "x", "A" * 64, "g" * 64, "a" * 65, "a" * 63 + "\n", "a" * 64 + "\n"],
)
def test_only_keys_are_keys(store, key):
    with pytest.raises(ValueError, match="not a key"):
        store.put(key, "explanation", b"x")
    with pytest.raises(ValueError, match="not a key"):
        store.get(key, "explanation")
    with pytest.raises(ValueError, match="not a key"):
        store.delete(key, "explanation")
    assert files(store) == []


@pytest.mark.parametrize("kind", ["", "..", "a/b", "Explanation", "index.sqlite"])
def test_only_kinds_are_kinds(store, kind):
    with pytest.raises(ValueError, match="not a key"):
        store.put(KEYS[1], kind, b"x")


def test_fault_inside_a_transaction_undoes_it(store):
    store.put(KEYS[1], "explanation", b"kept")

    def broken():
        with store._index.transaction() as index:
            index.execute("DELETE FROM entries")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        broken()
    assert store.get(KEYS[1], "explanation") == b"kept"
    store.put(KEYS[2], "explanation", b"more")


def test_folder_is_its_owners_alone(store):
    assert stat.S_IMODE(store.root.stat().st_mode) == 0o700


def test_a_file_in_place_of_the_folder(tmp_path):
    (tmp_path / "store").write_text("in the way")
    with pytest.raises(StoreError, match="VITRINE_STORE"):
        Store(tmp_path / "store", 1)


def test_a_kind_that_cannot_be_written(store):
    (store.root / "figure").write_text("in the way")
    with pytest.raises(StoreError, match="disk has room"):
        store.put(KEYS[1], "figure", b"x")
    assert not store.has(KEYS[1], "figure")
    store.put(KEYS[1], "explanation", b"x")
    assert store.get(KEYS[1], "explanation") == b"x"


@pytest.mark.parametrize("damage", ["all", "pages"])
def test_damaged_index_is_set_aside(store, damage):
    for key in KEYS:
        store.put(key, "explanation", b"x" * 10, title="long " * 200)
    path = store.root / "index.sqlite"
    store._index.disconnect()
    with sqlite3.connect(path) as index:
        index.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    index.close()
    data = bytearray(path.read_bytes())
    start = 0 if damage == "all" else 4096
    data[start:] = b"\xa5" * (len(data) - start)
    path.write_bytes(data)

    healed = Store(store.root, 10**9)
    assert healed.get(KEYS[1], "explanation") is None
    assert (store.root / "index.damaged").read_bytes() == bytes(data)
    old = time.time() - 1000
    for file in store.root.glob("explanation/??/*"):
        os.utime(file, (old, old))
    assert healed.sweep() == len(KEYS)
    healed.put(KEYS[1], "explanation", b"new")
    assert Store(store.root, 10**9).get(KEYS[1], "explanation") == b"new"
