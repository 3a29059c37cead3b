"""What PGExplainer learns of a GNN once for all graphs: a network that scores edges.

Luo et al., "Parameterized Explainer for Graph Neural Network", NeurIPS 2020, by torch_geometric's
own class, one graph a step as there.
"""

from __future__ import annotations

import warnings
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

HIDDEN = 64
"""Units of torch_geometric's scorer."""


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
    from backend.graphs.explained import Decision
    from backend.graphs.pyg import Columns, seeded

    chosen = items.to_learn_from(graphs, parameters.graphs, run.numpy_generator())
    decisions = []
    for done, item in enumerate(chosen.tolist()):
        run.progress(done, len(chosen), "reading the training graphs")
        decision = Decision(graphs, items.target(graphs, item), run.device)
        if len(Columns(decision)):
            decisions.append(decision)
    if not decisions:
        raise InputError("No graph here has an edge to learn from.", todo="Bring one that has.")
    with seeded(run.seed, run.device):
        algorithm = trained(decisions, parameters, run)
    arrays = {
        f"mlp/{name}": w.detach().cpu().numpy() for name, w in algorithm.mlp.state_dict().items()
    }
    return GraphExplanation(arrays=arrays, values={"kind": "fit", "items": len(decisions)})


def trained(decisions: list[Any], parameters: Any, run: Run) -> Any:
    """torch_geometric's PGExplainer, trained on these decisions, one after the other."""
    from torch_geometric.explain import PGExplainer as Algorithm

    from backend.graphs.pyg import Bare, Columns, goal

    # Of its own `float(loss)`: nothing a user could do about.
    warnings.filterwarnings("ignore", "Converting a tensor with requires_grad=True", UserWarning)

    algorithm = wrapped(decisions[0], Algorithm(parameters.epochs, lr=parameters.learning_rate))
    algorithm.mlp.to(run.device)
    bare = Bare(decisions[0].classifier.gnn)
    inputs = [Columns(one) for one in decisions]
    steps = parameters.epochs * len(decisions)
    for epoch in range(parameters.epochs):
        for i, (one, given) in enumerate(zip(decisions, inputs, strict=True)):
            run.check_cancelled()
            if i % 20 == 0:
                run.progress(epoch * len(decisions) + i, steps, "learning to score edges")
            algorithm.train(
                epoch,
                bare,
                given.x,
                given.edge_index,
                target=goal(one, one.predicted),
                index=one.part.node,
                **given.more,
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


def loaded(decision: Any, fit: Any, parameters: Any) -> Any:
    """The algorithm with the weights of a fit, ready to be asked.

    Raises:
        InputError: it is no fit of PGExplainer's, or of a GNN of another shape.
    """
    import torch
    from torch_geometric.explain import PGExplainer as Algorithm

    algorithm = wrapped(decision, Algorithm(parameters.epochs, lr=parameters.learning_rate))
    algorithm.mlp.load_state_dict(
        {name: torch.from_numpy(array) for name, array in _weights(decision, fit).items()}
    )
    algorithm._curr_epoch = parameters.epochs - 1
    return algorithm


def _weights(decision: Any, fit: Any) -> dict[str, np.ndarray]:
    """The scorer's weights, checked: a linear layer, a ReLU, a linear layer to one number."""
    todo = "Fit PGExplainer to this GNN, and give that fit."
    arrays = fit.arrays if isinstance(fit, GraphExplanation) else {}
    ends = 2 if decision.part.node is None else 3
    width = ends * decision.classifier.gnn.architecture.hidden
    shapes = {
        "mlp/0.weight": (HIDDEN, width),
        "mlp/0.bias": (HIDDEN,),
        "mlp/2.weight": (1, HIDDEN),
        "mlp/2.bias": (1,),
    }
    if set(arrays) != set(shapes) or fit.values.get("kind") != "fit":
        raise InputError("What was given is no fit of PGExplainer's.", todo=todo)
    if {name: array.shape for name, array in arrays.items()} != shapes:
        raise InputError("PGExplainer was fitted to another GNN.", todo=todo)
    found = {name.removeprefix("mlp/"): np.array(a, dtype=np.float32) for name, a in arrays.items()}
    if not all(np.isfinite(a).all() for a in found.values()):
        raise InputError("The fit of PGExplainer holds weights that are no numbers.", todo=todo)
    return found
