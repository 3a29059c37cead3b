"""A person's weights are taken if every tensor is as declared; else the tensor is named."""

from __future__ import annotations

import numpy as np
import pytest
import safetensors.numpy

from backend.errors import InputError
from backend.graphs import own_weights
from backend.graphs.architecture import Architecture
from backend.graphs.gnn import Gnn
from backend.settings import Settings
from tests.backend.graphs.made import graph_set

GIN = Architecture(kind="gin", features=4, hidden=8)


def tensors(architecture=GIN):
    return {k: np.ascontiguousarray(v.numpy()) for k, v in Gnn(architecture).state_dict().items()}


def read(found, architecture=GIN):
    data = found if isinstance(found, bytes) else safetensors.numpy.save(found)
    return own_weights.read("w.safetensors", data, architecture, Settings())


@pytest.mark.parametrize("kind", ["gcn", "gin", "gat", "sage"])
@pytest.mark.parametrize("batch_norm", [True, False])
def test_what_is_expected_is_what_the_network_has(kind, batch_norm) -> None:
    architecture = Architecture(
        kind=kind, features=5, hidden=6, layers=2, classes=3, heads=2, batch_norm=batch_norm
    )
    if kind != "gat":
        architecture = architecture.model_copy(update={"heads": 1})
    found = {k: tuple(v.shape) for k, v in Gnn(architecture).state_dict().items()}
    found = {k: v for k, v in found.items() if not k.endswith("num_batches_tracked")}
    assert own_weights.expected(architecture) == found
    weights = read(tensors(architecture), architecture)
    assert {k.removeprefix("gnn/") for k in weights} == set(found)


def broken(key, value):
    found = tensors()
    if value is None:
        del found[key]
    else:
        found[key] = value
    return found


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("convs.1.nn.0.weight", None, "convs.1.nn.0.weight is missing"),
        ("convs.1.nn.0.weight", np.ones((8, 9), "f4"), r"0.weight' is \[8, 9\]; \[8, 8\]"),
        ("hidden.bias", np.ones(8, "f8"), "'hidden.bias' is F64"),
        ("out.bias", np.array([1, np.nan], "f4"), "'out.bias' holds a number"),
        ("norms.0.running_var", -np.ones(8, "f4"), "negative variance"),
        ("more.bias", np.ones(8, "f4"), "more.bias is not of this architecture"),
    ],
)  # fmt: skip
def test_the_tensor_that_is_wrong_is_named(key, value, said) -> None:
    with pytest.raises(InputError, match=said):
        read(broken(key, value))


def test_no_other_file_is_read() -> None:
    with pytest.raises(InputError, match="no safetensors file"):
        read(b"\x80\x04\x95 a pickle")


def test_the_network_answers_for_the_graphs_it_fits() -> None:
    from backend.graphs.batch import whole
    from backend.graphs.classifier import Classifier

    made = graph_set()
    plain = own_weights.attached(made, GIN, read(tensors()))
    assert plain.class_names == ("0", "1")
    assert Classifier.of(plain).logits(whole(plain, [0])).shape == (1, 2)
    with pytest.raises(InputError, match="reads 9 features, the nodes have 4"):
        own_weights.attached(made, GIN.model_copy(update={"features": 9}), {})
