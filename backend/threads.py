"""Training in one thread: sums in several come in any order, and a seed would not fix a model.

The models here are small; a second thread saves them little.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """torch computes in one thread inside, and in as many as before after it."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
