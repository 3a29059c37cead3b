"""The way back from a source equals loops over layers, heads and positions."""

from __future__ import annotations

import numpy as np
import pytest

from backend.errors import InputError
from backend.tokens.contributed import Contributed
from tests.backend.tokens.passage import explain, parts_of, sequence_of, vectors


@pytest.mark.parametrize("architecture", ["llama", "qwen2", "gemma2", "gpt2", "gpt_neox"])
@pytest.mark.parametrize("source", [(0, 1), (3, 6)])
def test_equals_loops(architecture, source, tiny):
    model = tiny(architecture)
    ids = sequence_of(model).ids
    expected = np.zeros(len(ids))
    for parts in parts_of(model, ids):
        written = vectors(parts)[:, :, source[0] : source[1]].sum(axis=(0, 2))
        whole = parts.middle.double().numpy()
        near = np.abs(whole).sum(-1) - np.abs(whole - written).sum(-1)
        expected += np.maximum(near, 0) / np.abs(whole).sum(-1) / model.layers
    expected[: source[0] + 1] = 0
    found = explain(model, Contributed, first=source[0], stop=source[1])
    np.testing.assert_allclose(found.arrays["received"], expected, atol=1e-5)
    assert found.arrays["received"].any()


def test_the_residual_of_the_source_itself_is_not_counted(tiny):
    found = explain(tiny("llama"), Contributed, first=4, stop=7)
    assert not found.arrays["received"][:5].any()


@pytest.mark.parametrize(("first", "stop"), [(3, 3), (4, 2), (-1, 2)])
def test_no_source(first, stop):
    with pytest.raises(ValueError, match=r"first|stop"):
        Contributed.Parameters(first=first, stop=stop)


def test_a_source_past_the_end(tiny):
    model = tiny("llama")
    length = len(sequence_of(model))
    with pytest.raises(InputError, match=f"have {length}"):
        explain(model, Contributed, first=1, stop=length)
