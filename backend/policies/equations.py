"""Which edges the equations of an environment have, where they are known.

From the source of gymnasium: `classic_control/cartpole.py` (Euler's rule: positions move by the old
velocities), `mountain_car.py`, `acrobot.py`, `box2d/lunar_lander.py` (velocities first, then
positions by the new ones; in free flight).
"""

from __future__ import annotations

import numpy as np

from backend.policies.environment import find
from backend.policies.transitions import ACTION

UNKNOWN = 255
"""In the matrix of edges: nobody knows."""
_EDGES: dict[str, dict[str, tuple[str, ...]]] = {
    "cartpole": {
        "cart position": ("cart position", "cart velocity"),
        "cart velocity": ("cart velocity", "pole angle", "pole velocity", ACTION),
        "pole angle": ("pole angle", "pole velocity"),
        "pole velocity": ("pole angle", "pole velocity", ACTION),
    },
    "mountaincar": {
        "position": ("position", "velocity", ACTION),
        "velocity": ("position", "velocity", ACTION),
    },
    # Without contact: what legs on the ground do is not known here.
    "lunarlander": {
        # Positions are of the body's origin, which turns about its centre of mass.
        "x": ("x", "x velocity", "angle", "turning", ACTION),
        "y": ("y", "y velocity", "angle", "turning", ACTION),
        "x velocity": ("x velocity", "angle", ACTION),
        "y velocity": ("y velocity", "angle", ACTION),
        "angle": ("angle", "turning", ACTION),
        "turning": ("turning", ACTION),
    },
}


def known_edges(environment: str) -> np.ndarray | None:
    """[S + 1, S + 1] uint8, sources by targets: 1 an edge, 0 none, 255 unknown; None of no other.

    Which variables cause the reward is left unknown. The mean of what the lander's side engines do
    to its turning depends on its angle by 3 sin² of it in 14: that edge is left unknown too.
    """
    if environment not in _EDGES:
        return None
    variables = find(environment).variables
    names = [variable.name for variable in variables]
    found = np.full((len(names) + 1,) * 2, UNKNOWN, dtype=np.uint8)
    for target, causes in _EDGES[environment].items():
        column = [int(name in causes) for name in [*names, ACTION]]
        found[:, names.index(target)] = column
    if environment == "lunarlander":
        found[names.index("angle"), names.index("turning")] = UNKNOWN
        for leg in ("left leg down", "right leg down"):
            found[names.index(leg)] = UNKNOWN
    return found
