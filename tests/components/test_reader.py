"""What the reader is given, and what it believes of what a browser sends."""

import numpy as np
import pytest

from backend.tokens.explanation import Target
from components import reading
from components.reader import Pick, _range
from tests.components.conftest import explain


@pytest.fixture
def found():
    """A special token, two sentences, an answer of three tokens."""
    tokens = ["<s>", "A cat", " sat.", " It", " was old.", " Yes", " it", " was"]
    scores = [5.0, 0.5, 0.25, 1.0, 0.25, np.nan, np.nan, np.nan]
    made = explain(tokens, scores, answer=3, special=(0,), gold=(3,), signed=False)
    made.arrays["readings/hop_0"] = np.array([4, 0, 0, 2, 0, *[np.nan] * 3], dtype=np.float32)
    return made


@pytest.mark.parametrize(
    ("sent", "believed"),
    [
        ([1, 3], (1, 3)),
        ((0, 1), (0, 1)),
        ([1.0, 2.0], (1, 2)),
        ([3, 3], None),
        ([4, 2], None),
        ([-1, 2], None),
        ([1], None),
        (["a", "b"], None),
        (None, None),
        ("12", None),
        ({"0": 1}, None),
    ],
)
def test_a_range_from_the_browser(sent, believed):
    assert _range(sent) == believed


@pytest.mark.parametrize(
    ("pick", "span", "within"),
    [
        (Pick(), None, Pick((0, 3), None)),
        (Pick(), (1, 2), Pick((1, 3), None)),
        (Pick(), (0, 2), Pick((0, 3), None)),
        (Pick((0, 2), (1, 3)), None, Pick((0, 2), (1, 3))),
        (Pick((0, 9), (4, 7)), None, Pick((0, 3), None)),
    ],
)
def test_a_choice_of_another_text_is_dropped(found, pick, span, within):
    target = Target(ids=(1, 2, 3), span=span)
    assert reading._within(pick, found.sequence, target) == within


def test_prompt_units_are_on_the_scale_of_the_text(found, monkeypatch):
    monkeypatch.setattr(reading, "theme_name", lambda: "light")
    units = reading._prompt_units(found.sequence, found, "token", "all hops")
    assert [unit.text for unit in units] == ["<s>", "A cat", " sat.", " It", " was old."]
    assert [unit.weight for unit in units] == [1.0, 0.5, 0.25, 1.0, 0.25]
    assert units[0].fill == units[3].fill != units[1].fill
    assert units[0].marks == ("plain",)
    assert units[3].marks == ("gold",)
    assert "1 (14.3% of what is shown)" in units[3].tip
    hop = reading._prompt_units(found.sequence, found, "token", "hop 0")
    assert [unit.weight for unit in hop] == [1.0, 0.0, 0.0, 1.0, 0.0]


def test_without_an_explanation_nothing_is_coloured(found, monkeypatch):
    monkeypatch.setattr(reading, "theme_name", lambda: "dark")
    units = reading._prompt_units(found.sequence, None, "word", "all hops")
    assert not any(unit.fill for unit in units)
    assert reading._sentences(found.sequence, None, "all hops") == []


def test_sentences_by_their_mass(found):
    ranked = reading._sentences(found.sequence, found, "all hops")
    assert [(unit.text, unit.tip) for unit in ranked] == [
        ("It was old.", "17.9%"), ("A cat sat.", "10.7%"),
    ]  # fmt: skip
    assert ranked[0].at == (3, 5)


def test_the_answer_is_coloured_by_what_a_source_gave(found, monkeypatch):
    monkeypatch.setattr(reading, "theme_name", lambda: "light")
    plain = reading._answer_units(found.sequence, None, "token")
    assert [unit.at for unit in plain] == [(0, 1), (1, 2), (2, 3)]
    assert not any(unit.fill for unit in plain)
    found.arrays["received"] = np.array([0, 0, 0, 0, 0, 0.1, 0.2, 0.0], dtype=np.float32)
    given = reading._answer_units(found.sequence, found, "token")
    assert "took 20.000% of its residual stream" in given[1].tip
    assert len({unit.fill for unit in given}) == 3
