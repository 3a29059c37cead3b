"""numpy's global generator, which some libraries seed: left as it was."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import numpy as np


@contextlib.contextmanager
def numpy_state() -> Iterator[None]:
    """The generator is afterwards as it was before."""
    before = np.random.get_state()  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(before)  # noqa: NPY002
