"""One piece of a picture by itself: what reaches its embedding, and how it is painted."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from backend.images import masking
from backend.images.masking import embedded, embeddings, filled, first_block, offered, painted
from tests.backend.images import made
from tests.backend.images.made import SIDE, seeded, worker_run

PIECE = (slice(6, 17), slice(9, 26))


class Whole(made.Cnn):
    """Takes the mean of the whole picture off its first maps."""

    def forward(self, x):
        x = self.first_act(self.norm(self.first(x)))
        x = x - x.mean(dim=(2, 3), keepdim=True)
        return self.head(self.second_act(self.second(x)).mean(dim=(2, 3)))


class Deep(nn.Module):
    """With normalisation by batch statistics kept, a residual way and a pooling layer."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 6, 5, padding=2)
        self.norm = nn.BatchNorm2d(6)
        self.act = nn.ReLU()
        self.pool = nn.MaxPool2d(2)
        self.second = nn.Conv2d(6, 6, 3, padding=1)
        self.last = nn.Conv2d(6, 8, 1)
        self.mean = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(8, made.CLASSES)

    def forward(self, x):
        x = self.pool(self.act(self.norm(self.first(x))))
        return self.head(self.mean(self.last(x + self.second(x))).flatten(1))


def pair(seed=0):
    """Two pictures that are the same inside the piece and nowhere else, and its mask."""
    one, other = torch.randn(2, 1, 3, SIDE, SIDE, generator=torch.Generator().manual_seed(seed))
    mask = torch.zeros(1, SIDE, SIDE, dtype=torch.bool)
    mask[(0, *PIECE)] = True
    return one, torch.where(mask[:, None], one, other), mask


def hooks(module):
    return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in module.modules())


def change(model, how):
    one, other, mask = pair()
    before, after = (embeddings(model, x, mask, how) for x in (one, other))
    assert before.abs().max() > 1e-3
    return float((before - after).abs().max())


def plain(model, x):
    with model.features() as found, torch.no_grad():
        model.logits(x)
    return model.maps.spatial(found[-1]).mean(dim=(2, 3))


@pytest.mark.parametrize("how", ["layer", "grey"])
def test_nothing_outside_reaches_the_embedding_of_a_cnn(cnn, how):
    assert change(cnn, how) < 1e-5


def test_nothing_outside_reaches_the_embedding_of_deeper_networks(parts_cnn):
    assert change(made.classifier(seeded(Deep)), "layer") < 1e-5
    picture = torch.randn(2, 3, 64, 64, generator=torch.Generator().manual_seed(3))
    mask = torch.zeros(1, 64, 64, dtype=torch.bool)
    mask[0, 20:41, 7:30] = True
    one, other = picture[:1], torch.where(mask[:, None], picture[:1], picture[1:])
    before, after = (embeddings(parts_cnn, x, mask, "layer") for x in (one, other))
    assert torch.allclose(before, after, atol=1e-5)
    assert before.abs().max() > 0.1


@pytest.mark.parametrize("how", ["tokens", "grey"])
def test_nothing_outside_reaches_the_embedding_of_a_transformer(vit, how):
    assert change(vit, how) < 1e-5


@pytest.mark.parametrize("how", ["mean", "blur"])
def test_the_colours_outside_reach_it_where_they_are_painted_over_with_them(cnn, vit, how):
    assert change(cnn, how) > 1e-3
    assert change(vit, how) > 1e-3


def test_the_piece_itself_is_looked_at(cnn, vit):
    one, _, mask = pair()
    for model, how in ((cnn, "layer"), (vit, "tokens")):
        found = [embeddings(model, x, mask, how) for x in (one, one + 1.0 * mask[:, None])]
        assert float((found[0] - found[1]).abs().max()) > 1e-2


