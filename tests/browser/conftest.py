"""A served app on a fresh store, and a Chromium that reports every request and console message."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    expect,
    sync_playwright,
)

# A busy machine draws a page in more than the five seconds that are the default.
expect.set_options(timeout=300_000)

ROOT = Path(__file__).parents[2]
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chrome")
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@dataclass
class Served:
    """A running app."""

    url: str
    store: Path


@dataclass
class Watch:
    """What a browser context asked for and complained about."""

    outbound: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def follow(self, page: Page, url: str) -> None:
        page.on("request", lambda r: self._request(r.url, url))
        page.on("console", self._message)
        page.on("pageerror", lambda error: self.errors.append(str(error)))

    def _message(self, message: ConsoleMessage) -> None:
        # Streamlit's client looks for the server below a page's own address first, and the browser
        # reports the 404 it expects there.
        probe = re.search(
            r"/(tokens|graphs|concepts|images|policies|study|library)/_stcore/(health|host-config)$",
            message.location["url"],
        )
        if message.type == "error" and not probe:
            self.errors.append(f"{message.text} ({message.location['url']})")

    def _request(self, asked: str, url: str) -> None:
        local = (url, url.replace("http", "ws"), "data:", "blob:", "about:")
        if not asked.startswith(local):
            self.outbound.append(asked)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def serve(store: Path, **environment: str) -> Iterator[Served]:
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)],
        cwd=ROOT,
        env={**os.environ, "VITRINE_STORE": str(store), **environment},
        stdout=(store.parent / "server.log").open("w"),
        stderr=subprocess.STDOUT,
    )
    url = f"http://127.0.0.1:{port}"
    try:
        _wait_until_healthy(url, process)
        yield Served(url=url, store=store)
    finally:
        process.terminate()
        process.wait(20)


def _wait_until_healthy(url: str, process: subprocess.Popen) -> None:
    for _ in range(240):
        assert process.poll() is None, "the app ended before it answered"
        try:
            with urllib.request.urlopen(f"{url}/_stcore/health", timeout=2) as answer:  # noqa: S310
                if answer.status == 200:
                    return
        except OSError:
            time.sleep(0.25)
    raise AssertionError("the app did not become healthy in a minute")


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    if CHROMIUM is None:
        if os.environ.get("VITRINE_REQUIRE_BROWSER"):
            pytest.fail("no Chromium found: apt-get install chromium")
        pytest.skip("no Chromium found: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield browser
        browser.close()


@pytest.fixture
def context(chromium: Browser) -> Iterator[BrowserContext]:
    made = chromium.new_context(
        viewport={"width": 1440, "height": 1000}, accept_downloads=True, locale="en-GB"
    )
    made.set_default_timeout(300_000)
    yield made
    made.close()
