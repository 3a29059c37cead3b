"""The flags of the Graphs family bring graphs, a network and what is explained."""

from __future__ import annotations

import argparse

import numpy as np
import pytest
import safetensors.numpy

from backend.errors import InputError
from backend.graphs import arguments
from backend.graphs.architecture import Architecture
from backend.graphs.own_weights import expected
from backend.settings import Settings

SETTINGS = Settings()


def given(*words):
    parser = argparse.ArgumentParser()
    arguments.add(parser)
    return parser.parse_args(list(map(str, words)))


@pytest.fixture
def files(tmp_path):
    (tmp_path / "e.csv").write_text("source,target\na,b\nb,c\n")
    (tmp_path / "n.csv").write_text("id,f\na,1\nb,2\nc,3\n0,4\n")
    shapes = expected(Architecture(kind="gin", task="node", features=1, hidden=8, classes=3))
    weights = {name: np.ones(shape, "f4") for name, shape in shapes.items()}
    safetensors.numpy.save_file(weights, tmp_path / "w.safetensors")
    return tmp_path


def own(files, *more):
    return given(
        *("--input", files / "e.csv", "--nodes", files / "n.csv"),
        *("--weights", files / "w.safetensors", "--architecture", "gin", "--task", "node"),
        *("--hidden", 8, "--classes", 3, *more),
    )


def test_an_example_says_how_it_is_trained() -> None:
    asked = given(
        "--example",
        "ba_2motifs",
        "--architecture",
        "gcn",
        "--train-seed",
        3,
        "--labels",
        "shuffled",
    )
    assert arguments.graph_set(asked, SETTINGS) is None
    recipe = arguments.target(asked).recipe
    assert (recipe.kind, recipe.seed, recipe.hidden) == ("gcn", 3, None)
    assert recipe.labels == "shuffled"
    with pytest.raises(InputError, match="--train-seed"):
        arguments.target(given("--example", "mutag", "--train-seed", -1))


def test_own_graphs_with_own_weights(files) -> None:
    asked = own(files, "--node", "b", "--label", 2)
    found = arguments.graph_set(asked, SETTINGS)
    assert (found.architecture.classes, found.task) == (3, "node")
    target = arguments.target(asked, found)
    assert (target.node, target.label, target.recipe) == (1, 2, None)
    arguments.check(found, target)
    assert arguments.target(own(files, "--node", "0"), found).node == 3  # a name wins
    assert arguments.target(own(files, "--node", "2"), found).node == 2
    with pytest.raises(InputError, match="no one node 'q'"):
        arguments.target(own(files, "--node", "q"), found)
    for flag, value in (("--node", 4), ("--label", 3), ("--graph", 1)):
        asked = arguments.target(own(files, flag, value))
        with pytest.raises(InputError, match=flag):
            arguments.check(found, asked)


def test_a_molecule_for_an_examples_network() -> None:
    found = arguments.graph_set(given("--smiles", "CCO", "--example", "benzene"), SETTINGS)
    assert found.molecules
    assert found.architecture is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "There is no graph"),
        (("--smiles", "C"), "need one network"),
        (("--example", "mutag", "--nodes", "n.csv"), "graphs of your own"),
        (("--example", "mutag", "--classes", "3"), "your own network"),
        (("--smiles", "C", "--weights", "w", "--epochs", "3"), "about an example"),
        (("--smiles", "C", "--weights", "w"), "--architecture"),
        (
            ("--smiles", "C", "--weights", "w", "--architecture", "gin", "--layers", "99"),
            "--layers",
        ),
        (("--input", "absent.csv", "--example", "mutag"), "cannot be read"),
    ],
)
def test_flags_that_do_not_go_together_are_refused(words, said) -> None:
    with pytest.raises(InputError, match=said):
        arguments.graph_set(given(*words), SETTINGS)


def test_a_wrong_width_names_the_tensor(files) -> None:
    with pytest.raises(InputError, match=r"'convs.0.nn.0.weight' is"):
        arguments.graph_set(own(files, "--hidden", 9), SETTINGS)
