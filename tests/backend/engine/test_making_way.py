"""A running score makes way for what a person waits for, and comes back."""

from tests.backend.engine.conftest import finished, until


def scoring(engine, ask, **more):
    """A running score that takes long, its subject already stored."""
    subject = ask(engine, steps=1)
    finished(engine.submit(subject))
    job = engine.submit(ask(engine, "score", subject=subject, **more), "reader")
    until(lambda: job.what == "dawdling")
    return job


def test_score_makes_way_and_is_done_after_all(engine, ask, tmp_path):
    job = scoring(engine, ask, steps=20, pause=0.05, tag="score")
    other = engine.submit(ask(engine, steps=1, tag="other"), "person")
    finished(other)
    assert not job.finished
    assert engine.job(job.key) is job
    finished(job)
    lines = (tmp_path / "log").read_text().splitlines()
    assert [line.split()[1] for line in lines[1:]] == ["score", "other", "score"]


def test_score_that_made_way_can_be_cancelled_while_it_waits(engine, ask):
    job = scoring(engine, ask, steps=100, pause=0.05)
    other = engine.submit(ask(engine, steps=20, pause=0.1, tag="other"))
    until(lambda: job.state == "queued")
    assert job.place == 1
    engine.cancel(job.key, "reader")
    finished(job, "cancelled", 1)
    finished(other)


def test_explainers_do_not_make_way_for_each_other(engine, ask):
    first = engine.submit(ask(engine, steps=10, pause=0.05, tag="first"))
    until(lambda: first.what == "dawdling")
    prepared = engine.submit(ask(engine, "preparing", steps=1))
    finished(prepared)
    assert first.state == "done"


def test_closing_ends_a_score_that_makes_way(engines, ask):
    engine = engines()
    job = scoring(engine, ask, steps=100, pause=0.05)
    engine.submit(ask(engine, steps=100, pause=0.05, tag="other"))
    engine.close()
    assert job.wait(5)
    assert job.state in ("cancelled", "failed")
