"""One browser is kept and replaced; one that hangs, dies or is missing never holds an export up."""

import os
import signal
import stat
import threading
import time
from pathlib import Path

import kaleido
import pytest

from components.figures import browser, render, tokens
from components.figures.browser import Browser, BrowserFailed
from tests.components.conftest import ENGLISH, explain

SIZE = (640, 240)


@pytest.fixture
def drawn():
    return tokens.strip(explain(ENGLISH))


@pytest.fixture
def kept():
    if browser.find() is None and not os.environ.get("VITRINE_REQUIRE_BROWSER"):
        pytest.skip("no Chromium or Chrome here")
    one = Browser()
    yield one
    one.close()


@pytest.fixture
def fresh():
    """A browser of its own where `render` asks for the process' one."""
    browser.browser.cache_clear()
    yield
    browser.browser().close()
    browser.browser.cache_clear()


def script(folder: Path, body: str) -> Path:
    path = folder / "chromium"
    path.write_text(f"#!/bin/sh\necho $$ > {folder}/pid\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def process_of(kept: Browser):
    return kept._live._kaleido.subprocess


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


@pytest.mark.browser
def test_one_browser_draws_many_and_ends_with_close(kept, drawn):
    assert kept.draw(drawn, "png", SIZE, 1.0, 60).startswith(b"\x89PNG")
    first = process_of(kept)
    begun = time.perf_counter()
    assert b"<svg" in kept.draw(drawn, "svg", SIZE, 1.0, 60)
    assert time.perf_counter() - begun < 10
    assert process_of(kept) is first
    kept.close()
    assert first.poll() is not None


@pytest.mark.browser
def test_a_killed_browser_is_replaced(kept, drawn):
    kept.draw(drawn, "png", SIZE, 1.0, 60)
    first = process_of(kept)
    os.killpg(first.pid, signal.SIGKILL)
    first.wait(10)
    assert kept.draw(drawn, "png", SIZE, 1.0, 60).startswith(b"\x89PNG")
    assert process_of(kept).pid != first.pid


@pytest.mark.browser
def test_a_worn_browser_is_replaced(kept, drawn, monkeypatch):
    monkeypatch.setattr(browser, "EXPORTS_A_BROWSER", 1)
    kept.draw(drawn, "png", SIZE, 1.0, 60)
    first = process_of(kept)
    kept.draw(drawn, "png", SIZE, 1.0, 60)
    assert process_of(kept).pid != first.pid
    assert first.poll() is not None


@pytest.mark.browser
def test_threads_share_the_browser(kept, drawn):
    found: list[bytes] = []
    threads = [
        threading.Thread(target=lambda: found.append(kept.draw(drawn, "png", SIZE, 1.0, 90)))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 3
    assert len(set(found)) == 1


def test_the_drawing_page_loads_nothing_from_outside():
    page = kaleido.PageGenerator(mathjax=False).generate_index()
    assert "http" not in page
    assert "plotly.min.js" in page


def test_a_hanging_browser_is_killed_and_the_figure_still_comes(
    tmp_path, monkeypatch, fresh, drawn
):
    monkeypatch.setenv("BROWSER_PATH", str(script(tmp_path, "sleep 600")))
    begun = time.monotonic()
    data = render.render(drawn, "png", timeout_s=3)
    assert time.monotonic() - begun < 20
    assert data.startswith(b"\x89PNG")
    pid = int((tmp_path / "pid").read_text())
    deadline = time.monotonic() + 5
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not alive(pid)
    assert "apt-get install chromium" in render.capabilities()["png"]
    begun = time.monotonic()
    assert render.render(drawn, "svg", timeout_s=60).lstrip().startswith(b"<?xml")
    assert time.monotonic() - begun < 10


def test_a_browser_that_dies_at_once(tmp_path, monkeypatch, fresh, drawn):
    monkeypatch.setenv("BROWSER_PATH", str(script(tmp_path, "exit 3")))
    begun = time.monotonic()
    assert render.render(drawn, "pdf", timeout_s=8).startswith(b"%PDF")
    assert time.monotonic() - begun < 25


@pytest.mark.parametrize("path", ["/nowhere/chromium", "", "/tmp"])  # noqa: S108
def test_no_browser_is_a_hint_and_a_plainer_file(path, monkeypatch, fresh, drawn):
    monkeypatch.setenv("BROWSER_PATH", path)
    able = render.capabilities()
    assert able["html"] == able["json"] == ""
    assert able["png"] == able["pdf"] == able["svg"]
    assert "apt-get install chromium" in able["png"]
    assert render.render(drawn, "png").startswith(b"\x89PNG")
    with pytest.raises(BrowserFailed, match="no Chromium or Chrome was found"):
        render.render(drawn, "png", via="browser")


def test_a_busy_browser_is_not_waited_for_longer_than_asked(fresh, drawn):
    kept = browser.browser()
    with kept._lock:
        begun = time.monotonic()
        with pytest.raises(BrowserFailed, match="busy"):
            kept.draw(drawn, "png", SIZE, 1.0, 0.2)
        assert time.monotonic() - begun < 2
