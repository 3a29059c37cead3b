"""Training an agent: PPO and DQN of stable-baselines3, value iteration where all states are known.

Schulman et al., "Proximal Policy Optimization Algorithms", 2017; Mnih et al., "Human-level control
through deep reinforcement learning", Nature 2015. One thread and one seed: equal seeds give equal
weights. Imports torch and stable-baselines3: only workers import this module.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium import spaces
from pydantic import JsonValue
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.callbacks import BaseCallback

from backend.bundle import Arrays
from backend.explainer import Progress
from backend.policies.agent import Agent
from backend.policies.coding import coded, width
from backend.policies.environment import Environment
from backend.policies.explanation import Network
from backend.policies.world import World
from backend.threads import one_thread

EPISODES = 20
"""Episodes that a trained agent's return is measured on."""
WHAT = "training the agent"
TIED = 1e-6
"""Values that are closer than this are of equally good actions."""
MARGIN = 0.05
"""How far above the others a best action is to be, in standard deviations of all values."""
_SIZES: dict[str, list[int]] = {"cartpole": [64, 64], "lunarlander": [128, 128]}
_DQN: dict[str, dict[str, Any]] = {
    "lunarlander": {
        "learning_rate": lambda left: 1e-4 + 5e-4 * left, "batch_size": 128, "buffer_size": 100_000,
        "learning_starts": 1000, "gamma": 0.99, "target_update_interval": 500,
        "train_freq": 4, "gradient_steps": 4, "exploration_fraction": 0.2,
        "exploration_final_eps": 0.04,
    },
    "mountaincar": {
        "learning_rate": 4e-3, "batch_size": 128, "buffer_size": 10_000, "learning_starts": 1000,
        "gamma": 0.98, "target_update_interval": 600, "train_freq": 16, "gradient_steps": 8,
        "exploration_fraction": 0.2, "exploration_final_eps": 0.07,
    },
}  # fmt: skip
_PPO: dict[str, dict[str, Any]] = {
    "cartpole": {
        "n_steps": 256, "batch_size": 256, "n_epochs": 20, "gae_lambda": 0.8, "gamma": 0.98,
        "learning_rate": lambda left: 1e-3 * left, "clip_range": lambda left: 0.2 * left,
    },
    "minigrid": {
        "n_steps": 512, "batch_size": 128, "n_epochs": 10, "gae_lambda": 0.95, "gamma": 0.99,
        "learning_rate": 7e-4, "ent_coef": 0.01,
    },
}  # fmt: skip


