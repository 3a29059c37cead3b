"""The run an explainer is given, in this process."""

import numpy as np
import pytest

from backend.engine.run import Memory, WorkerRun, out_of_memory
from backend.errors import Cancelled, OutOfMemory


@pytest.fixture
def reports():
    return []


@pytest.fixture
def cancelled():
    """Empty until a test puts something in."""
    return []


@pytest.fixture
def run(reports, cancelled):
    return WorkerRun(
        device="cpu",
        dtype="float32",
        seed=11,
        subject=None,
        report=lambda *report: reports.append(report),
        cancelled=lambda: bool(cancelled),
    )


def work_of(limit, sizes):
    """Squares items, at most `limit` at once."""

    def work(part):
        if len(part) > limit:
            raise MemoryError
        sizes.append(len(part))
        return [item * item for item in part]

    return work


@pytest.mark.parametrize("items", [0, 1, 7, 8, 9])
@pytest.mark.parametrize("size", [1, 3, 8, 100])
@pytest.mark.parametrize("limit", [1, 2, 5, 100])
def test_batches_join_in_order_whatever_fits(run, items, size, limit):
    sizes = []
    assert run.batches(range(items), size, work_of(limit, sizes)) == [i * i for i in range(items)]
    assert sum(sizes) == items
    assert max(sizes, default=0) <= min(size, limit)
    assert run.batch_size == (max(sizes) if items else None)
    assert bool(run.warnings) == (min(size, items) > limit)


def test_what_did_not_fit_is_not_tried_again(run):
    sizes = []
    work = work_of(3, sizes)
    run.batches(range(8), 8, work)
    run.batches(range(4), 8, work)
    assert sizes == [2] * 6
    assert len(run.warnings) == 2


def test_a_small_batch_does_not_make_the_next_small(run):
    """A single forward pass before a long series leaves the series its batches."""
    sizes = []
    run.batches([0], 1, work_of(100, sizes))
    run.batches(range(32), 16, work_of(100, sizes))
    assert sizes == [1, 16, 16]
    assert run.batch_size == 16


def test_one_item_too_big(run):
    with pytest.raises(OutOfMemory, match="even one item"):
        run.batches(range(4), 4, work_of(0, []))


def test_other_faults_are_not_memory(run):
    def work(part):
        raise RuntimeError("shapes do not match")

    with pytest.raises(RuntimeError, match="shapes"):
        run.batches(range(4), 4, work)
    assert run.warnings == []


@pytest.mark.parametrize("found", [[], [1], [1, 2, 3]])
def test_as_many_results_as_items(run, found):
    with pytest.raises(ValueError, match=f"{len(found)} results for 2 items"):
        run.batches(range(2), 2, lambda _: found)


def test_progress_of_batches(run, reports):
    run.batches(range(5), 2, work_of(9, []), "alone")
    run.batches(range(2), 2, work_of(9, []), "part", before=10, total=40)
    assert reports == [(2, 5, "alone"), (4, 5, "alone"), (5, 5, "alone"), (12, 40, "part")]


def test_cancelled_between_batches(run, cancelled):
    done = []

    def work(part):
        done.append(part)
        cancelled.append(True)
        return part

    with pytest.raises(Cancelled):
        run.batches(range(6), 2, work)
    assert len(done) == 1
    with pytest.raises(Cancelled):
        run.progress(1, 2, "more")
    with pytest.raises(Cancelled):
        run.check_cancelled()


def test_generators_start_at_the_seed_each_time(run):
    assert run.numpy_generator().normal() == np.random.default_rng(11).normal()
    assert run.numpy_generator().normal() == run.numpy_generator().normal()
    torch = pytest.importorskip("torch")
    first = torch.rand(3, generator=run.torch_generator())
    assert torch.equal(first, torch.rand(3, generator=run.torch_generator()))
    assert torch.equal(first, torch.rand(3, generator=torch.Generator().manual_seed(11)))


def test_counts_and_warnings(run):
    run.count(forward=3)
    run.count(forward=2, backward=1)
    assert (run.forward_passes, run.backward_passes) == (5, 1)
    for message in ("one", "two", "one"):
        run.warn(message)
    assert run.warnings == ["one", "two"]


def test_memory_that_torch_lacks_is_recognised():
    torch = pytest.importorskip("torch")
    with pytest.raises(RuntimeError) as caught:
        torch.empty(2**60, dtype=torch.uint8)
    assert out_of_memory(caught.value)
    assert out_of_memory(torch.OutOfMemoryError("CUDA out of memory."))
    assert out_of_memory(RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling x"))
    assert out_of_memory(MemoryError())
    assert not out_of_memory(RuntimeError("CUDA error: device-side assert triggered"))
    assert not out_of_memory(ValueError("bad"))


def test_peak_memory_is_of_the_job():
    big = np.ones(200_000_000, np.uint8)
    del big
    memory = Memory("cpu")
    before = memory.peak()
    block = np.ones(100_000_000, np.uint8)
    assert block.sum() == 100_000_000
    del block
    assert 90_000_000 < memory.peak() - before < 150_000_000
