"""A true environment: reset, step, put into a state, draw. Imports gymnasium: workers only."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from typing import Any

import numpy as np

from backend.errors import InputError
from backend.policies.environment import Environment


@dataclasses.dataclass(frozen=True, eq=False)
class Outcome:
    """What one step did: the state after it [S] float32, the reward, and how the episode is."""

    state: np.ndarray
    reward: float
    terminated: bool
    truncated: bool


class World:
    """One environment of gymnasium, seen through its named state variables.

    Args:
        pictures: whether `render` will be asked.
    """

    def __init__(self, environment: Environment, pictures: bool = False) -> None:
        os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # pygame opens no window
        os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
        import gymnasium

        if environment.id == "minigrid":
            import minigrid  # noqa: F401  it adds its environments to gymnasium's
        self.environment = environment
        mode = "rgb_array" if pictures else None
        self.gym: Any = gymnasium.make(
            environment.gym_id, render_mode=mode, **dict(environment.options)
        )

    def reset(self, seed: int) -> np.ndarray:
        """Start an episode; [S] float32."""
        seen, _ = self.gym.reset(seed=seed)
        return self._state(seen)

    def step(self, action: int) -> Outcome:
        """Take an action."""
        seen, reward, terminated, truncated, _ = self.gym.step(int(action))
        return Outcome(self._state(seen), float(reward), bool(terminated), bool(truncated))

    def set_state(self, state: np.ndarray) -> np.ndarray:
        """Put the environment into a state [S], its episode at the start; the state it is then in.

        Raises:
            InputError: this environment cannot be set.
        """
        if not self.environment.settable:
            raise InputError(f"{self.environment.title} cannot be put into a state.")
        inner = self.gym.unwrapped
        self.gym.reset(seed=0)
        values = [float(value) for value in state]
        match self.environment.id:
            case "cartpole":
                inner.state = np.array(values)
            case "mountaincar":
                inner.state = np.array(values)
            case "acrobot":
                one, two = np.arctan2(values[1], values[0]), np.arctan2(values[3], values[2])
                inner.state = np.array([one, two, values[4], values[5]])
            case "taxi":
                inner.s = inner.encode(*(int(value) for value in values))
            case "frozenlake":
                inner.s = int(values[0]) * inner.ncol + int(values[1])
        return np.asarray(state, dtype=np.float32)

    def reseed(self, seed: int) -> None:
        """Let chance go on by another seed from here."""
        self.gym.unwrapped.np_random = np.random.default_rng(seed)

    def render(self) -> np.ndarray:
        """[H, W, 3] uint8."""
        picture: np.ndarray = np.asarray(self.gym.render(), dtype=np.uint8)
        return picture

    def table(self) -> dict[int, dict[int, list[tuple[float, int, float, bool]]]]:
        """Probabilities of what follows: {state index: {action: [(p, next, reward, ends)]}}.

        Of environments with a finite number of states only.
        """
        found: dict[int, dict[int, list[tuple[float, int, float, bool]]]] = self.gym.unwrapped.P
        return found

    def decoded(self, index: int) -> np.ndarray:
        """[S] float32: the variables of a state's index, of environments that have one."""
        return self._state(index)

    def close(self) -> None:
        self.gym.close()

    def __enter__(self) -> World:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(Exception):  # a window that was never open
            self.close()

    def _state(self, seen: Any) -> np.ndarray:
        inner = self.gym.unwrapped
        match self.environment.id:
            case "taxi":
                found = list(inner.decode(int(seen)))
            case "frozenlake":
                found = list(divmod(int(seen), inner.ncol))
            case "minigrid":
                found = _grid(inner)
            case _:
                found = seen
        return np.array(found, dtype=np.float32)


def _grid(inner: Any) -> list[float]:
    """The variables of a MiniGrid with a key and a door."""
    things = {
        cell.type: (x, y, cell)
        for x in range(inner.width)
        for y in range(inner.height)
        if (cell := inner.grid.get(x, y)) is not None and cell.type in ("door", "key")
    }
    carries = inner.carrying is not None and inner.carrying.type == "key"
    x, y = inner.agent_pos
    wall, door, gate = things["door"]
    # A key that is carried lies where the agent is.
    key = (x, y) if carries else things["key"][:2]
    state = [x, y, inner.agent_dir, carries, gate.is_open, wall, door, *key]
    return [float(value) for value in state]
