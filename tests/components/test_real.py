"""Figures of what the explainers really return, on a tiny model with random weights."""

import numpy as np
import pytest

from backend.tokens.contribution_weights import ContributionWeights
from backend.tokens.effective_dimension import EffectiveDimension
from backend.tokens.explanation import Prompt, Target
from backend.tokens.logit_lens import LogitLens
from backend.tokens.sink_origin import SinkOrigin
from components.figures import attention, figure, render, tokens, views

PROMPT = Prompt.of("The capital of France is <b> 👩‍👩‍👧 مرحبا")


@pytest.fixture
def explained(tiny, fake_run):
    def explain(cls, architecture="llama", **parameters):
        target, chosen = Target(ids=(20, 21)), cls.Parameters(**parameters)
        return cls().explain(tiny(architecture), PROMPT, target, chosen, fake_run)

    return explain


def test_contribution_weights(explained):
    found = explained(ContributionWeights)
    shown = tokens.cells(found, "word")
    assert sum(c.score for c in shown if not np.isnan(c.score)) == pytest.approx(
        float(np.nansum(found.arrays["scores"].astype(float))), abs=1e-6
    )
    z = attention.heatmap(found, "attention", layer=1, head=0).data[0].z
    np.testing.assert_allclose(np.nansum(z, axis=1), 1.0, rtol=1e-4)
    for drawn in (
        figure(found),
        attention.pair(found, layer=0),
        attention.heads(found, "contributions", layer=2),
    ):
        assert render.render(drawn, "png", via="matplotlib").startswith(b"\x89PNG")


def test_logit_lens(explained):
    found = explained(LogitLens)
    drawn = figure(found, "dark")
    np.testing.assert_array_equal(drawn.data[0].z, found.arrays["top_probs"][:, :, 0])
    assert render.render(drawn, "svg", via="matplotlib").startswith(b"<?xml")


@pytest.mark.parametrize(("architecture", "count"), [("llama", 12), ("gpt2", 12), ("mixtral", 7)])
def test_sink_origin(explained, architecture, count):
    found = explained(SinkOrigin, architecture)
    plots = views.plots(found, "dark")
    assert len(plots) == count
    np.testing.assert_array_equal(plots[-2].figure.data[0].z, found.arrays["locking_sink"])
    assert render.render(plots[0].figure, "svg", via="matplotlib").startswith(b"<?xml")


def test_effective_dimension(explained):
    found = explained(EffectiveDimension)
    shares, _, scree = views.plots(found)
    np.testing.assert_array_equal(shares.figure.data[1].y, found.arrays["variance_share"][1])
    held = np.cumsum(found.arrays["spectrum"][2, 1], dtype=np.float64)
    assert scree.figure.data[5].name == "residual stream, layer 2"
    np.testing.assert_allclose(scree.figure.data[5].y, held, rtol=1e-6)
