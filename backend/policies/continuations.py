"""What follows an action in the true environment, drawn again and again. Workers only.

The environment is brought to the moment by the recorded actions from the same start, or put there;
then chance is drawn anew. Two actions are followed through the same draws, so that what both have
in common is no part of their difference.
"""

from __future__ import annotations

import numpy as np

from backend.errors import InputError
from backend.explainer import Progress
from backend.policies.acting import Acting
from backend.policies.environment import Environment, find
from backend.policies.explanation import Experience
from backend.policies.moment import Moment
from backend.policies.reward_terms import terms
from backend.policies.world import World

CLOSE = 1e-4
"""How far a replayed state may be from the recorded one."""
AGAIN = "Explain a moment of an episode that was collected here."


def returns(
    experience: Experience,
    agent: Acting,
    at: Moment,
    actions: tuple[int, int],
    draws: int,
    discount: float,
    seed: int,
    progress: Progress = lambda *_: None,
) -> np.ndarray:
    """[2, D, C] discounted sums of each term of the reward after either action.

    Raises:
        InputError: the environment cannot be brought to the moment.
    """
    environment = find(experience.environment)
    found = np.zeros((2, draws, 0))
    with World(environment) as world:
        for draw in range(draws):
            chance = int(np.random.default_rng([seed, 12, draw]).integers(2**31))
            for k, action in enumerate(actions):
                progress(2 * draw + k, 2 * draws, "following both actions")
                state = _brought(world, experience, at)
                world.reseed(chance)
                said = _followed(world, environment, agent, state, action, discount)
                if not found.shape[2]:
                    found = np.zeros((2, draws, len(said)))
                found[k, draw] = said
    return found


def _brought(world: World, experience: Experience, at: Moment) -> np.ndarray:
    """The state [S] that the world is then in."""
    environment = world.environment
    if environment.settable:
        return world.set_state(at.state)
    seeds = experience.origin.get("seeds")
    if at.row is None or at.episode is None or not isinstance(seeds, list):
        raise InputError(f"{environment.title} cannot be put into a state set by hand.", todo=AGAIN)
    arrays = experience.arrays
    rows = np.flatnonzero((arrays["episodes"] == at.episode) & (arrays["steps"] < (at.step or 0)))
    state = world.reset(int(str(seeds[at.episode])))
    for row in rows:
        state = world.step(int(arrays["actions"][row])).state
    if np.abs(state - at.state).max(initial=0.0) > CLOSE:
        raise InputError("The episode goes another way when it is played again.", todo=AGAIN)
    return state


def _followed(
    world: World,
    environment: Environment,
    agent: Acting,
    state: np.ndarray,
    action: int,
    discount: float,
) -> np.ndarray:
    """[C] discounted sums until the episode ends."""
    states, actions, rewards, ended = [state], [], [], []
    for step in range(environment.limit):
        taken = action if step == 0 else int(agent.act(states[-1][None])[0])
        outcome = world.step(taken)
        states.append(outcome.state)
        actions.append(taken)
        rewards.append(outcome.reward)
        ended.append(outcome.terminated)
        if outcome.terminated:
            break
    each = terms(
        environment.id,
        np.stack(states[:-1]),
        np.array(actions),
        np.array(rewards),
        np.stack(states[1:]),
        np.array(ended),
    )
    weights = discount ** np.arange(len(each))
    return np.asarray(weights @ each)
