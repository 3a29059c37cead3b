"""Colours are symmetric, readable and never lie about NaN; text is literal and visible."""

import html
import itertools
import math
import re

import pytest

from components.figures import labels
from components.figures.palette import (
    DARK,
    LIGHT,
    colour,
    contrast,
    diverging,
    escape,
    ink_on,
    on_scale,
    positive,
    sequential,
    shorten,
    text,
    theme,
    visible,
)

BOTH = pytest.mark.parametrize("look", [LIGHT, DARK], ids=lambda t: t.name)
VALUES = [v / 50 for v in range(-50, 51)]


def test_contrast_is_the_one_of_wcag():
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
    assert contrast("#123456", "#123456") == 1.0


@BOTH
def test_every_cell_colour_carries_readable_ink(look):
    shades = [colour(v, 1.0, look) for v in VALUES]
    shades += [on_scale(i / 100, sequential(look)) for i in range(101)]
    shades += [look.neutral, look.middle, look.paper]
    assert min(contrast(ink_on(shade), shade) for shade in shades) >= 4.5


@BOTH
def test_the_theme_s_texts_are_readable_on_its_paper(look):
    for ink in (look.ink, look.muted, look.accent, look.gold):
        assert contrast(ink, look.paper) >= 4.5


@BOTH
def test_zero_is_the_middle_and_signs_mirror(look):
    assert colour(0.0, 3.0, look) == look.middle == on_scale(0.5, diverging(look))
    assert colour(3.0, 3.0, look) == colour(99.0, 3.0, look) == look.positive[-1]
    assert colour(-3.0, 3.0, look) == colour(-99.0, 3.0, look) == look.negative[-1]
    for value in (0.1, 0.4, 0.8):
        assert colour(value, 1.0, look) == on_scale(value, positive(look))
    places = [place for place, _ in diverging(look)]
    assert places == [1 - p for p in reversed(places)]


@BOTH
def test_both_signs_stand_out_alike(look):
    """A negative score must not be paler than a positive one of its size."""
    for size in (0.25, 0.5, 0.75, 1.0):
        up, down = (contrast(colour(s * size, 1.0, look), look.paper) for s in (1, -1))
        assert 0.72 < down / up < 1.4, size


@BOTH
def test_stronger_is_never_nearer_to_the_middle(look):
    for scale in (positive(look), diverging(look)[4:], sequential(look)):
        seen = [contrast(c, look.middle) for _, c in scale]
        assert seen == sorted(seen)


@BOTH
def test_nan_is_no_score_s_colour(look):
    assert colour(math.nan, 1.0, look) == look.neutral
    assert look.neutral not in {colour(v, 1.0, look) for v in VALUES}


@pytest.mark.parametrize("limit", [0.0, math.nan, math.inf, -1.0])
def test_a_limit_that_is_none_leaves_everything_neutral(limit):
    assert colour(0.7, limit, LIGHT) == LIGHT.middle


@BOTH
def test_signs_differ_for_red_green_blind_eyes(look):
    """Blue against orange: the blue channel alone tells the ends apart."""
    blue = [int(c[5:7], 16) - int(c[1:3], 16) for c in (look.negative[-1], look.positive[-1])]
    assert blue[0] > 60
    assert blue[1] < -60


def test_unknown_theme():
    with pytest.raises(ValueError, match=r"'light' or 'dark' .*'neon'"):
        theme("neon")


@pytest.mark.parametrize("label", ["<s>", "<br>x", "<script>alert(1)</script>", "&amp;", "a\"b'c"])
def test_text_is_literal(label):
    shown = text(label)
    assert not re.search(r"[<>\"']|&(?!amp;|lt;|gt;|quot;|#x27;)", shown)
    assert html.unescape(shown) == label


def test_whitespace_is_visible():
    assert visible(" the") == "·the"
    assert visible("a b") == "a b"
    assert visible("a  b ") == "a··b·"
    assert visible("\n") == visible("\r\n") == "⏎"
    assert visible("\t") == "⇥"
    assert visible("a\u00a0b") == "a␣b"
    assert visible("") == "∅"


def test_what_would_reorder_or_hide_is_named():
    assert visible("\u202eabc") == "⟨U+202E⟩abc"
    assert visible("\u200b\ufeff\x00") == "⟨ZWSP⟩⟨BOM⟩⟨U+0000⟩"
    assert escape("a  b\u202e<") == "a  b⟨U+202E⟩&lt;"


def test_joiners_of_emoji_and_scripts_stay():
    family = "👩‍👩‍👧"
    assert visible(family) == family
    assert visible("می‌خواهم") == "می‌خواهم"


def test_clusters_are_not_torn():
    parts = ["e\u0301", "👩‍👩‍👧", "👍🏽", "🇫🇷", "🇩🇪", "x"]
    assert labels.clusters("".join(parts)) == parts


def test_width_counts_what_is_drawn():
    assert labels.width("e\u0301") == labels.width("e")
    assert labels.width("👩‍👩‍👧") == labels.width("👩")
    assert labels.width("日本") == pytest.approx(2.1)
    assert labels.width("iii") < labels.width("mmm")


def test_shorten_keeps_whole_clusters():
    assert shorten("short", 10) == "short"
    cut = shorten("👩‍👩‍👧" * 9, 5)
    assert cut.endswith("…")
    assert set(labels.clusters(cut[:-1])) == {"👩‍👩‍👧"}
    assert labels.width(cut) <= 5.01
    for longest, word in itertools.product((2, 4, 8), ("internationalisation", "日本語の文章です")):
        assert labels.width(shorten(word, longest)) <= longest
