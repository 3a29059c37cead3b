"""Ctrl-C that is not lost.

Python raises KeyboardInterrupt wherever the main thread happens to be. In a callback of a weak
reference or of the garbage collector it is printed and dropped, and the command would go on; so the
handler also takes note of it, and whoever waits looks at the note.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import NoReturn

_noted = threading.Event()


def heed() -> None:
    """Take note of interrupts from here on; where they are ignored (`nohup`), they stay so."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _note)


def check() -> None:
    """Raise KeyboardInterrupt if there was an interrupt."""
    if _noted.is_set():
        raise KeyboardInterrupt


def _note(_number: int, _frame: FrameType | None) -> NoReturn:
    _noted.set()
    raise KeyboardInterrupt
