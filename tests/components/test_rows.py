"""Rows are filled without loss and read in the order of their script."""

import itertools

import pytest

from components.figures import rows
from components.figures.rows import Measure, bidi_levels, visual_order

NARROW = Measure(font=10, row_width=120)


def place(texts, measure=NARROW):
    found = [p for i, t in enumerate(texts) for p in rows.pieces(i, t, measure)]
    return rows.place(rows.joined(found), measure)


def order(texts):
    return [texts[i] for i in visual_order(bidi_levels(texts))]


@pytest.mark.parametrize(
    "texts",
    [
        [" word"] * 40,
        [" a very long sentence that needs several rows to be shown."] * 3,
        ["x" * 300],
        ["日本語" * 30],
        ["👩‍👩‍👧" * 12, "مرحبا بالعالم " * 6],
    ],
)
def test_boxes_stay_inside_and_never_overlap(texts):
    placed = place(texts)
    for one in placed:
        assert one.left >= -0.01
        assert one.left + one.piece.width <= NARROW.row_width + 0.01
    for _, row in itertools.groupby(placed, key=lambda p: p.row):
        boxes = sorted((p.left, p.left + p.piece.width) for p in row)
        assert all(a[1] <= b[0] for a, b in itertools.pairwise(boxes))
    shown = "".join("·" * p.piece.spaces + p.piece.text for p in placed if p.piece.item == 0)
    kept = [c for c in shown if c not in "·\u200d "]
    assert sorted(kept) == sorted(c for c in texts[0] if c not in " \u200d")


def test_a_newline_ends_its_row():
    assert [p.row for p in place(["a", "\n", "b", " c\nd", "e"])] == [0, 0, 1, 1, 2, 2]


def test_a_newline_at_the_end_opens_no_empty_row():
    assert [p.row for p in place(["a", "\n"])] == [0, 0]


def test_nothing_is_placed_nowhere():
    assert place([]) == []


def test_left_to_right_stays():
    assert order(["The", " capital", " is", " 7", "481", "."]) == [
        "The",
        " capital",
        " is",
        " 7",
        "481",
        ".",
    ]


def test_an_arabic_row_runs_from_the_right():
    texts = ["ما", " هي", " عاصمة", " فرنسا", "؟"]
    assert order(texts) == texts[::-1]
    right = max(p.left + p.piece.width for p in place(texts, Measure(font=10, row_width=400)))
    assert right == pytest.approx(400)


def test_arabic_inside_english_keeps_the_english_order():
    assert order(["The", " word", " مرحبا", " بالعالم", " means", " hello"]) == [
        "The",
        " word",
        " بالعالم",
        " مرحبا",
        " means",
        " hello",
    ]


def test_latin_and_digits_inside_arabic_run_rightwards():
    texts = ["عام", " Par", "is", " 20", "24", " من", " فضلك"]
    assert order(texts) == [" فضلك", " من", " Par", "is", " 20", "24", "عام"]


def test_levels_match_the_algorithm_s_examples():
    # UAX #9: digits after right-to-left text sit one level deeper, neutrals take both sides.
    assert bidi_levels(["car", "مرحبا", "12", "end"]) == [0, 1, 2, 0]
    assert bidi_levels(["a", "שלום", ",", "עולם", "b", "!", "cc", "dddddd"])[1:4] == [1, 1, 1]
    assert bidi_levels([]) == []


def test_cut_cursive_words_stay_joined():
    found = [p for i, t in enumerate(["عاص", "مة", " فرنسا"]) for p in rows.pieces(i, t, NARROW)]
    assert [p.text for p in rows.joined(found)] == ["عاص\u200d", "\u200dمة", "فرنسا"]


def test_latin_pieces_get_no_joiners():
    found = [p for i, t in enumerate(["Par", "is"]) for p in rows.pieces(i, t, NARROW)]
    assert [p.text for p in rows.joined(found)] == ["Par", "is"]
