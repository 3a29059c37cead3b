"""What PGExplainer learns of a GNN once for all graphs: a network that scores edges.

Luo et al., "Parameterized Explainer for Graph Neural Network", NeurIPS 2020, by torch_geometric's
own class, one graph a step as there.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from pydantic import Field

from backend.errors import InputError
from backend.explainer import Explainer, Reference, Run
from backend.explanation import Frozen
from backend.graphs import items
from backend.graphs.explanation import GraphExplanation, GraphSet, GraphTarget

REFERENCE = Reference(
    authors="Luo, Cheng, Xu, Yu, Zong, Chen, Zhang",
    title="Parameterized Explainer for Graph Neural Network",
    year=2020,
    link="https://arxiv.org/abs/2011.04573",
)


class Parameters(Frozen):
    """torch_geometric's settings, at its defaults but for fewer graphs."""

    epochs: Annotated[int, Field(ge=1, le=500)] = Field(
        30, title="Epochs", description="Passes over the graphs it learns from."
    )
    learning_rate: Annotated[float, Field(gt=0, le=1)] = Field(
        0.003, title="Learning rate", description="Size of a step."
    )
    graphs: Annotated[int, Field(ge=1, le=5000)] = Field(
        100, title="Learns from", description="How many training graphs, or nodes, at most."
    )


class FitPGExplainer(Explainer):
    """Trains the edge scorer on training items of the set.

    Arrays: mlp/<name>, float32. Values: kind "fit", items.
    """

    id = "fit_pg_explainer"
    title = "Fit PGExplainer"
    family = "graphs"
    role = "preparation"
    reference = REFERENCE
    libraries = ("torch", "torch_geometric")
    uses_seed = True
    Parameters = Parameters

    def explain(
        self, model: Any, input: GraphSet, target: GraphTarget, parameters: Any, run: Run
    ) -> GraphExplanation:
        """The trained scorer.

        Raises:
            InputError: there is no GNN, or no graph with an edge to learn from.
        """
        return fitted(input, parameters, run)


def fitted(graphs: GraphSet, parameters: Any, run: Run) -> GraphExplanation:
    """What the step keeps; the explainer calls it where it was given no fit."""
    import torch

    from backend.graphs.explained import Decision

    chosen = items.to_learn_from(graphs, parameters.graphs, run.numpy_generator())
    decisions = [Decision(graphs, items.target(graphs, int(i)), run.device) for i in chosen]
    decisions = [one for one in decisions if len(one.part)]
    if not decisions:
        raise InputError("No graph here has an edge to learn from.", todo="Bring one that has.")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(run.seed)
        algorithm = trained(decisions, parameters, run)
    arrays = {
        f"mlp/{name}": w.detach().cpu().numpy() for name, w in algorithm.mlp.state_dict().items()
    }
    return GraphExplanation(arrays=arrays, values={"kind": "fit", "items": len(decisions)})


def trained(decisions: list[Any], parameters: Any, run: Run) -> Any:
    """torch_geometric's PGExplainer, trained on these decisions, one after the other."""
    from torch_geometric.explain import PGExplainer as Algorithm

    from backend.graphs import batch as batches
    from backend.graphs.pyg import Bare, goal

    algorithm = wrapped(decisions[0], Algorithm(parameters.epochs, lr=parameters.learning_rate))
    algorithm.mlp.to(run.device)
    bare = Bare(decisions[0].classifier.gnn)
    inputs = [batches.parts([one.part], run.device) for one in decisions]
    steps = parameters.epochs * len(decisions)
    for epoch in range(parameters.epochs):
        for i, (one, given) in enumerate(zip(decisions, inputs, strict=True)):
            if i % 20 == 0:
                run.progress(epoch * len(decisions) + i, steps, "learning to score edges")
            algorithm.train(
                epoch,
                bare,
                given.x,
                given.edge_index,
                target=goal(one, one.predicted),
                index=one.part.node,
            )
    run.count(forward=2 * steps, backward=steps)
    return algorithm


def wrapped(decision: Any, algorithm: Any) -> Any:
    """The algorithm, told by torch_geometric's Explainer what it explains."""
    from torch_geometric.explain import Explainer as Explained

    from backend.graphs.pyg import Bare, config

    return Explained(
        model=Bare(decision.classifier.gnn),
        algorithm=algorithm,
        explanation_type="phenomenon",
        edge_mask_type="object",
        model_config=config(decision),
    ).algorithm


def loaded(decision: Any, fit: GraphExplanation, parameters: Any) -> Any:
    """The algorithm with the weights of a fit, ready to be asked.

    Raises:
        InputError: the fit is of another GNN.
    """
    import torch
    from torch_geometric.explain import PGExplainer as Algorithm

    algorithm = wrapped(decision, Algorithm(parameters.epochs, lr=parameters.learning_rate))
    weights = {
        name.removeprefix("mlp/"): torch.from_numpy(np.array(array))
        for name, array in fit.arrays.items()
    }
    ends = 3 if decision.part.node is not None else 2
    if weights["0.weight"].shape[1] != ends * decision.classifier.gnn.architecture.hidden:
        raise InputError("PGExplainer was fitted to another GNN.", todo="Fit it to this one.")
    algorithm.mlp.load_state_dict(weights)
    algorithm._curr_epoch = parameters.epochs - 1
    return algorithm
