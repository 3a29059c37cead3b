"""How a slicing came to be: concepts kept, the number of slices, the objective."""

import numpy as np
import pytest

from components.figures import slices
from components.figures.palette import LIGHT, ink_on
from tests.components.sliced import RARE, THEMES, grown, notes, sliced


def test_concepts_stand_by_their_largest_influence_and_kept_ones_are_bold():
    drawn = slices.plots(sliced(RARE, **grown()))[0].figure
    heat, numbers = drawn.data
    np.testing.assert_allclose(heat.z[:, 0], [0.5, 0.3, 0.1, 0.02], rtol=1e-6)
    bold = "&lt;b&gt;big&lt;/b&gt;"
    assert drawn.layout.yaxis.ticktext[:3] == ("<b>water</b>", f"<b>{bold}</b>", "striped")
    assert drawn.layout.yaxis.range == (3.5, -0.5)
    assert drawn.layout.xaxis.ticktext[0] == "land"
    assert (drawn.layout.coloraxis.cmin, drawn.layout.coloraxis.cmax) == pytest.approx((0, 0.5))
    assert "nats" in drawn.layout.coloraxis.colorbar.title.text
    assert numbers.text[::2] == ("0.5", "0.3", "0.1", "0.02")
    assert notes(drawn) == ["2 of 4 concepts kept (bold)"]
    assert heat.hovertext[0][0] == "water, errors of land: 0.5 nats"


@THEMES
def test_a_class_without_errors_is_unknown_not_zero(look):
    drawn = slices.error_prone(sliced(RARE, **grown()), look)
    heat, numbers = drawn.data
    assert np.isnan(heat.z[:, 1]).all()
    assert numbers.text[1::2] == ("–",) * 4
    assert numbers.textfont.color[1] == ink_on(look.neutral)
    assert drawn.layout.plot_bgcolor == look.neutral
    assert heat.hovertext[0][1].endswith("there are none")


def test_nothing_moves_the_class():
    drawn = slices.error_prone(sliced(RARE, **grown(ectp=np.zeros((2, 4), np.float32))), LIGHT)
    assert drawn.layout.coloraxis.cmax == 1.0
    assert set(drawn.data[1].text) == {"0"}


def test_many_concepts_and_classes_are_cut():
    rng = np.random.default_rng(0)
    found = sliced(RARE, **grown(ectp=rng.random((15, 30), dtype=np.float32)))
    found.values.update(
        concept_names=[f"c{j}" for j in range(30)], class_names=[f"k{c}" for c in range(15)]
    )
    drawn = slices.error_prone(found, LIGHT)
    (heat,) = drawn.data  # so many cells leave no room for numbers
    assert heat.z.shape == (20, 15)
    assert notes(drawn)[1] == "the 20 largest are shown"
    assert drawn.layout.xaxis.tickangle == -35
    largest = found.arrays["ectp"].max(axis=0)
    np.testing.assert_allclose(heat.z.max(axis=1), np.sort(largest)[::-1][:20])


def test_the_number_of_slices_that_was_chosen_is_marked():
    drawn = slices.plots(sliced(RARE, **grown()))[1].figure
    (line,) = drawn.data
    assert (line.x, line.y) == ((4, 6, 8), (9.5, 4.25, 4.125))
    (mark,) = drawn.layout.shapes
    assert (mark.x0, mark.x1, mark.line.dash) == (6, 6, "dash")
    assert notes(drawn) == ["6 were chosen"]
    assert drawn.layout.yaxis.title.text == "objective, nats a sample"


def test_the_objective_starts_before_the_first_epoch():
    drawn = slices.plots(sliced(RARE, **grown()))[2].figure
    assert (drawn.data[0].x, drawn.data[0].y) == ((0, 1, 2), (12.0, 5.5, 4.25))
    assert drawn.layout.xaxis.title.text == "epoch"
    assert notes(drawn) == ["ends at 4.250"]


def test_only_what_a_method_tells_is_drawn():
    assert slices.plots(sliced(RARE)) == ()
    one_candidate = grown(**{"k/values": np.array([6]), "k/objectives": np.array([4.0])})
    found = slices.plots(sliced(RARE, **one_candidate))
    assert [plot.title for plot in found] == ["Error-prone concepts", "The mixture's objective"]
    assert all(plot.how_to_read.endswith(".") for plot in found)
