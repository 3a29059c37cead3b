"""Made slicings, and what is read off their figures."""

import io

import numpy as np
import pytest
from PIL import Image

from backend.concepts.explanation import ConceptExplanation
from components.figures import render
from components.figures.palette import DARK, LIGHT

THEMES = pytest.mark.parametrize("look", [LIGHT, DARK], ids=["light", "dark"])
SCRIPT, BOLD = "<script>alert('&')</script>", "<b>big</b>"
CONCEPTS = ("striped", "water", SCRIPT, BOLD)
CLASSES = ("land", "<i>sea</i>")


def keyword(concept, predicted, true, score=1.0):
    wrong = (predicted > 0.5) != (true > 0.5)
    return {
        "concept": concept,
        "score": score,
        "predicted": predicted,
        "true": true,
        "mispredicted": wrong,
    }


def one(size, *keywords, score=0.5, confusion=((0, 1, 3), (1, 0, 2))):
    return {
        "size": size,
        "weight": float(size),
        "score": score,
        "keywords": list(keywords),
        "failing": next((k["concept"] for k in keywords[:1] if k["mispredicted"]), None),
        "parts": {},
        "confusion": [list(pair) for pair in confusion],
    }


FAILED = one(40, keyword(0, 0.9, 0.1), keyword(1, 0.8, 0.9), keyword(2, 0.7, 0.8), score=0.75)
RARE = one(25, keyword(3, 0.2, 0.1), keyword(0, 0.9, 0.2))
UNNAMED = one(5)


def sliced(*found, **arrays):
    """An explanation with these slices in ranking order."""
    return ConceptExplanation(
        arrays={"errors": np.arange(sum(s["size"] for s in found), dtype=np.int32), **arrays},
        values={
            "kind": "slices",
            "slices": list(found),
            "concept_names": list(CONCEPTS),
            "class_names": list(CLASSES),
            "samples": 900,
            "chosen_slices": 6,
        },
    )


def bars(figure):
    return {trace.name: trace for trace in figure.data}


def notes(figure):
    return figure.layout.meta["notes"]


def drawn_as(figure):
    """[height, width, 3] uint8: what matplotlib makes of a figure."""
    picture = render.render(figure, "png", via="matplotlib", scale=1.0)
    return np.asarray(Image.open(io.BytesIO(picture)).convert("RGB"))


def rgb(colour):
    return tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5))


def has(picture, colour):
    """Whether some pixel has the colour, up to rounding."""
    away = abs(picture.astype(int) - rgb(colour)).max(axis=2)
    return bool((away <= 2).any())


ECTP = np.array([[0.1, 0.5, 0.02, 0.3], [np.nan] * 4], np.float32)


def grown(**changes):
    """What CB-SLICE tells of how it came to its slices."""
    found = {
        "ectp": ECTP,
        "kept": np.array([1, 3], np.int32),
        "k/values": np.array([4, 6, 8], np.int32),
        "k/objectives": np.array([9.5, 4.25, 4.125], np.float32),
        "objective": np.array([12.0, 5.5, 4.25], np.float32),
    }
    return found | changes
