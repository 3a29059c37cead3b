"""Whatever bytes come, they are graphs or refused with a sentence."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backend.errors import InputError
from backend.graphs import inputs
from backend.graphs.explanation import GraphSet
from backend.settings import Settings
from tests.backend.graphs.test_graph_inputs import graph, written

OPTIONS = Settings(max_graph_mb=0.1, max_nodes=200, max_edges=200, max_graphs=20)
FILES = dict(written(graph())) | {
    "e.csv": b"source,target,w\na,b,1\nb,c,2\n",
    "m.smi": b"CCO\nc1ccccc1 benzene\n",
}
edits = st.lists(
    st.tuples(st.floats(0, 1), st.sampled_from(["set", "cut", "add"]), st.binary(max_size=6)),
    min_size=1,
    max_size=5,
)


def survives(name, data) -> None:
    with contextlib.suppress(InputError):
        found = inputs.read(name, data, OPTIONS)
        assert GraphSet.from_bytes(found.to_bytes()).arrays["edges"].shape[1] == 2


@pytest.mark.parametrize("ending", inputs.ENDINGS)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.binary(max_size=200))
def test_any_bytes(ending, data) -> None:
    survives(f"g{ending}", data)


@pytest.mark.parametrize("name", FILES)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(changes=edits)
def test_files_that_were_tampered_with(name, changes) -> None:
    data = FILES[name]
    for place, kind, new in changes:
        i = int(place * len(data))
        if kind == "set":
            data = data[:i] + new + data[i + len(new) :]
        else:
            data = data[:i] + (new if kind == "add" else b"") + data[i + (kind == "cut") * 7 :]
    survives(name, data)
