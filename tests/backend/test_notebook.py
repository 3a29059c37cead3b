"""`from backend import explain`: the command line's explanation, its card shown in a frame."""

from __future__ import annotations

import html
import json
import re

import numpy as np
import pytest
import safetensors.numpy

import backend
from backend import explain
from backend.consensus import consensus
from backend.errors import InputError, VitrineError
from backend.graphs.explanation import GraphExplanation
from tests.tiny import write

pytestmark = pytest.mark.usefixtures("in_one_store")
MUTAG = {"example": "mutag", "epochs": 2}


def test_it_is_the_command_lines_explanation_from_the_same_store(run, tmp_path):
    words = ("--example", "mutag", "--epochs", "2", "--graph", "3", "--set", "absolute=false")
    said = run("explain", "graphs", *words, "--explainer", "saliency", "--out", "o")
    found = explain("graphs", "saliency", **MUTAG, graph=3, parameters={"absolute": False})
    assert isinstance(found, GraphExplanation)
    assert found.source().key == said["results"][0]["key"]
    kept = safetensors.numpy.load_file(tmp_path / "o" / "saliency" / "arrays.safetensors")
    np.testing.assert_array_equal(found.arrays["scores"], kept["scores"])


def test_a_notebook_shows_the_card_in_a_frame_where_nothing_runs():
    found = explain("graphs", "saliency", **MUTAG)
    shown = found._repr_html_()
    frame = re.fullmatch(r'<iframe sandbox srcdoc="([^"]*)" style="[^"]*"></iframe>', shown)
    card = html.unescape(frame.group(1))
    assert card.startswith("<!doctype html>")
    assert "data:image/svg+xml;base64," in card
    assert "python -m backend explain graphs" in card
    assert not re.search(r'(?:src|href)="(?!data:)', card)
    prompt = re.search(r'<script type="application/json" id="prompt">(.*?)</script>', card).group(1)
    assert json.loads(prompt)["title"] == "MUTAG"


def test_one_that_was_not_made_here_is_shown_as_text():
    found = explain("graphs", "saliency", **MUTAG)
    read = GraphExplanation.from_bytes(found.to_bytes())
    assert read._repr_html_() is None
    assert read.digest() == found.digest()


def test_flags_are_keywords_and_lists_are_joined():
    found = explain("graphs", "edge_occlusion", smiles="CCO", example="mutag", epochs=2, nodes=None)
    assert found.values["nodes"] == 3


def test_a_consensus_is_named_with_those_it_is_of():
    named = "saliency,edge_occlusion,consensus"
    found = explain("graphs", named, **MUTAG, parameters={"saliency.absolute": False})
    assert found.source().request.explainer == "consensus"
    first = explain("graphs", "saliency", **MUTAG, parameters={"absolute": False})
    other = explain("graphs", "edge_occlusion", **MUTAG)
    known, _ = consensus([one.arrays["scores"] for one in (first, other)])
    np.testing.assert_array_equal(found.arrays["scores"], known)
    assert [m.explainer for m in found.source().request.members] == named.split(",")[:2]
    assert explain("graphs", named, **MUTAG).source().key != found.source().key
    card = html.unescape(html.unescape(found._repr_html_()))
    assert f"explain graphs --explainer {named} " in card
    assert "--set saliency.absolute=false" in card


def test_every_family_has_a_card(tmp_path):
    model = write(tmp_path / "tiny", "llama")
    tokens = explain(
        "tokens", "attention_mean", text="The code is", model=str(model), max_new_tokens=2
    )
    concepts = explain("concepts", "concept_flip", example="xor", sample=1)
    for found, word in ((tokens, "The code is"), (concepts, "xor")):
        shown = html.unescape(found._repr_html_())
        assert word in shown
        assert "data:image/svg+xml;base64," in shown


@pytest.mark.parametrize(
    ("family", "explainer", "choices", "said"),
    [
        ("pictures", "saliency", {}, "no family 'pictures'"),
        ("graphs", "nothing", MUTAG, "no explainer 'nothing'"),
        ("graphs", "saliency,random_edges", MUTAG, "One explainer"),
        ("graphs", "saliency,consensus", MUTAG, "at least two further explainers"),
        ("graphs", "saliency", {"example": "mutag", "colour": "red"}, "--colour=red"),
        ("graphs", "saliency", {"example": "mutag", "graph": "two"}, "--graph"),
        ("graphs", "saliency", {**MUTAG, "graph": 99_999}, "no graph 99999"),
        ("graphs", "saliency", {}, "There is no graph"),
    ],
)
def test_what_cannot_be_done_is_said(family, explainer, choices, said):
    with pytest.raises(VitrineError, match=said):
        explain(family, explainer, **choices)


def test_unknown_parameters_are_refused():
    with pytest.raises(InputError, match="sets nothing"):
        explain("graphs", "saliency", **MUTAG, parameters={"nothing": 1})


def test_the_package_names_what_it_has():
    assert backend.explain is explain
    with pytest.raises(AttributeError, match="no attribute 'explained'"):
        backend.explained  # noqa: B018
