"""Training gives the same model in any number of threads."""

import torch

from backend.concepts.explanation import ConceptTable, ConceptTarget, Recipe
from backend.concepts.train_cbm import TrainCbm
from backend.explainer import NoParameters
from tests.backend.concepts.carriers import source
from tests.fake import FakeRun


def test_the_number_of_threads_changes_nothing(tmp_path):
    """Sums over pictures differ in the last digits between one thread and two."""
    model = source("shapes", tmp_path)
    target = ConceptTarget(recipe=Recipe(epochs=1))
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            found.append(
                TrainCbm().explain(model, ConceptTable.none(), target, NoParameters(), FakeRun())
            )
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    assert found[0].to_bytes() == found[1].to_bytes()
