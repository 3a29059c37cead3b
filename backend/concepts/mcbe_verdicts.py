"""What a mixture's numbers say, in sentences: who makes the decision?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from backend.bundle import Arrays

FALL = 0.05
"""Of accuracy when the selector is frozen, from which routing counts."""
EXPLAINED = 0.5
"""Of what the most used expert leaves open, what a tree must tell to explain the routing."""


def verdicts(arrays: Arrays, values: dict[str, Any]) -> list[str]:
    """Sentences about accuracy, experts, the selector and its tree, in this order."""
    return [
        *_accuracy(arrays, values),
        *_each_expert(arrays, values),
        *_selector(arrays, values),
        *_tree(values),
    ]


def _accuracy(arrays: Arrays, values: dict[str, Any]) -> Iterator[str]:
    count, held_out = len(arrays["usage"]), values["held_out"]
    verb = "is" if count == 1 else "are"
    sentence = (
        f"{count} expert{'s' if count > 1 else ''} {verb} right on {values['accuracy']:.1%} of "
        f"{held_out:,} held-out samples"
    )
    known = dict(zip(arrays["front/experts"].tolist(), arrays["front/accuracy"], strict=True))
    if count > 1 and 1 in known:
        sentence += f", one expert on {known[1]:.1%}"
    yield f"{sentence}; the largest class is {values['chance']:.1%}."


def _each_expert(arrays: Arrays, values: dict[str, Any]) -> Iterator[str]:
    """Experts that do not decide anything."""
    routed = np.count_nonzero(arrays["usage"]) > 1
    for m, usage in enumerate(arrays["usage"]):
        says = values["says"][m]
        if usage == 0:
            yield f"Expert {m + 1} gets no sample."
        elif says is not None and not routed:
            yield f"Expert {m + 1} gets every sample and says “{says}” to all: nothing is decided."
        elif arrays["constant"][m]:
            yield (
                f"The selector makes the decision: expert {m + 1} is a constant, it says "
                f"“{says}” whatever the concepts are."
            )
        elif says is not None:
            yield (
                f"The selector makes the decision for expert {m + 1}: it says “{says}” for every "
                "sample it gets."
            )


def _selector(arrays: Arrays, values: dict[str, Any]) -> Iterator[str]:
    if np.count_nonzero(arrays["usage"]) < 2:
        return
    name, alone = values["most_used"] + 1, values["frozen_accuracy"]
    if values["accuracy"] - alone >= FALL:
        yield (
            f"Routing counts: with the selector frozen to expert {name}, accuracy falls from "
            f"{values['accuracy']:.1%} to {alone:.1%}."
        )
    else:
        yield f"Routing adds little: expert {name} alone reaches {alone:.1%}."


def _tree(values: dict[str, Any]) -> Iterator[str]:
    tree = values["tree"]
    if tree is None:
        return
    told = (tree["fidelity"] - tree["majority"]) / max(1e-9, 1 - tree["majority"])
    numbers = (
        f"a shallow tree on the concepts predicts the selector's choice for {tree['fidelity']:.1%} "
        f"of held-out samples, the most used expert alone {tree['majority']:.1%}."
    )
    if told >= EXPLAINED:
        yield f"The routing can be read in concepts: {numbers}"
    else:
        yield f"The routing is not in the concepts, but in what they leave out: {numbers}"
