"""Graphs of one's own get the features a trained network reads, by name."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from backend.errors import InputError
from backend.graphs import inputs
from backend.graphs.adopt import adopted
from backend.settings import Settings
from tests.backend.graphs.made import graph_set


def model(names=("size", "b", "c", "d"), **more):
    found = graph_set(**more)
    found.arrays["x"][:, 2] = 7
    return dataclasses.replace(found, feature_names=names, class_names=("bad", "good"))


def read(name, text, **more):
    return inputs.read(name, text.encode(), Settings(), **more)


def test_features_are_matched_by_name_and_the_missing_are_told() -> None:
    table = b"id,Size,other,class\na,1,5,good\nb,2,5,bad\n"
    own = read("e.csv", "u,v\na,b\n", nodes=("n.csv", table))
    trained = model(task="node")
    found = adopted(own, trained)
    mean = trained.arrays["x"].mean(axis=0)
    assert np.allclose(found.arrays["x"][:, 0], [1, 2])
    assert np.allclose(found.arrays["x"][:, 1:], [mean[1], 7, mean[3]], atol=1e-6)
    assert found.arrays["labels"].tolist() == [1, 0]
    text = " ".join(found.origin["notes"])
    assert "matched by name: size" in text
    assert "their mean in the model's graphs: b, d" in text
    assert "always the same: c" in text
    assert "does not read: other" in text
    assert (found.arrays["gnn/out.bias"] == trained.arrays["gnn/out.bias"]).all()


def test_where_nothing_fits_it_is_refused_unless_nodes_are_all_alike() -> None:
    own = read("e.csv", "u,v\na,b\n")
    with pytest.raises(InputError, match="none of the features this network reads: size, b, c, d"):
        adopted(own, model())
    trained = model()
    trained.arrays["x"][:] = 0.1
    assert np.allclose(adopted(own, trained).arrays["x"], 0.1)
    with pytest.raises(InputError, match="no trained network"):
        adopted(own, own)


def test_directions_are_dropped_with_parallel_edges_kept() -> None:
    own = read("e.csv", "u,v,size\na,b,1\nb,a,2\na,b,3\nc,b,4\nc,c,5\n", directed=True)
    trained = model()
    trained.arrays["x"][:] = 1
    found = adopted(own, trained)
    assert not found.directed
    assert found.arrays["edge_attr"][:, 0].tolist() == [1, 3, 4, 5]
    assert found.arrays["edge_counts"].tolist() == [4]
