"""Jobs that nobody wants any more: holders, cancelling, the grace period, the deadline."""

import time

import pytest

from backend.engine import job as module
from backend.engine.job import Job
from tests.backend.engine.conftest import finished, until


def running(engine, request, holder=""):
    job = engine.submit(request, holder)
    until(lambda: job.what in ("dawdling", "still here"))
    return job


def test_cancel_by_one_holder_keeps_it_for_the_other(engine, ask):
    job = running(engine, ask(engine, pause=0.2), "a")
    assert engine.submit(ask(engine, pause=0.2), "b") is job
    engine.cancel(job.key, "a")
    finished(job)


def test_cancel_by_all_holders_stops_it(engine, ask):
    job = running(engine, ask(engine, pause=0.2, steps=100), "a")
    engine.submit(ask(engine, pause=0.2, steps=100), "b")
    engine.cancel(job.key, "a")
    engine.cancel(job.key, "b")
    finished(job, "cancelled", 3)
    assert job.error == ""
    assert engine.job(job.key) is job
    assert engine.store.entries("explanation") == []


def test_cooperative_cancel_keeps_the_worker(engine, ask):
    job = running(engine, ask(engine, pause=0.05, steps=1000))
    [worker] = engine.workers()
    assert (worker.state, worker.current) == ("busy", job.key)
    engine.cancel(job.key)
    finished(job, "cancelled", 3)
    finished(engine.submit(ask(engine)))
    assert engine.workers()[0].pid == worker.pid


def test_holder_not_heard_of_does_not_keep_it(engine, ask, monkeypatch):
    monkeypatch.setattr(module, "HOLD_S", 0.3)
    job = running(engine, ask(engine, pause=0.05, steps=1000), "gone")
    engine.submit(ask(engine, pause=0.05, steps=1000), "here")
    engine.submit(ask(engine, pause=0.05, steps=1000), "last")
    end = time.monotonic() + 0.5
    while time.monotonic() < end:
        engine.touch(job.key, "here")
        time.sleep(0.05)
    engine.cancel(job.key, "last")
    time.sleep(0.3)
    assert job.state == "running"  # "here" still waits
    engine.cancel(job.key, "here")
    finished(job, "cancelled", 3)


def test_cancel_while_queued(engine, ask, computed):
    first = running(engine, ask(engine, pause=0.2))
    jobs = [engine.submit(ask(engine, seed=s, tag=str(s))) for s in (1, 2, 3)]
    engine.cancel(jobs[1].key)
    assert jobs[1].state == "cancelled"
    assert jobs[1].finished
    assert [j.place for j in jobs] == [1, 0, 2]
    for job in (first, jobs[0], jobs[2]):
        finished(job)
    assert computed() == ["computed noise", "computed 1", "computed 3"]


def test_cancel_before_the_worker_is_there(engine, ask, computed):
    """The moment between taking a job and starting its worker loses no cancel."""
    for seed in range(5):
        job = engine.submit(ask(engine, seed=seed, pause=5.0))
        time.sleep(0.002 * seed)
        engine.cancel(job.key)
        finished(job, "cancelled", 6)


def test_cancel_of_nothing(engine, ask):
    engine.cancel("0" * 64, "a")
    job = finished(engine.submit(ask(engine)))
    engine.cancel(job.key)
    engine.touch(job.key, "a")
    assert job.state == "done"


def test_stubborn_job_costs_its_worker(engine, ask):
    """It hears no cancel and reports all the time: the clock is looked at nevertheless."""
    job = running(engine, ask(engine, "stubborn"))
    pid = engine.workers()[0].pid
    started = time.monotonic()
    engine.cancel(job.key)
    finished(job, "cancelled", 5)
    assert 0.4 < time.monotonic() - started < 3
    finished(engine.submit(ask(engine)))
    assert engine.workers()[0].pid != pid


def test_asked_for_again_while_it_stops(engines, ask, computed):
    """Whoever asks again gets a job of their own, not one that is about to be cancelled."""
    engine = engines(cancel_grace_s=1.0)
    job = running(engine, ask(engine, "noise", pause=0.6), "a")
    engine.cancel(job.key, "a")
    again = engine.submit(ask(engine, "noise", pause=0.6), "b")
    assert again is not job
    assert engine.job(job.key) is again
    finished(job, "cancelled", 3)
    until(lambda: again.state == "running")
    assert engine.job(job.key) is again
    assert engine.submit(ask(engine, "noise", pause=0.6)) is again
    finished(again)
    assert engine.job(job.key) is again
    assert computed() == ["computed noise"] * 2


def test_a_cancelled_job_may_be_asked_for_again(engine, ask):
    job = running(engine, ask(engine, pause=0.2))
    engine.cancel(job.key)
    finished(job, "cancelled", 3)
    finished(engine.submit(ask(engine, pause=0.2)))


@pytest.mark.parametrize("explainer", ["noise", "stubborn"])
def test_deadline(engines, ask, explainer):
    engine = engines(job_deadline_s=4.0)  # a busy machine starts the next worker in less
    job = engine.submit(ask(engine, explainer, pause=60.0))
    finished(job, "failed", 12)
    assert "Stopped after 4 seconds (VITRINE_JOB_DEADLINE_S)" in job.error
    assert 3.9 < job.seconds < 9
    finished(engine.submit(ask(engine)))


def test_progress_and_time_left_are_visible(engine, ask):
    job = engine.submit(ask(engine, pause=0.15, steps=12))
    seen, left = set(), []
    while not job.finished:
        seen.add((job.state, job.what, job.total))
        if job.eta_s is not None:
            left.append((job.done, job.eta_s))
        time.sleep(0.01)
    finished(job)
    assert ("running", "starting the worker", 1) in seen
    assert ("running", "dawdling", 12) in seen
    done, seconds = left[-1]
    assert done >= 10
    assert seconds == pytest.approx((12 - done) * 0.15, abs=0.2)
    assert 1.8 < job.seconds < 4
    assert job.eta_s is None


def test_time_left_is_that_of_the_stage(monkeypatch):
    clock = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: clock[0])
    job = Job("k", "title")
    assert (job.eta_s, job.seconds) == (None, 0.0)
    job.start()
    job.report(0, 4, "one")
    assert job.eta_s is None
    clock[0] = 110.0
    job.report(1, 4, "one")
    assert job.eta_s == 30.0  # 10 s for a quarter
    job.report(1, 2, "two")
    assert job.eta_s is None  # the stage has just begun
    clock[0] = 112.0
    assert job.eta_s == 2.0
    clock[0] = 120.0
    job.end("done")
    clock[0] = 150.0
    assert (job.eta_s, job.seconds, job.finished) == (None, 20.0, True)


def test_close_ends_what_runs_and_what_waits(engine, ask):
    first = running(engine, ask(engine, pause=1.0, steps=60))
    waiting = engine.submit(ask(engine, seed=1))
    engine.close()
    assert "shutting down" in finished(first, "failed", 5).error
    finished(waiting, "cancelled", 1)
    with pytest.raises(Exception, match="shutting down"):
        engine.submit(ask(engine, seed=2))


@pytest.mark.parametrize("delay", [0.0, 0.01, 0.1, 0.3])
def test_close_while_the_worker_starts(engines, ask, delay):
    """However early the engine is closed, no job waits for ever and no worker stays."""
    engine = engines()
    job = engine.submit(ask(engine, pause=1.0, steps=60))
    time.sleep(delay)
    engine.close()
    assert job.wait(5)
    assert job.state in ("failed", "cancelled")
    until(lambda: all(worker.state == "stopped" for worker in engine.workers()), 5)
