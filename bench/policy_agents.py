"""Trains the agents that come with Vitrine and writes them: `python -m bench.policy_agents`.

CartPole takes two minutes on one core, LunarLander half an hour. Each file says how its agent was
trained and what it reaches.
"""

from __future__ import annotations

import argparse
import json
from importlib.metadata import version
from pathlib import Path

import safetensors.numpy

from backend.policies import environment as environments
from backend.policies.training import train

FOLDER = Path(environments.__file__).parent / "agents"

SEEDS = {"lunarlander": 1}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=["cartpole", "lunarlander"])
    parser.add_argument("--seed", type=int, help="default: that of the agents that come along")
    parser.add_argument("--steps", type=int)
    given = parser.parse_args()
    for name in given.names:
        environment = environments.find(name)
        steps = given.steps or environment.steps
        seed = SEEDS.get(name, 0) if given.seed is None else given.seed
        last = [0]

        def told(done: float, total: float, what: str, last: list[int] = last) -> None:
            if int(10 * done / total) > last[0]:
                last[0] = int(10 * done / total)
                print(f"{what}: {done:.0f} of {total:.0f}", flush=True)

        network, weights, origin = train(environment, steps, seed, told)
        print(f"{name}: {json.dumps(origin)}")
        versions = {n: version(n) for n in ("stable-baselines3", "gymnasium", "torch")}
        agent = {"network": network.model_dump(mode="json"), "origin": origin | versions}
        file = FOLDER / f"{name}.safetensors"
        file.write_bytes(safetensors.numpy.save(weights, {"agent": json.dumps(agent)}))


if __name__ == "__main__":
    main()
