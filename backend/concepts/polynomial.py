"""Formulas of concepts: sums of products, as numbers to compute with and as text to read."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

DIGITS = 3
"""Significant digits of a coefficient that is shown."""
_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "_": r"\_",
    "%": r"\%",
    "&": r"\&",
    "#": r"\#",
    "$": r"\$",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
}


@dataclasses.dataclass(frozen=True)
class Polynomial:
    """Σ_t coefficients[t] Π_j c_j ^ powers[t, j]; powers [t, k] int, coefficients [t] float64."""

    powers: np.ndarray
    coefficients: np.ndarray

    @classmethod
    def constant(cls, value: float, concepts: int) -> Polynomial:
        """The formula that says the same of every sample."""
        return cls(np.zeros((1, concepts), dtype=np.int64), np.array([value]))

    def terms(self, concepts: np.ndarray) -> np.ndarray:
        """[n, t] float64: the product of each term for concepts [n, k]."""
        c = np.asarray(concepts, dtype=np.float64)
        return np.column_stack([(c**powers).prod(axis=1) for powers in self.powers])

    def __call__(self, concepts: np.ndarray) -> np.ndarray:
        """[n] values."""
        values: np.ndarray = self.terms(concepts) @ self.coefficients
        return values

    @property
    def size(self) -> int:
        """Nodes of the expression tree as it is written: leaves, and what joins two of them."""
        leaves = 0
        for powers, number in zip(self.powers, self.coefficients, strict=True):
            degree = int(powers.sum())
            leaves += degree + (degree == 0 or _shown(abs(number)) != "1")
        return 2 * leaves - 1

    def expression(self) -> str:
        """In full precision, the concepts named x0, x1, ...: what sympy and Python can read."""
        return " + ".join(
            "*".join(
                [repr(float(number)), *_factors(powers, [f"x{j}" for j in range(len(powers))])]
            )
            for powers, number in zip(self.powers, self.coefficients, strict=True)
        )

    def text(self, names: Sequence[str]) -> str:
        """With the concepts' own names, coefficients shortened."""
        shown = [name if name.isidentifier() else f"“{name}”" for name in names]
        return self._written(shown, "·", "−")

    def latex(self, names: Sequence[str]) -> str:
        """As a formula in LaTeX."""
        shown = [rf"\text{{{''.join(_LATEX.get(c, c) for c in name)}}}" for name in names]
        return self._written(shown, r" \cdot ", "-")

    def _written(self, names: Sequence[str], times: str, minus: str) -> str:
        written = ""
        for powers, number in zip(self.powers, self.coefficients, strict=True):
            factors = _factors(powers, names, "^")
            amount = _shown(abs(number))
            product = times.join(factors if factors and amount == "1" else [amount, *factors])
            sign = minus if number < 0 else "+"
            first = minus if number < 0 else ""
            written += f" {sign} {product}" if written else f"{first}{product}"
        return written


def parse(model: str, concepts: int, *, binary: bool) -> np.ndarray:
    """[t, k] powers of the products that an expression in X1, X2, ... multiplies out to.

    Args:
        binary: whether concepts are 0 or 1, so that a power is the concept itself.
    """
    import sympy  # type: ignore[import-untyped]

    symbols = sympy.symbols(" ".join(f"X{j + 1}" for j in range(concepts)), seq=True)
    known = {str(symbol): symbol for symbol in symbols}
    found = sympy.Poly(sympy.sympify(model, locals=known), *symbols)
    powers = np.array(found.monoms(), dtype=np.int64).reshape(-1, concepts)
    return unique(np.minimum(powers, 1) if binary else powers)


def unique(powers: np.ndarray) -> np.ndarray:
    """The products, each once: single concepts before products of two, and the constant last."""
    order = sorted(set(map(tuple, powers.tolist())), key=_place)
    return np.array(order, dtype=np.int64).reshape(-1, powers.shape[1])


def _place(powers: tuple[int, ...]) -> tuple[bool, int, tuple[int, ...]]:
    return sum(powers) == 0, sum(powers), tuple(-p for p in powers)


def _factors(powers: Sequence[int] | np.ndarray, names: Sequence[str], up: str = "**") -> list[str]:
    return [
        name if power == 1 else f"{name}{up}{power}"
        for name, power in zip(names, np.asarray(powers).tolist(), strict=True)
        if power
    ]


def _shown(number: float) -> str:
    return f"{number:.{DIGITS}g}"
