"""An interrupt that Python drops still ends the command."""

from __future__ import annotations

import subprocess
import sys

LOST = """
import os, signal, weakref
from backend.commands import interrupt
{before}
interrupt.heed()
class Thing: pass
thing = Thing()
kept = weakref.ref(thing, lambda _: os.kill(os.getpid(), signal.SIGINT))
del thing
print("went on")
interrupt.check()
print("not noted")
"""


def ran(before: str = "") -> subprocess.CompletedProcess[str]:
    code = LOST.format(before=before)
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )


def test_an_interrupt_in_a_callback_is_noted():
    found = ran()
    assert found.stdout == "went on\n", "Python drops it, the note does not"
    assert "KeyboardInterrupt" in found.stderr


def test_where_interrupts_are_ignored_they_stay_so():
    found = ran("signal.signal(signal.SIGINT, signal.SIG_IGN)")
    assert found.stdout == "went on\nnot noted\n"
    assert found.returncode == 0