@pytest.mark.parametrize("how", ["layer", "tokens", "grey", "mean", "blur", "crop"])
def test_the_whole_picture_by_itself_is_what_the_network_sees(cnn, vit, how):
    model = vit if how == "tokens" else cnn
    x = torch.randn(2, 3, SIDE, SIDE, generator=torch.Generator().manual_seed(1))
    found = embeddings(model, x, torch.ones(2, SIDE, SIDE, dtype=torch.bool), how)
    torch.testing.assert_close(found, plain(model, x), atol=1e-5, rtol=1e-5)


def test_pieces_of_several_pictures_do_not_mix(cnn, vit):
    one, other, mask = pair()
    masks = torch.cat([mask, ~mask])
    for model, ways in ((cnn, ("layer", "blur", "crop")), (vit, ("tokens", "mean"))):
        for how in ways:
            both = embeddings(model, torch.cat([one, other]), masks, how)
            alone = [
                embeddings(model, x, m[None], how) for x, m in zip((one, other), masks, strict=True)
            ]
            torch.testing.assert_close(both, torch.cat(alone), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("how", ["layer", "tokens", "grey", "mean", "blur", "crop"])
def test_no_hook_stays(cnn, vit, how):
    model = vit if how == "tokens" else cnn
    one, _, mask = pair()
    before = hooks(model.module)  # transformers leaves hooks of its own where attention was asked
    embeddings(model, one, mask, how)
    assert hooks(model.module) == before


def test_no_hook_stays_when_the_network_fails(cnn, vit):
    _, _, mask = pair()
    wrong = torch.zeros(1, 4, SIDE, SIDE)
    for model, how in ((cnn, "layer"), (vit, "tokens")):
        before = hooks(model.module)
        with pytest.raises((RuntimeError, ValueError)):
            embeddings(model, wrong, mask, how)
        assert hooks(model.module) == before


def test_a_piece_smaller_than_half_a_patch_is_the_patch_it_is_most_in(vit):
    x = torch.randn(1, 3, SIDE, SIDE, generator=torch.Generator().manual_seed(2))
    mask = torch.zeros(1, SIDE, SIDE, dtype=torch.bool)
    mask[0, 9:12, 17:20] = True
    patch = torch.zeros_like(mask)
    patch[0, 8:16, 16:24] = True
    inside = x * mask[:, None]
    colour = inside.sum(dim=(2, 3), keepdim=True) / mask.sum()
    by_hand = torch.where(mask[:, None], x, colour)
    found = embeddings(vit, x, mask, "tokens")
    torch.testing.assert_close(found, embeddings(vit, by_hand, patch, "tokens"))


def test_what_is_exact_is_offered_first(cnn, vit):
    assert offered(cnn) == (("layer", *masking.PAINTED), "")
    assert offered(vit) == (("tokens", *masking.PAINTED), "")
    assert offered(made.classifier(seeded(Deep)))[0][0] == "layer"


def test_it_is_not_offered_where_a_layer_looks_at_the_whole_picture():
    model = made.classifier(seeded(Whole))
    ways, reason = offered(model)
    assert ways == masking.PAINTED
    assert "whole picture" in reason
    assert hooks(model.module) == 0


def test_a_network_of_one_size_is_not_refused_for_it():
    class Fixed(made.Cnn):
        def forward(self, x):
            if x.shape[2:] != (SIDE, SIDE):
                raise ValueError("of another size")
            return super().forward(x)

    assert offered(made.classifier(seeded(Fixed))) == (("layer", *masking.PAINTED), "")


def test_it_is_not_offered_where_the_network_does_not_run_on_a_part():
    model = made.vit(layers=3)
    blocks = next(m for m in model.module.modules() if isinstance(m, nn.ModuleList))
    count = 1 + (SIDE // 8) ** 2

    def needs_all(_block, args):
        if args[0].shape[1] != count:
            raise ValueError("tokens are missing")

    blocks[1].register_forward_pre_hook(needs_all)
    ways, reason = offered(model)
    assert ways == masking.PAINTED
    assert reason == "the network does not run with a part left out (ValueError)"


def test_tokens_need_tokens_and_a_stack(cnn, vit):
    one, _, mask = pair()
    with pytest.raises(ValueError, match="no tokens"):
        embeddings(cnn, one, mask, "tokens")
    with pytest.raises(ValueError, match="no block of a stack"):
        first_block(cnn.module, cnn.maps)
    blocks = next(m for m in vit.module.modules() if isinstance(m, nn.ModuleList))
    assert first_block(vit.module, vit.maps) is blocks[0]


def test_a_border_is_filled_with_the_mean_of_what_is_known_beside_it():
    mask = torch.tensor([0.0, 0, 1, 1, 0, 0, 0])[None, None, None]
    x = torch.tensor([0.0, 0, 2, 6, 0, 0, 0])[None, None, None]
    once, twice = filled(x, mask, 1), filled(x, mask, 2)
    assert once.flatten().tolist() == [0, 2, 2, 6, 6, 0, 0]
    assert twice.flatten().tolist() == [2, 2, 2, 6, 6, 6, 0]
    assert filled(x, mask, 0).equal(x)


def test_a_hole_is_filled_with_the_mean_of_both_sides():
    mask = torch.tensor([1.0, 0, 1])[None, None, None]
    x = torch.tensor([1.0, 0, 4])[None, None, None]
    torch.testing.assert_close(filled(x, mask, 1).flatten(), torch.tensor([1.0, 2.5, 4.0]))


def test_corners_count_as_beside():
    mask = torch.zeros(1, 1, 3, 3)
    mask[0, 0, 0, 0] = mask[0, 0, 2, 2] = 1
    x = torch.zeros(1, 1, 3, 3)
    x[0, 0, 0, 0], x[0, 0, 2, 2] = 2.0, 8.0
    found = filled(x, mask, 1)[0, 0]
    expected = torch.tensor([[2.0, 2, 0], [2, 5, 8], [0, 8, 8]])
    torch.testing.assert_close(found, expected)


def test_painting_keeps_the_piece_and_covers_the_rest():
    one, _, mask = pair()
    weights = mask[:, None].float()
    inside = weights.bool().expand_as(one)
    for how in ("grey", "mean", "blur"):
        assert painted(one, weights, how)[inside].equal(one[inside])
    assert (painted(one, weights, "grey")[~inside] == 0).all()
    mean = painted(one, weights, "mean")[0, :, 0, 0]
    torch.testing.assert_close(mean, one.mean(dim=(2, 3))[0])


def test_a_crop_fills_the_picture_and_keeps_its_shape():
    x = torch.zeros(1, 3, SIDE, SIDE)
    weights = torch.zeros(1, 1, SIDE, SIDE)
    weights[..., 4:12, 10:26] = 1  # twice as wide as tall
    x[..., 4:12, 10:18], x[..., 4:12, 18:26] = 1.0, 3.0
    x[..., 20:, :] = 9.0  # not seen
    found = painted(x, weights, "crop")[0, 0]
    assert found.shape == (SIDE, SIDE)
    torch.testing.assert_close(found[10:22, :14], torch.ones(12, 14))
    torch.testing.assert_close(found[10:22, 18:], torch.full((12, 14), 3.0))
    torch.testing.assert_close(found[:7], torch.full((7, SIDE), 2.0))  # its mean colour
    torch.testing.assert_close(found[25:], torch.full((7, SIDE), 2.0))


def test_pieces_are_embedded_in_order_and_counted(cnn):
    one, other, mask = pair()
    x, here = torch.cat([one, other * 2]), mask[0].numpy()
    pieces = [(1, here), (0, ~here), (0, here)]
    run = worker_run()
    found = embedded(cnn, x, pieces, "layer", run, "looking")
    masks = torch.from_numpy(np.stack([m for _, m in pieces]))
    expected = embeddings(cnn, x[[1, 0, 0]], masks, "layer")
    np.testing.assert_allclose(found, expected.numpy(), atol=1e-6)
    assert run.forward_passes == 3
    assert embedded(cnn, x, [], "layer", run, "looking").shape == (0, 0)
