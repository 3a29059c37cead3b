"""Points put where they are missing: on a path known in closed form, and on models."""

import numpy as np
import pytest
import torch

from backend.errors import ModelError
from backend.tokens.path import TOLERANCE, Path
from tests.backend.tokens.ablate import PROMPT, target
from tests.backend.tokens.test_integrated_gradients import integrated, riemann
from tests.fake import FakeRun
from tests.tiny import ARCHITECTURES, untouched

SHARES = torch.tensor([0.5, -0.25, 0.75, 0.0])


class Known:
    """An objective whose f along the path from zeros to ones is a known function of α.

    Token j holds a number x_j, and f = g(Σ share_j x_j) with shares that sum to 1.
    """

    def __init__(self, g):
        self.g, self.run, self.model = g, FakeRun(), self
        self.ids, self.context = (0, 1, 2, 3), range(3)
        self.points = []

    def embeddings(self, ids):
        return torch.ones(len(ids), 1)

    def of_embeddings(self, x):
        along = (x[..., 0] * SHARES).sum(1)
        self.points += along.detach().tolist()
        return self.g(along)

    def finite(self, found, name):
        if not np.isfinite(found).all():
            raise ModelError(name)
        return found


def step(at):
    return lambda a: 10 * torch.sigmoid((a - at) * 400)


@pytest.mark.parametrize("at", [0.111, 0.5, 0.873])
def test_a_jump_is_found_where_even_points_miss_it(at):
    known = Known(step(at))
    path = Path(known, torch.zeros(1))
    scores, used = path.adaptive(64)
    np.testing.assert_allclose(scores, 10 * SHARES.numpy(), atol=0.2)
    even = path.even(used)
    assert abs(even.sum() - 10) > 5 * abs(scores.sum() - 10)


def test_it_stops_early_where_nothing_is_missing():
    known = Known(lambda a: 3 * a)
    scores, used = Path(known, torch.zeros(1)).adaptive(64)
    assert used == 16
    np.testing.assert_allclose(scores, 3 * SHARES.numpy(), atol=1e-6)
    assert (known.run.forward, known.run.backward) == (16, 16)


@pytest.mark.parametrize("steps", [4, 5, 7, 64])
def test_never_more_points_than_asked_for(steps):
    known = Known(lambda a: torch.sin(300 * a))
    _, used = Path(known, torch.zeros(1)).adaptive(steps)
    assert used == steps == known.run.backward == len(set(known.points))
    assert known.run.reports[-1][:2] == (steps, steps)


def test_no_slope_at_the_baseline_is_no_failure_elsewhere_it_is():
    def root(a):
        return torch.sqrt(a.clamp_min(0))  # infinite slope at 0

    scores, _ = Path(Known(root), torch.zeros(1)).adaptive(200)
    np.testing.assert_allclose(scores, SHARES.numpy(), atol=0.02)
    with pytest.raises(ModelError, match="gradients"):
        Path(Known(lambda a: torch.sqrt((a - 0.5).abs())), torch.zeros(1)).adaptive(9)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_equals_a_riemann_sum(tiny, architecture):
    model, hf = tiny(architecture), untouched(architecture)
    found = integrated(model, FakeRun(), span=(1, 3), steps=256)
    start = hf.get_input_embeddings()(torch.tensor(model.neutral_id)).detach()
    expected = riemann(hf, found.sequence.ids, found.explained, start, 200)
    stop = found.explained[0]
    difference = abs(found.values["value"] - found.values["baseline_value"])
    assert found.values["points_used"] <= 256
    if found.values["points_used"] < 256:
        assert abs(found.values["completeness_gap"]) <= TOLERANCE * difference + 1e-3
    scale = np.abs(expected).max()
    np.testing.assert_allclose(found.arrays["scores"][:stop], expected[:stop], atol=0.02 * scale)


def test_batches_do_not_move_the_points(tiny, monkeypatch):
    whole = integrated(tiny("qwen2"), steps=24)
    monkeypatch.setattr("backend.tokens.path.ROWS_PER_BATCH", 3)
    part = integrated(tiny("qwen2"), steps=24)
    np.testing.assert_allclose(part.arrays["scores"], whole.arrays["scores"], atol=1e-4)
    assert part.values["points_used"] == whole.values["points_used"]


def test_the_explained_tokens_stay_as_they_are(tiny):
    from backend.tokens.objective import Objective

    model = tiny("llama")
    objective = Objective(model, PROMPT, target(model, span=(1,)), FakeRun())
    path = Path(objective, torch.zeros(32))
    stop = len(objective.context)
    assert (path.start[:stop] == 0).all()
    assert torch.equal(path.start[stop:], path.end[stop:])
