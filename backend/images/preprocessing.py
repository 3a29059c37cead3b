"""From a picture to what a classifier reads: resize, crop, scale, normalise.

Each model has its own, stored with it; the cropped picture in eight bits is what is shown as "what
the model saw", and exactly what is scaled and normalised.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from PIL import Image

from backend.errors import ModelError
from backend.explanation import Frozen

RESAMPLE = {0: "nearest", 1: "lanczos", 2: "bilinear", 3: "bicubic", 4: "box", 5: "hamming"}
IMAGENET_MEAN, IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
_EVEN = ("shortest_edge", "height", "width")


class Preprocessing(Frozen):
    """How a model's pictures are made ready.

    Attributes:
        shortest: pixels the shorter side is resized to; None where height and width are given.
        size: (height, width) that are resized to, whatever the picture's shape.
        crop: (height, width) cut from the middle after that, or None.
        resample: how pixels are interpolated, by PIL's names.
        scale: what eight-bit values are multiplied with, before `mean` is taken off and `std`
            divided by, channel by channel.
    """

    shortest: int | None = None
    size: tuple[int, int] | None = None
    crop: tuple[int, int] | None = None
    resample: Literal["nearest", "lanczos", "bilinear", "bicubic", "box", "hamming"] = "bilinear"
    scale: float = 1 / 255
    mean: tuple[float, float, float] = (0.0, 0.0, 0.0)
    std: tuple[float, float, float] = (1.0, 1.0, 1.0)

    @classmethod
    def of_transformers(cls, config: dict[str, Any]) -> Preprocessing:
        """Of a preprocessor_config.json as transformers' image processors write it.

        Raises:
            ModelError: it asks for what is not known here.
        """

        def on(name: str, otherwise: bool) -> bool:
            found = config.get(name)
            return otherwise if found is None else bool(found)

        if on("do_pad", False):
            raise ModelError("The model's preprocessing pads pictures, which is not served.")
        size = _size(config.get("size"))
        crop = _size(config.get("crop_size"))
        resized = on("do_resize", size is not None)
        shortest = size if isinstance(size, int) else None
        whole = size if isinstance(size, tuple) else None
        if (percent := config.get("crop_pct")) is not None and shortest is not None and resized:
            # As ConvNeXt does below 384 pixels: resized to more, then cut.
            if shortest < 384:
                crop, shortest = (shortest, shortest), int(shortest / percent)
            else:
                whole, shortest = (shortest, shortest), None
        elif not on("do_center_crop", "crop_size" in config):
            crop = None
        if isinstance(crop, int):
            crop = (crop, crop)
        if crop is None and whole is None:
            if shortest is None or not resized:
                raise ModelError("The model's preprocessing gives pictures of no fixed size.")
            crop = (shortest, shortest)
        normal = on("do_normalize", "image_mean" in config)
        mean = [float(v) for v in config.get("image_mean", IMAGENET_MEAN)] if normal else [0.0] * 3
        std = [float(v) for v in config.get("image_std", IMAGENET_STD)] if normal else [1.0] * 3
        if on("rescale_offset", False):  # as EfficientNet may: scaled to -1..1
            mean = [value + 1.0 for value in mean]
        if on("include_top", False):  # as EfficientNet does: divided by the deviation once more
            twice = [float(v) for v in config.get("image_std", IMAGENET_STD)]
            std = [value * more for value, more in zip(std, twice, strict=True)]
        return cls(
            shortest=shortest if resized else None,
            size=whole if resized else None,
            crop=crop,
            resample=RESAMPLE.get(config.get("resample", 2), "bilinear"),  # type: ignore[arg-type]
            scale=float(config.get("rescale_factor", 1 / 255)) if on("do_rescale", True) else 1.0,
            mean=(mean[0], mean[1], mean[2]),
            std=(std[0], std[1], std[2]),
        )

    @property
    def shape(self) -> tuple[int, int]:
        """(height, width) of what the model reads."""
        found = self.crop or self.size
        assert found is not None  # noqa: S101  one of them is always given
        return found

    def seen(self, pixels: np.ndarray) -> np.ndarray:
        """[h, w, 3] uint8: the picture as the model sees it.

        Args:
            pixels: [height, width, 3] uint8.
        """
        return self._cut(Image.fromarray(pixels), Image.Resampling[self.resample.upper()])

    def mask(self, mask: np.ndarray) -> np.ndarray:
        """[h, w] uint8: a mask [height, width] of the picture, cut alike, without new values."""
        return self._cut(Image.fromarray(mask), Image.Resampling.NEAREST)

    def normalised(self, seen: np.ndarray) -> np.ndarray:
        """[3, h, w] float32 of [h, w, 3] uint8."""
        values = seen.astype(np.float32) * np.float32(self.scale)
        values = (values - self._of(self.mean)) / self._of(self.std)
        return np.ascontiguousarray(values.transpose(2, 0, 1), dtype=np.float32)

    def value(self, grey: float) -> np.ndarray:
        """[3] float32: what an eight-bit value of all channels becomes, e.g. 0 for black."""
        level = np.full(3, grey, dtype=np.float32) * np.float32(self.scale)
        return np.asarray((level - self._of(self.mean)) / self._of(self.std))

    def words(self) -> str:
        """In a sentence."""
        done = []
        if self.shortest is not None:
            done.append(f"shorter side resized to {self.shortest} pixels ({self.resample})")
        if self.size is not None:
            done.append(f"resized to {self.size[0]} × {self.size[1]} ({self.resample})")
        if self.crop is not None:
            done.append(f"the middle {self.crop[0]} × {self.crop[1]} cut out")
        mean, std = (", ".join(f"{v:.4g}" for v in each) for each in (self.mean, self.std))
        done.append(f"times {self.scale:.4g}, less ({mean}), divided by ({std})")
        text = "; ".join(done)
        return f"{text[0].upper()}{text[1:]}."

    @staticmethod
    def _of(values: tuple[float, float, float]) -> np.ndarray:
        return np.array(values, dtype=np.float32)

    def _cut(self, given: Image.Image, resample: Image.Resampling) -> np.ndarray:
        width, height = given.size
        if self.shortest is not None:
            short = min(width, height)
            size = tuple(max(1, int(side * self.shortest / short)) for side in (width, height))
            given = given.resize(size, resample)  # type: ignore[arg-type]
        elif self.size is not None:
            given = given.resize((self.size[1], self.size[0]), resample)
        if self.crop is not None:
            tall, wide = self.crop
            left = (given.width - wide) // 2
            top = (given.height - tall) // 2
            given = given.crop((left, top, left + wide, top + tall))
        return np.array(given)


def _size(found: Any) -> int | tuple[int, int] | None:
    if found is None or isinstance(found, int):
        return found
    if not isinstance(found, dict):
        raise ModelError("The model's preprocessing names a size that is not understood.")
    if "shortest_edge" in found:
        return int(found["shortest_edge"])
    if "height" in found and "width" in found:
        return int(found["height"]), int(found["width"])
    raise ModelError("The model's preprocessing names a size that is not understood.")
