"""Ready examples: data whose weak spots are known, and the recipe of a model that has them."""

from __future__ import annotations

from backend import examples
from backend.concepts.explanation import Recipe

OWN = "table"
"""The preset that stands for predictions a person brings: there is no model to load."""


Example = examples.Example[Recipe]

EXAMPLES: tuple[Example, ...] = (
    Example(
        "mnist_sum",
        "Digit sums",
        "Two handwritten digits, red or white; the class is their sum. Few training pictures show "
        "2 and 2, or 1 and 1 in white: there the model names the concepts rightly and still gets "
        "the sum wrong.",
        "mnist-sum",
        Recipe(),
    ),
    Example(
        "shapes",
        "Coloured shapes",
        "Striped shapes are nearly always on water, and the stripes are faint: the model reads "
        "“striped” off the water. It fails for plain shapes on water and striped ones on land, "
        "because that concept is wrong.",
        "shapes",
        Recipe(),
    ),
    Example(
        "breast_cancer",
        "Breast cancer",
        "Measured cell nuclei, benign or malignant. Ten of the measurements, high or low, are the "
        "concepts; a model guesses them from the other twenty. No weak spots were planted.",
        "breast-cancer",
        Recipe(epochs=40),
    ),
    Example(
        "xor",
        "Exclusive or",
        "The class is true if just one of two concepts is. No single linear head can say that; a "
        "mixture of two can.",
        "xor",
        Recipe(),
    ),
)


def example(name: str) -> Example:
    """The example with this id.

    Raises:
        KeyError: there is none; the text lists those there are.
    """
    return examples.find(EXAMPLES, name)
