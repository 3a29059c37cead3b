"""A person's weights for a declared architecture, checked by name, shape and dtype."""

from __future__ import annotations

import dataclasses

import numpy as np

from backend.bundle import Arrays
from backend.errors import InputError, shown
from backend.graphs.architecture import Architecture
from backend.graphs.explanation import GraphSet, prefixed
from backend.names import listed
from backend.settings import Settings

_TODO = "Save the state_dict of the architecture you declared, or declare the one you saved."


def expected(architecture: Architecture) -> dict[str, tuple[int, ...]]:
    """Name and shape of every weight, as in `backend.graphs.gnn.Gnn`'s state_dict.

    Raises:
        ValueError: it is a D-MPNN, which nobody brings.
    """
    if architecture.kind == "dmpnn":
        raise ValueError("weights of a D-MPNN are not read")
    found: dict[str, tuple[int, ...]] = {}
    hidden, before = architecture.hidden, architecture.features
    for i in range(architecture.layers):
        shapes = _convolution(architecture, before)
        found |= {f"convs.{i}.{name}": shape for name, shape in shapes.items()}
        if architecture.batch_norm:
            parts = ("weight", "bias", "running_mean", "running_var")
            found |= {f"norms.{i}.{part}": (hidden,) for part in parts}
        before = hidden
    found |= {"hidden.weight": (hidden, hidden), "hidden.bias": (hidden,)}
    return found | {
        "out.weight": (architecture.classes, hidden),
        "out.bias": (architecture.classes,),
    }


def read(name: str, data: bytes, architecture: Architecture, settings: Settings) -> Arrays:
    """The weights of a .safetensors file, as a `GraphSet` holds them.

    `num_batches_tracked` of batch norms may be there and is not used.

    Raises:
        InputError: it is no such file; a tensor is missing, unknown, of another shape or dtype, or
            not finite: the text names it.
    """
    import safetensors

    if len(data) > settings.max_graph_mb * 1e6:
        raise InputError(
            f"The file has more than {settings.max_graph_mb:g} MB (VITRINE_MAX_GRAPH_MB).", name
        )
    try:
        tensors = dict(safetensors.deserialize(data))  # type: ignore[no-untyped-call]
    except (safetensors.SafetensorError, ValueError, TypeError) as error:
        raise InputError(
            f"This is no safetensors file ({shown(str(error))}): nothing in it was run.",
            name,
            "Write it with safetensors.torch.save_file(model.state_dict(), ...).",
        ) from error
    given = {key: tensors[key] for key in tensors if not key.endswith(".num_batches_tracked")}
    wanted = expected(architecture)
    missing = [key for key in wanted if key not in given]
    unknown = [key for key in given if key not in wanted]
    if missing or unknown:
        said = [f"the tensor {listed(missing)} is missing"] if missing else []
        said += [f"the tensor {listed(unknown)} is not of this architecture"] if unknown else []
        text = "; ".join(said)
        raise InputError(f"{text[0].upper()}{text[1:]}.", name, _TODO)
    return prefixed({key: _tensor(name, key, given[key], wanted[key]) for key in wanted})


def attached(graphs: GraphSet, architecture: Architecture, weights: Arrays) -> GraphSet:
    """The graphs with this network.

    Raises:
        InputError: the nodes have another number of features than it reads.
    """
    width = graphs.arrays["x"].shape[1]
    if width != architecture.features:
        raise InputError(
            f"The network reads {architecture.features} features, the nodes have {width}: "
            f"{listed(graphs.feature_names)}.",
            "features",
            "Bring the features the network was trained on, in that order.",
        )
    arrays = graphs.bare() | weights
    kept = graphs.origin.get("notes")
    notes = list(kept) if isinstance(kept, list) else []
    labels = arrays.get("labels")
    unfit = labels is not None and (
        graphs.task != architecture.task or labels.max(initial=-1) >= architecture.classes
    )
    if unfit:
        del arrays["labels"]
        notes.append("The true classes are not those the network tells apart: they are not used.")
    names = graphs.class_names if len(graphs.class_names) == architecture.classes else ()
    return dataclasses.replace(
        graphs,
        arrays=arrays,
        task=architecture.task,
        architecture=architecture,
        class_names=names if names and not unfit else tuple(map(str, range(architecture.classes))),
        origin={**graphs.origin, "notes": notes},
    )


def _convolution(architecture: Architecture, before: int) -> dict[str, tuple[int, ...]]:
    hidden, heads = architecture.hidden, architecture.heads
    if architecture.kind == "gcn":
        return {"bias": (hidden,), "lin.weight": (hidden, before)}
    if architecture.kind == "gin":
        return {
            "eps": (1,),
            "nn.0.weight": (hidden, before),
            "nn.0.bias": (hidden,),
            "nn.2.weight": (hidden, hidden),
            "nn.2.bias": (hidden,),
        }
    if architecture.kind == "gat":
        return {
            "att_src": (1, heads, hidden),
            "att_dst": (1, heads, hidden),
            "bias": (hidden,),
            "lin.weight": (heads * hidden, before),
        }
    return {
        "lin_l.weight": (hidden, before),
        "lin_l.bias": (hidden,),
        "lin_r.weight": (hidden, before),
    }


def _tensor(name: str, key: str, found: dict, shape: tuple[int, ...]) -> np.ndarray:
    if found["dtype"] != "F32":
        raise InputError(
            f"The tensor '{key}' is {found['dtype']}; float32 is needed.",
            name,
            "Save the model after .float().",
        )
    if tuple(found["shape"]) != shape:
        raise InputError(
            f"The tensor '{key}' is {list(found['shape'])}; {list(shape)} is needed.", name, _TODO
        )
    values = np.frombuffer(found["data"], dtype="<f4").reshape(shape).copy()
    if not np.isfinite(values).all():
        raise InputError(
            f"The tensor '{key}' holds a number that is not finite.", name, "Save it again."
        )
    if key.endswith("running_var") and (values < 0).any():
        raise InputError(f"The tensor '{key}' holds a negative variance.", name, "Save it again.")
    return values
