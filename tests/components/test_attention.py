"""Heatmaps hold the array's numbers, leave later keys blank and say how they were reduced."""

import numpy as np
import pytest

from components.figures import attention, blocks
from components.figures.palette import DARK, LIGHT
from tests.components.conftest import explain, heads_of


def title(figure):
    return figure.layout.title.text


def test_one_head_is_the_array_with_later_keys_blank(matrices):
    z = attention.heatmap(matrices, "contributions", layer=1, head=2).data[0].z
    whole = matrices.arrays["contributions"][1, 2]
    upper = np.triu(np.ones_like(whole, dtype=bool), 1)
    assert np.isnan(z[upper]).all()
    np.testing.assert_array_equal(z[~upper], whole[~upper])
    assert z.dtype == np.float32


def test_all_heads_sum_contributions_and_average_attention(matrices):
    arrays = matrices.arrays
    z = attention.heatmap(matrices, "contributions", layer=0).data[0].z
    low = np.tril_indices(12)
    np.testing.assert_allclose(z[low], arrays["contributions"][0].sum(0)[low], rtol=1e-5)
    z = attention.heatmap(matrices, "attention", layer=0).data[0].z
    np.testing.assert_allclose(np.nansum(z, axis=1), 1.0, rtol=1e-5)


def test_colour_is_symmetric_around_zero(matrices):
    drawn = attention.heatmap(matrices, "contributions", layer=0, head=0, theme="dark")
    axis = drawn.layout.coloraxis
    assert axis.cmin == -axis.cmax
    assert axis.cmax == pytest.approx(np.abs(matrices.arrays["contributions"][0, 0]).max())
    assert axis.colorscale[len(axis.colorscale) // 2] == (0.5, DARK.middle)
    assert axis.colorbar.title.text == "log-prob"
    assert f"Largest {axis.cmax:.3g}" in title(drawn)


def test_scores_that_are_never_negative_use_the_upper_half(matrices):
    np.abs(matrices.arrays["contributions"], out=matrices.arrays["contributions"])
    axis = attention.heatmap(matrices, "contributions", layer=0, head=0).layout.coloraxis
    assert axis.cmin == 0
    assert axis.colorscale[0] == (0.0, LIGHT.middle)


def test_span_rows_are_placed_at_their_positions():
    arrays = {name: a[:, :, [4, 10]] for name, a in heads_of(12).items()}
    found = explain([f" w{i}" for i in range(12)], **arrays)
    found.values["queries"] = [4, 10]
    data = attention.heatmap(found, "attention", layer=0, head=0).data[0]
    assert list(data.y) == ["·w4 (4)", "·w10 (10)"]
    assert np.isnan(data.z[0, 5:]).all()
    assert not np.isnan(data.z[0, :5]).any()
    assert not np.isnan(data.z[1, :11]).any()


def test_blocks_keep_sums_against_a_double_loop():
    rng = np.random.default_rng(1)
    matrix, queries = rng.normal(size=(10, 10)), np.arange(10)
    found = blocks.grid(matrix, queries, 4)
    assert found.rows == ((0, 3), (3, 6), (6, 9), (9, 10))
    for i, (a, b) in enumerate(found.rows):
        for j, (c, d) in enumerate(found.columns):
            inside = [matrix[q, k] for q in range(a, b) for k in range(c, d) if k <= q]
            if inside:
                assert found.values[i, j] == pytest.approx(sum(inside) / (b - a), rel=1e-5)
            else:
                assert np.isnan(found.values[i, j])


def test_a_long_input_is_reduced_and_says_so():
    n = 300
    found = explain([f" w{i}" for i in range(n)], **heads_of(n, layers=1, heads=2))
    drawn = attention.heatmap(found, "attention", layer=0, max_tokens=100)
    assert drawn.data[0].z.shape == (100, 100)
    assert "300 × 300 shown as 100 × 100" in title(drawn).replace("<br>", " ")
    np.testing.assert_allclose(np.nansum(drawn.data[0].z, axis=1), 1.0, rtol=1e-4)
    assert len(drawn.layout.xaxis.tickvals) <= 60


def test_undefined_rows_are_grey_not_zero(matrices):
    matrices.arrays["contributions"][0, :, 5] = np.nan
    drawn = attention.heatmap(matrices, "contributions", layer=0)
    assert np.isnan(drawn.data[0].z[5]).all()
    grey = drawn.data[1]
    assert {colour for _, colour in grey.colorscale} == {LIGHT.neutral}
    assert (np.isfinite(grey.z).sum(axis=1) == [6 if i == 5 else 0 for i in range(12)]).all()
    assert "Grey: not defined" in title(drawn)


def test_every_head_on_one_scale(matrices):
    drawn = attention.heads(matrices, "contributions", layer=1)
    assert len(drawn.data) == 3
    assert {trace.coloraxis for trace in drawn.data} == {"coloraxis"}
    assert [note.text for note in drawn.layout.annotations] == ["head 1", "head 2", "head 3"]
    largest = float(np.abs(matrices.arrays["contributions"][1]).max())
    assert drawn.layout.coloraxis.cmax == pytest.approx(largest)


def test_a_pair_has_two_scales_with_their_units(matrices):
    drawn = attention.pair(matrices, layer=0, head=1)
    first, second = drawn.layout.coloraxis, drawn.layout.coloraxis2
    assert first.colorbar.title.text == "attention probability"
    assert second.colorbar.title.text == "log-prob"
    assert first.cmin == 0
    assert second.cmin == -second.cmax


def test_repeated_words_stay_apart_and_markup_literal():
    words = ["<s>", " the", " the", "<br>"]
    found = explain(words, **heads_of(4))
    axis = attention.heatmap(found, "attention", layer=0).layout.xaxis
    assert axis.tickvals == ("&lt;s&gt; (0)", "·the (1)", "·the (2)", "&lt;br&gt; (3)")
    assert axis.ticktext == ("&lt;s&gt;", "·the", "·the", "&lt;br&gt;")


def test_an_all_zero_map_is_drawn(matrices):
    matrices.arrays["contributions"][:] = 0
    axis = attention.heatmap(matrices, "contributions", layer=0).layout.coloraxis
    assert (axis.cmin, axis.cmax) == (0, 1)


def test_what_is_not_there_is_named(matrices, capital):
    with pytest.raises(ValueError, match=r"layer must be 0 to 1 .got 2"):
        attention.heatmap(matrices, "attention", layer=2)
    with pytest.raises(ValueError, match=r"head must be 0 to 2 .got -1"):
        attention.heatmap(matrices, "attention", layer=0, head=-1)
    with pytest.raises(ValueError, match="no array 'attention' of heads; there are: none"):
        attention.pair(capital, layer=0)
