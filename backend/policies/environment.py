"""Environments that agents act in: their variables, actions and recipes; no gymnasium here."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Literal

from backend.errors import InputError
from backend.policies.explanation import Variable

OWN = "own"
"""The preset that stands for a person's own table of trajectories."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Environment:
    """One environment of gymnasium, its state named.

    Attributes:
        gym_id, options: what gymnasium makes it of.
        limit: steps after which an episode is cut off.
        settable: whether the true environment can be put into a given state.
        solved: mean return from which the task counts as solved, None where nothing is said.
        algorithm: what trains an agent on the page. steps: of that training.
        agent: whether one comes with Vitrine.
    """

    id: str
    title: str
    gym_id: str
    variables: tuple[Variable, ...]
    action_names: tuple[str, ...]
    limit: int
    settable: bool
    algorithm: Literal["ppo", "dqn", "value_iteration"]
    steps: int
    solved: float | None = None
    options: Mapping[str, object] = dataclasses.field(default_factory=dict)
    agent: bool = False
    note: str = ""


def _numbers(**units: str) -> tuple[Variable, ...]:
    return tuple(Variable(name=name.replace("_", " "), unit=unit) for name, unit in units.items())


def _binary(*names: str) -> tuple[Variable, ...]:
    return tuple(Variable(name=name, kind="binary") for name in names)


def _kinds(name: str, *levels: str) -> Variable:
    return Variable(name=name, kind="categorical", levels=levels)


def _numbered(name: str, count: int) -> Variable:
    return _kinds(name, *(str(number) for number in range(count)))


ENVIRONMENTS = (
    Environment(
        id="cartpole",
        title="CartPole",
        gym_id="CartPole-v1",
        variables=_numbers(
            cart_position="m", cart_velocity="m/s", pole_angle="rad", pole_velocity="rad/s"
        ),
        action_names=("push left", "push right"),
        limit=500,
        settable=True,
        algorithm="ppo",
        steps=100_000,
        solved=475,
        agent=True,
        note="A cart is pushed left or right so that the pole on it stays upright.",
    ),
    Environment(
        id="lunarlander",
        title="LunarLander",
        gym_id="LunarLander-v3",
        variables=(
            *_numbers(x="", y="", x_velocity="", y_velocity="", angle="rad", turning=""),
            *_binary("left leg down", "right leg down"),
        ),
        action_names=("nothing", "left engine", "main engine", "right engine"),
        limit=1000,
        settable=False,
        algorithm="dqn",
        steps=350_000,
        solved=200,
        agent=True,
        note="A craft is landed on the pad by its three engines.",
    ),
    Environment(
        id="acrobot",
        title="Acrobot",
        gym_id="Acrobot-v1",
        variables=_numbers(
            cosine_1="", sine_1="", cosine_2="", sine_2="", velocity_1="rad/s", velocity_2="rad/s"
        ),
        action_names=("torque −1", "no torque", "torque +1"),
        limit=500,
        settable=True,
        algorithm="ppo",
        steps=60_000,
        solved=-100,
        note="Two links hang from a point; the joint between them is turned until the end is up.",
    ),
    Environment(
        id="mountaincar",
        title="MountainCar",
        gym_id="MountainCar-v0",
        variables=_numbers(position="", velocity=""),
        action_names=("push left", "coast", "push right"),
        limit=200,
        settable=True,
        algorithm="dqn",
        steps=120_000,
        solved=-110,
        note="A car too weak for the hill swings until it is over it.",
    ),
    Environment(
        id="taxi",
        title="Taxi",
        gym_id="Taxi-v4",
        variables=(
            _numbered("row", 5),
            _numbered("column", 5),
            _kinds("passenger", "red", "green", "yellow", "blue", "in the taxi"),
            _kinds("destination", "red", "green", "yellow", "blue"),
        ),
        action_names=("south", "north", "east", "west", "pick up", "drop off"),
        limit=200,
        settable=True,
        algorithm="value_iteration",
        steps=4000,
        solved=8,
        note="A passenger is fetched and brought to one of four places.",
    ),
    Environment(
        id="frozenlake",
        title="FrozenLake",
        gym_id="FrozenLake-v1",
        variables=(_numbered("row", 4), _numbered("column", 4)),
        action_names=("left", "down", "right", "up"),
        limit=100,
        settable=True,
        algorithm="value_iteration",
        steps=1500,
        solved=0.7,
        options={"is_slippery": True},
        note="A goal is reached over ice with holes; two steps in three slip to a side.",
    ),
    Environment(
        id="minigrid",
        title="MiniGrid: a key for the door",
        gym_id="MiniGrid-DoorKey-5x5-v0",
        variables=(
            *_numbers(x="cells", y="cells"),
            _kinds("facing", "right", "down", "left", "up"),
            *_binary("has the key", "door is open"),
            *_numbers(wall_x="cells", door_y="cells", key_x="cells", key_y="cells"),
        ),
        action_names=("turn left", "turn right", "forward", "pick up", "drop", "toggle", "done"),
        limit=250,
        settable=False,
        algorithm="ppo",
        steps=100_000,
        note="A door is opened with a key that must be fetched first.",
    ),
)


def find(name: str) -> Environment:
    """The environment with this id.

    Raises:
        InputError: there is none.
    """
    for environment in ENVIRONMENTS:
        if environment.id == name:
            return environment
    known = ", ".join(environment.id for environment in ENVIRONMENTS)
    raise InputError(f"There is no environment '{name}'.", todo=f"Choose from {known}.")
