"""The plots of effective dimensions show the shares, the spectrum, and the count of tokens."""

import numpy as np
import pytest

from components.figures import dimension, figure, render, views
from tests.components.conftest import explain

SPECTRUM = np.array(
    [
        [[0.7, 0.3, 0.0, 0.0], [0.6, 0.4, 0.0, 0.0]],
        [[0.4, 0.3, 0.2, 0.1], [0.5, 0.3, 0.1, 0.1]],
        [[0.9, 0.1, 0.0, 0.0], [0.25, 0.25, 0.25, 0.25]],
    ]
)


@pytest.fixture
def found():
    """Two layers of width 4."""
    made = explain(
        ["a", " b"],
        [np.nan, np.nan],
        variance_share=np.array([[0.5, 0.5], [1.0, 1.0], [0.5, 1.0]]),
        entropy_share=np.array([[0.48, 0.49], [0.95, 0.93], [0.4, 1.0]]),
        spectrum=SPECTRUM,
    )
    made.values.update(
        view="effective_dimension",
        sites=["attention", "mlp", "residual"],
        tokens=1234,
        text_tokens=200,
        random_tokens=1034,
        width=4,
        needed=40,
        layer=1,
    )
    return made


def test_both_definitions_by_layer(found):
    shares, _ = views.plots(found)
    lines = {(t.name, t.yaxis): list(t.y) for t in shares.figure.data}
    assert lines["attention output", "y"] == [0.5, 0.5]
    assert lines["residual", "y2"] == pytest.approx([0.4, 1.0])
    assert lines["MLP output", "y2"] == pytest.approx([0.95, 0.93])
    title = shares.figure.layout.title.text
    assert "1,234 tokens, 4 dimensions" in title
    assert "1,034 of the tokens are random ids" in title
    assert shares.figure.layout.yaxis.range == (0, 1.02)


def test_scree_of_the_chosen_layer_and_a_slider_for_the_others(found):
    _, scree = views.plots(found)
    assert scree.title == "Spectrum · layer 2 of 2"
    np.testing.assert_allclose(scree.figure.data[0].y, [0.6, 0.4, np.nan, np.nan], rtol=1e-6)
    np.testing.assert_allclose(scree.figure.data[2].y, [0.25] * 4)
    (slider,) = scree.figure.layout.sliders
    assert slider.active == 1
    assert [step.label for step in slider.steps] == ["1", "2"]
    data, layout = slider.steps[0].args
    assert data["y"] == [[0.7, 0.3, None, None], [0.4, 0.3, 0.2, 0.1], [0.9, 0.1, None, None]]
    assert layout["title.text"].startswith("Spectrum · layer 1 of 2")
    found.values["layer"] = 0
    assert views.plots(found)[1].title == "Spectrum · layer 1 of 2"


def test_text_alone_says_nothing_of_random_ids(found):
    found.values["random_tokens"] = 0
    assert "random" not in views.plots(found)[0].figure.layout.title.text


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_units_legends_and_how_to_read(found, theme):
    for plot in views.plots(found, theme):
        assert plot.how_to_read.endswith(".")
        for axis in (*plot.figure.select_xaxes(), *plot.figure.select_yaxes()):
            assert axis.title.text
        assert sum(bool(trace.showlegend) for trace in plot.figure.data) == 3
        assert render.render(plot.figure, "png", via="matplotlib").startswith(b"\x89PNG")
    assert figure(found, theme).to_json() == views.plots(found, theme)[0].figure.to_json()


def test_an_explanation_of_another_kind(capital):
    with pytest.raises(ValueError, match="does not hold effective dimensions"):
        dimension.plots(capital)
