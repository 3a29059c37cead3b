"""Causal graphs of CartPole and LunarLander against their equations, every learner in one run.

    python -m bench.causal_xrl [--json] [--seeds 0,1,2,3,4] [--learners loco,bart,...]

`cartpole_f1` and `cartpole_recall` are of the page's default learner over seeds and both kinds of
data (on-policy and mixed), `lunarlander_f1` likewise over its own seeds, in free flight. Then the
seconds of the default learner from 2,500 transitions on, doubled.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict

import numpy as np

from backend.policies import models as policy_models
from backend.policies.agent import Agent
from backend.policies.collecting import collect
from backend.policies.environment import find
from backend.policies.equations import UNKNOWN, known_edges
from backend.policies.explanation import Collecting
from backend.policies.learner_names import LEARNER, TITLES
from backend.policies.learners import LEARNERS
from backend.policies.structure_metrics import scores
from backend.policies.telling import silent
from backend.policies.transitions import Transitions, prepare
from bench.report import machine

MODES = ("on_policy", "mixed")
TRANSITIONS = 20_000
LEGS = slice(6, 8)
GROWTH = (2_500, 5_000, 10_000, 20_000)


def transitions(name: str, mode: str, seed: int, count: int = TRANSITIONS) -> Transitions:
    """Transitions of the agent that comes with an environment; of the lander those in the air."""
    environment = find(name)
    model = policy_models.shipped(name)
    assert model.network is not None
    agent = Agent(model.network, model.weights, environment.variables)
    asked = Collecting.model_validate({"mode": mode, "transitions": count, "seed": seed})
    found = prepare(collect(environment, agent, asked, silent), seed)
    if name != "lunarlander":
        return found
    legs = found.states[:, LEGS] + found.next_states[:, LEGS]
    return found.rows((legs == 0).all(axis=1) & ~found.terminated)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--seeds", default="0,1,2,3,4")
    parser.add_argument("--lander-seeds", default="0,1,2")
    parser.add_argument("--learners", default=",".join(LEARNERS))
    given = parser.parse_args()
    learners = given.learners.split(",")
    figures: dict[str, float] = {}
    for name, listed in (("cartpole", given.seeds), ("lunarlander", given.lander_seeds)):
        seeds = [int(seed) for seed in listed.split(",")]
        figures |= structure(name, seeds, learners)
    figures |= growth()
    if given.json:
        print(json.dumps({"figures": figures, "machine": machine()}))


def structure(name: str, seeds: list[int], learners: list[str]) -> dict[str, float]:
    """Print the table of an environment; its figures."""
    truth = known_edges(name)
    assert truth is not None
    rows: dict[tuple[str, str], list[dict[str, float]]] = defaultdict(list)
    for mode in MODES:
        for seed in seeds:
            data = transitions(name, mode, seed)
            edges = np.where(np.outer(~data.still, ~data.flat), truth, UNKNOWN)
            for learner in learners:
                started = time.perf_counter()
                found = LEARNERS[learner](data, seed)
                seconds = time.perf_counter() - started
                rows[learner, mode].append(scores(found.present, edges) | {"seconds": seconds})
    print(f"\n{find(name).title}, {len(seeds)} seeds, up to {TRANSITIONS} transitions")
    print(f"{'learner':26} {'data':10} {'F1':>6} {'lowest':>7} {'precision':>9} {'recall':>7} "
          f"{'SHD':>5} {'s':>7}")  # fmt: skip
    for (learner, mode), found_rows in sorted(
        rows.items(), key=lambda kv: learners.index(kv[0][0])
    ):
        mean = {key: float(np.mean([row[key] for row in found_rows])) for key in found_rows[0]}
        low = min(row["f1"] for row in found_rows)
        print(f"{TITLES[learner]:26} {mode:10} {mean['f1']:6.3f} {low:7.3f} "
              f"{mean['precision']:9.3f} {mean['recall']:7.3f} {mean['shd']:5.1f} "
              f"{mean['seconds']:7.2f}")  # fmt: skip
    figures = {}
    for learner in learners:
        every = [row for mode in MODES for row in rows[learner, mode]]
        prefix = name if learner == LEARNER else f"{name}_{learner}"
        figures[f"{prefix}_f1"] = float(np.mean([row["f1"] for row in every]))
        if learner == LEARNER:
            figures[f"{name}_recall"] = float(np.min([row["recall"] for row in every]))
    return figures


def growth() -> dict[str, float]:
    """Print seconds of the default learner as transitions double."""
    print("\nGrowth of the default learner on CartPole")
    found = []
    for count in GROWTH:
        data = transitions("cartpole", "mixed", 0, count)
        started = time.perf_counter()
        LEARNERS[LEARNER](data, 0)
        found.append(time.perf_counter() - started)
        print(f"{count:7d} transitions {found[-1]:7.2f} s")
    return {"seconds_20000_over_2500": found[-1] / found[0]}


if __name__ == "__main__":
    main()
