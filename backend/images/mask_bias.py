"""The mask-bias probe: which way of showing a piece embeds its content and not its outline."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from pydantic import Field

from backend.explainer import Explainer, Reference, Run
from backend.explanation import Frozen
from backend.images.explanation import ImageExplanation, ImageTarget, Photos

CONTENTS = ("stripes", "bars", "checks", "dots", "sand", "clouds", "waves", "leaves")
SHAPES = ("disc", "square", "triangle", "bar", "column", "ring", "cross", "corner")
COLOURS = (
    ((205, 70, 60), (240, 220, 200)), ((50, 110, 190), (190, 215, 240)),
    ((30, 30, 30), (225, 225, 225)), ((60, 150, 70), (235, 235, 120)),
    ((215, 180, 120), (165, 125, 75)), ((140, 150, 165), (235, 240, 245)),
    ((40, 120, 140), (120, 200, 200)), ((40, 80, 30), (120, 160, 60)),
)  # fmt: skip


class MaskBiasParameters(Frozen):
    """How much is probed."""

    seed_of_textures: Annotated[int, Field(ge=0, lt=2**31)] = Field(
        0, title="Textures", description="Which random textures are drawn."
    )


class MaskBias(Explainer):
    """Embeds every texture in every outline by each way there is, and measures what groups them.

    Values: kind "mask_bias"; chosen: the way with the highest silhouette by content; rows: of each
    way, masking, exact, content (silhouette of the embeddings grouped by content, cosine distance,
    -1 to 1), outline (grouped by outline), neighbour (share whose nearest neighbour has the same
    content), seconds a piece; reason: why no exact way is offered, or "".
    """

    id = "mask_bias"
    title = "Mask-bias probe"
    family = "images"
    role = "preparation"
    reference = Reference(
        authors="Balasubramanian, Feizi",
        title="Towards Improved Input Masking for Convolutional Neural Networks",
        year=2023,
        link="https://arxiv.org/abs/2211.14646",
    )
    how_to_read = "Higher by content and lower by outline: the mask puts less into the embedding."
    libraries = ("torch", "transformers", "scikit-learn")
    Parameters = MaskBiasParameters

    def explain(
        self, model: Any, input: Photos, target: ImageTarget, parameters: Any, run: Run
    ) -> ImageExplanation:
        """The table; the pictures of the input do not matter."""
        import time

        import torch
        from sklearn.metrics import silhouette_score

        from backend.images import masking

        generator = np.random.default_rng(parameters.seed_of_textures)
        x = torch.cat([model.tensor(picture) for picture in textures(model.shape, generator)])
        shapes = outlines(model.shape)
        pieces = [(c, shape) for c in range(len(CONTENTS)) for shape in shapes]
        contents = np.repeat(np.arange(len(CONTENTS)), len(shapes))
        forms = np.tile(np.arange(len(shapes)), len(CONTENTS))
        ways, reason = masking.offered(model)
        rows = []
        for way in ways:
            started = time.perf_counter()
            found = masking.embedded(model, x, pieces, way, run, f"masking by {way}")
            seconds = (time.perf_counter() - started) / len(pieces)
            unit = found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-12)
            likeness = unit @ unit.T
            np.fill_diagonal(likeness, -np.inf)
            rows.append(
                {
                    "masking": way,
                    "exact": way in masking.EXACT,
                    "content": float(silhouette_score(unit, contents, metric="cosine")),
                    "outline": float(silhouette_score(unit, forms, metric="cosine")),
                    "neighbour": float((contents[likeness.argmax(axis=1)] == contents).mean()),
                    "seconds": seconds,
                }
            )
        chosen = max(rows, key=lambda row: row["content"])["masking"]
        return ImageExplanation(
            arrays={},
            values={"kind": "mask_bias", "chosen": chosen, "rows": rows, "reason": reason},
        )


def textures(shape: tuple[int, int], generator: np.random.Generator) -> np.ndarray:
    """[8, h, w, 3] uint8, a texture each of CONTENTS."""
    tall, wide = shape
    unit = max(4, min(shape) // 16)
    y, x = np.mgrid[:tall, :wide]

    def noise(scale: int) -> np.ndarray:
        small = generator.random((tall // scale + 2, wide // scale + 2))
        return np.kron(small, np.ones((scale, scale)))[:tall, :wide]

    soft = sum(noise(s) / 3 for s in (unit, 2 * unit, 4 * unit))
    mixed = (
        (x // unit) % 2,
        (y // unit) % 2,
        (x // unit + y // unit) % 2,
        ((x % (2 * unit) - unit) ** 2 + (y % (2 * unit) - unit) ** 2 < (0.7 * unit) ** 2),
        noise(max(1, unit // 4)),
        soft,
        (np.sin(2 * np.pi * (y / (2 * unit) + 0.5 * np.sin(x / (2 * unit)))) + 1) / 2,
        noise(max(1, unit // 2)) > 0.5,
    )
    found = np.empty((len(CONTENTS), tall, wide, 3), dtype=np.uint8)
    for i, (share, (one, other)) in enumerate(zip(mixed, COLOURS, strict=True)):
        level = np.asarray(share, dtype=np.float64)[..., None]
        colour = level * np.array(one) + (1 - level) * np.array(other)
        found[i] = np.clip(colour + generator.normal(0, 4, colour.shape), 0, 255)
    return found


def outlines(shape: tuple[int, int]) -> list[np.ndarray]:
    """Masks [h, w] bool about the middle, one each of SHAPES."""
    tall, wide = shape
    y, x = np.meshgrid(np.linspace(-1, 1, tall), np.linspace(-1, 1, wide), indexing="ij")
    far, square = np.hypot(x, y), np.maximum(abs(x), abs(y))
    return [
        far < 0.5,
        square < 0.45,
        (y < 0.5) & (y > -0.6) & (abs(x) < (y + 0.6) / 1.8),
        (abs(y) < 0.2) & (abs(x) < 0.8),
        (abs(x) < 0.2) & (abs(y) < 0.8),
        (far < 0.65) & (far > 0.35),
        (square < 0.7) & ((abs(x) < 0.2) | (abs(y) < 0.2)),
        (square < 0.7) & ((x < -0.3) | (y > 0.3)),
    ]
