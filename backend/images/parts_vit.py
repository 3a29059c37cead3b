"""The vision transformer of the pictures of parts: 64 patches of 8 × 8 pixels and a class token.

Imports torch: only workers import this module.
"""

from __future__ import annotations

from typing import Any

from backend.images.parts import CLASSES, SIDE

PATCH, WIDTH, BLOCKS, HEADS, INTERMEDIATE = 8, 64, 4, 4, 128


def parts_vit() -> Any:
    """A ViTForImageClassification of the nine classes with random weights."""
    from transformers import ViTConfig, ViTForImageClassification

    return ViTForImageClassification(
        ViTConfig(
            image_size=SIDE,
            patch_size=PATCH,
            hidden_size=WIDTH,
            num_hidden_layers=BLOCKS,
            num_attention_heads=HEADS,
            intermediate_size=INTERMEDIATE,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            id2label=dict(enumerate(CLASSES)),
            label2id={name: number for number, name in enumerate(CLASSES)},
        )
    )
