"""One Chromium, started at the first export and kept, that draws figures as a page shows them.

The browser talks through pipes and gets every script from disk; a proxy address nobody listens on
keeps it from any outbound request. Every wait has an end: a browser that does not answer is killed
with its children, and for a while figures are drawn without one.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import functools
import os
import signal
import threading
import time
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

import plotly.graph_objects as go

if TYPE_CHECKING:
    import kaleido

T = TypeVar("T")

NOWHERE = "http://127.0.0.1:9"
"""The discard port: what is sent to this proxy is refused on this machine."""

EXPORTS_A_BROWSER = 200
"""A browser's memory creeps up with its exports, so it is then replaced."""

REST_S = 300.0
"""How long a browser that failed is left alone."""


class BrowserFailed(Exception):
    """There is no browser, or it did not draw the figure in time; the text says which."""


def find() -> str | None:
    """Path of the browser: `BROWSER_PATH` if that is set, else a Chromium or Chrome here."""
    named = os.environ.get("BROWSER_PATH")
    if named is not None:
        return named if os.access(named, os.X_OK) and os.path.isfile(named) else None  # noqa: PTH113
    from choreographer.browsers.chromium import Chromium

    found: str | None = Chromium.find_browser(skip_local=False)
    return found


class Browser:
    """A kept-alive browser on a thread of its own; safe to call from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._live: _Live | None = None
        self._rests_until = 0.0
        self._path: str | None = None

    @property
    def trouble(self) -> str:
        """Why there is no picture from a browser at the moment, or ""."""
        path = find()
        if path is None:
            return "no Chromium or Chrome was found"
        if path == self._path and time.monotonic() < self._rests_until:
            return "the browser did not answer"
        return ""

    def draw(
        self, figure: go.Figure, format: str, size: tuple[int, int], scale: float, timeout_s: float
    ) -> bytes:
        """The figure as png, svg or pdf.

        Raises:
            BrowserFailed: no browser, or none that answers within `timeout_s`.
        """
        end = time.monotonic() + timeout_s
        if not self._lock.acquire(timeout=timeout_s):
            raise BrowserFailed("other exports kept the browser busy")
        try:
            if self.trouble:
                raise BrowserFailed(self.trouble)
            options = {"format": format, "width": size[0], "height": size[1], "scale": scale}
            return self._attempt(figure, options, end)
        finally:
            self._lock.release()

    def close(self) -> None:
        """End the browser; a later `draw` starts another."""
        with self._lock:
            self._drop(politely=True)

    def _attempt(self, figure: go.Figure, options: dict[str, Any], end: float) -> bytes:
        path = find()
        if self._live is not None and (self._live.path != path or self._live.worn):
            self._drop(politely=True)
        open_before = self._live is not None
        try:
            if self._live is None:
                self._path = path
                self._live = _Live(str(path))
                self._live.open(end - time.monotonic())
            open_before = True
            picture = self._live.picture(figure, options, end - time.monotonic())
        except Exception as error:
            # Kaleido, its driver and the browser each have errors of their own; none may reach
            # a person who asked for a file that can be drawn without them.
            self._drop()
            if isinstance(error, TimeoutError) or not open_before:
                self._rests_until = time.monotonic() + REST_S
            raise BrowserFailed(f"the browser failed: {type(error).__name__} {error}") from error
        return picture

    def _drop(self, *, politely: bool = False) -> None:
        live, self._live = self._live, None
        if live is not None and politely:
            live.leave()
        elif live is not None:
            live.kill()


class _Live:
    """A browser process and the event loop that talks to it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._pid = os.getpid()
        self._exports = 0
        self._kaleido: kaleido.Kaleido | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="figure-browser", daemon=True
        )
        self._thread.start()

    @property
    def worn(self) -> bool:
        """Whether it is time for another one: many exports, or this one has ended."""
        process = getattr(self._kaleido, "subprocess", None)
        ended = process is not None and process.poll() is not None
        return ended or self._exports >= EXPORTS_A_BROWSER

    def open(self, timeout_s: float) -> None:
        """Start the browser and load the drawing page."""
        self._wait(self._open(timeout_s), timeout_s)

    def picture(self, figure: go.Figure, options: dict[str, Any], timeout_s: float) -> bytes:
        """Draw one figure."""
        if self._kaleido is None:
            raise BrowserFailed("the browser is not open")
        self._exports += 1
        drawn: bytes = self._wait(self._kaleido.calc_fig(figure, options), timeout_s)
        return drawn

    def leave(self) -> None:
        """Ask the browser to end, then make sure of it."""
        if self._kaleido is not None and os.getpid() == self._pid:
            with contextlib.suppress(Exception):  # the kill below is what counts
                self._wait(self._kaleido.close(), 5.0)
        self.kill()

    def kill(self) -> None:
        """End the process with its children, then the loop; never waits long."""
        process = getattr(self._kaleido, "subprocess", None)
        if process is not None and os.getpid() == self._pid:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                # The driver starts the browser as the leader of a group of its own.
                os.killpg(process.pid, signal.SIGKILL)
        if self._kaleido is not None:
            with contextlib.suppress(Exception):  # half-open browsers fail to close in many ways
                self._wait(self._kaleido.close(), 5.0)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=5.0)

    async def _open(self, timeout_s: float) -> None:
        import kaleido

        self._kaleido = kaleido.Kaleido(
            n=1, timeout=timeout_s, mathjax=False, path=self.path, proxy_server=NOWHERE
        )
        await self._kaleido.open()

    def _wait(self, work: Coroutine[Any, Any, T], timeout_s: float) -> T:
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(max(0.0, timeout_s))
        except TimeoutError:
            future.cancel()
            raise


@functools.cache
def browser() -> Browser:
    """The one browser of this process; it ends with the process."""
    kept = Browser()
    atexit.register(kept.close)
    return kept
