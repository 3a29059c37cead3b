"""Which numbers say nothing: those where a control does as well as the best method.

A control knows nothing of the model, as random scores do (`Explainer.control`).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

from backend.metric import Metric


def won_by_control(
    values: Mapping[str, Mapping[str, float | None]],
    controls: Collection[str],
    metrics: Sequence[Metric],
) -> dict[str, str]:
    """Metric id -> the control that is best by it, where no method is better; the first of equals.

    Values that are not defined (None, NaN) do not count, nor a metric that only controls have.

    Args:
        values: name of a row -> metric id -> value.
        controls: names of the rows that are controls; others are methods.
    """
    won = {}
    for metric in metrics:
        sign = 1.0 if metric.higher_is_better else -1.0
        known = {
            name: sign * value
            for name, row in values.items()
            if (value := row.get(metric.id)) is not None and not math.isnan(value)
        }
        theirs = {name: value for name, value in known.items() if name in controls}
        ours = [value for name, value in known.items() if name not in controls]
        best = max(theirs, key=theirs.__getitem__, default=None)
        if best is not None and ours and theirs[best] >= max(ours):
            won[metric.id] = best
    return won


def words(won: Mapping[str, str], names: Mapping[str, str]) -> list[str]:
    """A sentence a control: which metrics say nothing.

    Args:
        won: as `won_by_control` has it.
        names: of metrics, by id.
    """
    by: dict[str, list[str]] = {}
    for metric, control in won.items():
        by.setdefault(control, []).append(names[metric])
    return [
        f"{', '.join(listed)}: a control ({control}) does as well as the best method, so "
        f"{'it says' if len(listed) == 1 else 'they say'} nothing here."
        for control, listed in by.items()
    ]
