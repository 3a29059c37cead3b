"""A network with a gate on every source of each target (Louizos, Welling & Kingma, ICLR 2018).

Gates are hard-concrete: they are pushed shut by a penalty on the chance of being open, and an edge
is where a gate stays open. Imports torch inside: workers only.
"""

from __future__ import annotations

import numpy as np

from backend.explainer import Progress
from backend.policies.loco import Learned, tested
from backend.policies.sources import blocks, standard_targets
from backend.policies.telling import silent
from backend.policies.transitions import Transitions

STEPS = 1200
BATCH = 512
WIDTH = 32
PENALTY = 1e-2
WEIGHT_RATE, GATE_RATE = 5e-3, 2e-2
OPEN = 0.5
REPORT_EVERY = 50


def gated(transitions: Transitions, seed: int, progress: Progress = silent) -> Learned:
    """The edges whose gate is open in more than half of all draws after training."""
    import torch
    from torch.nn import functional

    from backend.threads import one_thread

    pairs, learned = tested(transitions), ~transitions.held
    parts = blocks(transitions)
    owner = np.repeat(np.arange(len(parts)), [part.shape[1] for part in parts])
    x = torch.from_numpy(np.concatenate(parts, axis=1)[learned]).float()
    targets = [target[learned] for target in standard_targets(transitions)]
    y = torch.from_numpy(np.concatenate(targets, axis=1)).float()
    column_of = np.repeat(np.arange(len(targets)), [target.shape[1] for target in targets])
    gate_of = torch.from_numpy(owner)
    sources, outputs = len(parts), y.shape[1]
    with one_thread(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        # One small network a column of the targets, all in one batch of matrices.
        first = torch.nn.Parameter(torch.randn(outputs, x.shape[1], WIDTH) / x.shape[1] ** 0.5)
        shift = torch.nn.Parameter(torch.zeros(outputs, 1, WIDTH))
        second = torch.nn.Parameter(torch.randn(outputs, WIDTH, 1) / WIDTH**0.5)
        gates = torch.nn.Parameter(torch.full((outputs, sources), 1.0))
        weights = {"params": [first, shift, second], "lr": WEIGHT_RATE}
        optimiser = torch.optim.Adam([weights, {"params": [gates], "lr": GATE_RATE}])
        for step in range(STEPS):
            if step % REPORT_EVERY == 0:
                progress(step, STEPS, "training gates")
            rows = torch.randint(len(x), (BATCH,))
            noise = torch.rand(outputs, sources).clamp(1e-6, 1 - 1e-6)
            opened = torch.sigmoid((noise.log() - (1 - noise).log() + gates) / 0.5)
            opened = (opened * 1.2 - 0.1).clamp(0, 1)[:, gate_of]
            hidden = torch.relu((x[rows] * opened[:, None]) @ first + shift)
            said = (hidden @ second)[:, :, 0].T
            open_chance = torch.sigmoid(gates - 0.5 * np.log(0.1 / 1.1))
            loss = functional.mse_loss(said, y[rows]) * outputs + PENALTY * open_chance.sum()
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
        chance = torch.sigmoid(gates - 0.5 * np.log(0.1 / 1.1)).detach().numpy()
    strength = np.zeros(pairs.shape)
    for column, target in enumerate(column_of):
        strength[:, target] = np.maximum(strength[:, target], chance[column])
    return Learned((strength > OPEN) & pairs, strength, np.ones(pairs.shape), pairs)