def train(
    environment: Environment, steps: int, seed: int, progress: Progress
) -> tuple[Network, Arrays, dict[str, JsonValue]]:
    """A trained agent: what it is, its weights, and how it came to be with its return.

    Args:
        steps: of the environment, or of the fit to the best values where those are computed.
        progress: is called many times a second; what it raises ends the training.
    """
    with one_thread(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if environment.algorithm == "value_iteration":
            network, weights = _iterated(environment, steps, progress)
        else:
            network, weights = _learned(environment, steps, seed, progress)
    agent = Agent(network, weights, environment.variables)
    returns = play(environment, agent.act, range(10_000, 10_000 + EPISODES))
    return (
        network,
        weights,
        {
            "algorithm": environment.algorithm,
            "steps": steps,
            "seed": seed,
            "mean_return": float(np.mean(returns)),
            "sd_return": float(np.std(returns)),
            "episodes": EPISODES,
        },
    )


def play(
    environment: Environment, act: Callable[[np.ndarray], np.ndarray], seeds: range
) -> list[float]:
    """Returns of one episode for each seed."""
    found = []
    with World(environment) as world:
        for seed in seeds:
            state, total = world.reset(seed), 0.0
            for _ in range(environment.limit):
                outcome = world.step(int(act(state[None])[0]))
                state, total = outcome.state, total + outcome.reward
                if outcome.terminated or outcome.truncated:
                    break
            found.append(total)
    return found


class _Coded(gymnasium.Env):  # type: ignore[misc]
    """An environment as the networks of stable-baselines3 see it."""

    def __init__(self, environment: Environment) -> None:
        self.world = World(environment)
        self.variables, self.limit = environment.variables, environment.limit
        many = width(environment.variables)
        self.observation_space = spaces.Box(-np.inf, np.inf, (many,), np.float32)
        self.action_space = spaces.Discrete(len(environment.action_names))
        self.seeds = np.random.default_rng(0)
        self.taken = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        if seed is not None:
            self.seeds = np.random.default_rng(seed)
        self.taken = 0
        return self._seen(self.world.reset(int(self.seeds.integers(2**31)))), {}

    def step(self, action: Any) -> Any:
        outcome = self.world.step(int(action))
        self.taken += 1
        cut = outcome.truncated or self.taken >= self.limit
        return self._seen(outcome.state), outcome.reward, outcome.terminated, cut, {}

    def _seen(self, state: np.ndarray) -> np.ndarray:
        seen: np.ndarray = coded(state[None], self.variables)[0].astype(np.float32)
        return seen


class _Told(BaseCallback):  # type: ignore[misc]
    def __init__(self, steps: int, progress: Progress) -> None:
        super().__init__()
        self.steps, self.progress = steps, progress

    def _on_step(self) -> bool:
        if self.n_calls % 50 == 0:
            self.progress(min(self.num_timesteps, self.steps), self.steps, WHAT)
        return True


def _learned(
    environment: Environment, steps: int, seed: int, progress: Progress
) -> tuple[Network, Arrays]:
    sizes = _SIZES.get(environment.id, [64, 64])
    world = _Coded(environment)
    common: dict[str, Any] = {"seed": seed, "device": "cpu", "verbose": 0}
    model: Any
    if environment.algorithm == "ppo":
        chosen = {"net_arch": sizes, "activation_fn": torch.nn.Tanh}
        settings = _PPO.get(environment.id, {"gamma": 0.99, "n_steps": 1024, "batch_size": 64})
        model = PPO("MlpPolicy", world, policy_kwargs=chosen, **settings, **common)
    else:
        chosen = {"net_arch": sizes, "activation_fn": torch.nn.ReLU}
        settings = _DQN[environment.id]
        model = DQN("MlpPolicy", world, policy_kwargs=chosen, **settings, **common)
    model.learn(steps, callback=_Told(steps, progress))
    layers = (
        [*model.policy.mlp_extractor.policy_net, model.policy.action_net]
        if environment.algorithm == "ppo"
        else list(model.policy.q_net.q_net)
    )
    network = Network(
        activation="tanh" if environment.algorithm == "ppo" else "relu",
        head="logits" if environment.algorithm == "ppo" else "values",
        one_hot=any(v.kind == "categorical" for v in environment.variables),
    )
    return network, _weights(layers)


def _iterated(environment: Environment, steps: int, progress: Progress) -> tuple[Network, Arrays]:
    """The best values of every action in every state, and a network fitted to them."""
    with World(environment) as world:
        values = best_values(world.table())
        states = np.stack([world.decoded(index) for index in range(len(values))])
    x = torch.from_numpy(coded(states, environment.variables)).float()
    y = torch.from_numpy(values - values.max(axis=1, keepdims=True)).float()
    spread = y.std()
    module = torch.nn.Sequential(
        torch.nn.Linear(x.shape[1], 64), torch.nn.ReLU(),
        torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, y.shape[1]),
    )  # fmt: skip
    optimiser = torch.optim.Adam(module.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 1e-2, total_steps=steps)
    for step in range(steps):
        if step % 50 == 0:
            progress(step, steps, WHAT)
        said = module(x)
        loss = torch.nn.functional.smooth_l1_loss(said, y / spread, beta=0.05)
        # One state with a wrong first choice can be a loop without end.
        loss = loss + _too_close(said, y > -TIED).mean()
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        schedule.step()
    return Network(activation="relu", head="values", one_hot=True), _weights(module)


def _too_close(said: torch.Tensor, best: torch.Tensor) -> torch.Tensor:
    """[N]: how far the best of the best actions [N, A] is from standing `MARGIN` above others."""
    top = said.masked_fill(~best, -torch.inf).max(dim=1).values
    rest = said.masked_fill(best, -torch.inf).max(dim=1).values
    return torch.relu(MARGIN - (top - rest))


def best_values(
    table: dict[int, dict[int, list[tuple[float, int, float, bool]]]], discount: float = 0.99
) -> np.ndarray:
    """[N, A] float64: discounted return of each action under the best policy (Bellman, 1957)."""
    shape = (len(table), len(table[0]))
    reward, follow = np.zeros(shape), np.zeros((*shape, shape[0]))
    for state, actions in table.items():
        for action, cases in actions.items():
            for probability, after, gained, ends in cases:
                reward[state, action] += probability * gained
                if not ends:
                    follow[state, action, after] += probability
    values = np.zeros(shape)
    for _ in range(10_000):
        new = reward + discount * follow @ values.max(axis=1)
        if np.abs(new - values).max() < 1e-9:
            break
        values = new
    return values


def _weights(layers: Any) -> Arrays:
    linear = [layer for layer in layers if isinstance(layer, torch.nn.Linear)]
    return {
        f"{number}.{name}": tensor.detach().numpy().copy()
        for number, layer in enumerate(linear)
        for name, tensor in (("weight", layer.weight), ("bias", layer.bias))
    }
