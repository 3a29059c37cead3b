"""The logit lens shows each depth's first word and outlines where the answer comes up."""

import numpy as np
import pytest

from components.figures import figure, lens
from tests.components.conftest import explain


@pytest.fixture
def readouts():
    """Three depths, two positions: " a" then "<s>" follow; found at the last and at no depth."""
    ids = np.array([[[7, 8], [8, 7]], [[7, 9], [7, 9]], [[9, 7], [7, 8]]])
    words = {7: " x", 8: "\n", 9: " a", 5: "<s>"}
    found = explain(["q", " a", "<s>"], answer=2)
    found.arrays.update(
        top_ids=ids,
        top_probs=np.array([[[0.6, 0.1], [0.5, 0.2]]] * 3, dtype=np.float32),
        entropy=np.full((3, 2), 1.25, dtype=np.float32),
        rank=np.array([[5, 50], [2, 40], [1, 3]]),
        probability=np.full((3, 2), 0.1, dtype=np.float32),
    )
    found.values.update(
        view="logit_lens",
        next_ids=[9, 5],
        next_text=[" a", "<s>"],
        top_text=[[[words[i] for i in cell] for cell in row] for row in ids.tolist()],
        depths=["input", "1", "2"],
    )
    return found


def test_words_probabilities_and_labels(readouts):
    drawn = lens.lens(readouts)
    np.testing.assert_allclose(drawn.data[0].z, [[0.6, 0.5]] * 3, rtol=1e-6)
    assert drawn.data[1].text == ("·x", "⏎", "·x", "·x", "·a", "·x")
    assert drawn.layout.xaxis.ticktext == ("·a", "&lt;s&gt;")
    assert drawn.layout.yaxis.ticktext == ("input", "1", "2")
    assert (drawn.layout.coloraxis.cmin, drawn.layout.coloraxis.cmax) == (0, 1)


def test_only_a_hit_is_outlined(readouts):
    (shape,) = lens.lens(readouts).layout.shapes
    assert shape.path.startswith("M-0.48,1.54")
    assert shape.path.count("Z") == 1


def test_hover_tells_rank_entropy_and_candidates(readouts):
    hover = lens.lens(readouts).data[1].customdata
    assert "rank 5" in hover[0]
    assert "1.25 nats" in hover[0]
    assert "0.600  ·x<br>0.100  ⏎" in hover[0]
    assert "<b>&lt;s&gt;</b>" in hover[1]


def test_it_is_the_figure_of_the_view(readouts):
    assert figure(readouts).to_json() == lens.lens(readouts).to_json()


def test_many_positions_show_the_last_and_say_so(readouts):
    for name in ("top_ids", "top_probs", "entropy", "rank", "probability"):
        readouts.arrays[name] = np.repeat(readouts.arrays[name][:, :1], 40, axis=1)
    readouts.values["next_ids"], readouts.values["next_text"] = [9] * 40, [" a"] * 40
    readouts.values["top_text"] = [[row[0]] * 40 for row in readouts.values["top_text"]]
    drawn = lens.lens(readouts)
    assert drawn.data[0].z.shape == (3, 24)
    assert "Showing the last 24 of 40 positions" in drawn.layout.title.text


def test_an_explanation_without_readouts(capital):
    with pytest.raises(ValueError, match="no readouts"):
        lens.lens(capital)
