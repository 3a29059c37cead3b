"""NumPy archives of trajectories as a frame: names as D4RL and gymnasium have them."""

from __future__ import annotations

import numpy as np

from backend.errors import InputError, shown
from backend.names import apart
from backend.policies.columns import NEXT
from backend.settings import Settings
from backend.tables.archive import arrays
from backend.tables.frame import Frame, checked_size

_STATES = ("states", "observations", "obs", "state")
_NEXT = ("next_states", "next_observations", "next_obs", "next_state")
_NAMES = "state_names"


def read(name: str, data: bytes, settings: Settings) -> Frame:
    """The table of an .npz file: states [n, S], actions [n], and others of [n] under their names.

    `state_names` [S] names the state variables; `next_states` [n, S] are those after each step.

    Raises:
        InputError: it is broken or too large, or its arrays do not fit one another.
    """
    found = arrays(name, data, settings)
    states = next((found.pop(key) for key in _STATES if key in found), None)
    if states is None:
        raise InputError("There is no array 'states'.", name, "Save the states under that name.")
    states = states[:, None] if states.ndim == 1 else states
    if states.ndim != 2 or states.dtype.kind not in "biuf":
        raise InputError(
            f"'states' has the shape {list(states.shape)} of {states.dtype}.",
            name,
            "Save numbers of [transitions, state variables].",
        )
    count = states.shape[1]
    given = found.pop(_NAMES, None)
    words = (
        [f"state {i}" for i in range(count)] if given is None else [str(w) for w in given.ravel()]
    )
    if len(words) != count:
        raise InputError(f"'{_NAMES}' has {len(words)} names for {count} variables.", name)
    names, _ = apart(words)
    checked_size(name, len(states), count, settings.max_samples, settings.max_columns)
    columns = {n: c.astype(np.float64) for n, c in zip(names, states.T, strict=True)}
    follow = next((found.pop(key) for key in _NEXT if key in found), None)
    if follow is not None:
        follow = follow[:, None] if follow.ndim == 1 else follow
        if follow.shape != states.shape or follow.dtype.kind not in "biuf":
            raise InputError(f"'next_states' has the shape {list(follow.shape)}.", name)
        pairs = zip(names, follow.T, strict=True)
        columns |= {NEXT + n: column.astype(np.float64) for n, column in pairs}
    notes = []
    for key, array in found.items():
        flat = array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array
        if flat.ndim != 1 or len(flat) != len(states):
            notes.append(f"The array '{shown(key)}' is not read.")
        elif flat.dtype.kind in "biuf":
            columns[key] = flat.astype(np.float64)
        else:
            words = [w.decode("utf-8", "replace") if isinstance(w, bytes) else str(w) for w in flat]
            columns[key] = np.array(words, dtype=object)
    return Frame(name, columns, notes=tuple(notes))
