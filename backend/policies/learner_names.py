"""The learners of a causal graph, as forms and commands offer them; nothing is computed here."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

Learner = Annotated[
    Literal["loco", "bart", "fcit", "lasso", "pc", "gated", "correlation", "random_graph"],
    Field(
        title="Learner",
        description="loco: leave one source out of a regression. bart: the method's own test, "
        "Bayesian additive regression trees with effects by region. fcit: decision trees with and "
        "without a source. lasso, pc (Fisher z): straight lines. gated: a network with gates. "
        "correlation and random_graph: controls.",
    ),
]
LEARNER: Learner = "loco"
TITLES = {
    "loco": "Leave one covariate out",
    "bart": "BART, effects by region",
    "fcit": "FCIT",
    "lasso": "LASSO",
    "pc": "PC, Fisher z",
    "gated": "Gated network",
    "correlation": "Correlation (control)",
    "random_graph": "Random graph (control)",
}
