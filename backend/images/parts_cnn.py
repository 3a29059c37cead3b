"""The convolutional network of the pictures of parts: small, with a fine grid of maps.

A place of its last maps sees 9 pixels across, less than half a part. Its logits are linear in these
maps: a head on their means.

Imports torch: only workers import this module.
"""

from __future__ import annotations

from collections import OrderedDict

from torch import Tensor, nn

from backend.images.parts import CLASSES

LAYERS = ((24, 1), (48, 2), (96, 2))
"""Maps and stride of each convolution of 3 × 3."""
MAPS = 96
"""Of the last layer, a convolution of 1 × 1; 16 × 16 each."""


class PartsCnn(nn.Module):
    """pixel_values [B, 3, 64, 64] -> logits [B, 9]."""

    def __init__(self) -> None:
        super().__init__()
        layers: OrderedDict[str, nn.Module] = OrderedDict()
        before = 3
        for number, (after, stride) in enumerate(LAYERS):
            layers[f"conv{number}"] = nn.Conv2d(
                before, after, 3, stride=stride, padding=1, bias=False
            )
            layers[f"norm{number}"] = nn.BatchNorm2d(after)
            layers[f"relu{number}"] = nn.ReLU()
            before = after
        layers["last"] = nn.Conv2d(before, MAPS, 1)
        layers["relu"] = nn.ReLU()
        self.maps = nn.Sequential(layers)
        self.head = nn.Linear(MAPS, len(CLASSES))

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.head(self.maps(x).mean(dim=(2, 3)))
        return found
