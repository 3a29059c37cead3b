"""A small table as files of every kind."""

from __future__ import annotations

import io

import numpy as np

from backend.concepts.explanation import ConceptTable

NAMES = ("red", "round", "has stem")
CLASSES = ("apple", "brick")


def small(n: int = 12, seed: int = 0) -> ConceptTable:
    """Twelve fruits and bricks, three of them predicted wrongly."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, size=(n, 3)).astype(np.int8)
    truth[:2] = [[1, 1, 1], [0, 0, 0]]
    logits = ((2 * truth - 1) * rng.uniform(0.5, 4, size=(n, 3))).astype(np.float32)
    labels = (np.arange(n) % 2).astype(np.int32)
    predictions = labels.copy()
    predictions[-3:] = 1 - predictions[-3:]
    task = np.where(predictions[:, None] == [0, 1], 1.5, -0.25).astype(np.float32)
    return ConceptTable(
        arrays={
            "logits": logits,
            "concepts": truth,
            "labels": labels,
            "predictions": predictions,
            "task_logits": task,
            "groups": (np.arange(n) % 3 - 1).astype(np.int32),
        },
        title="small",
        concept_names=NAMES,
        class_names=CLASSES,
        group_names=("land", "water"),
        references=tuple(f"{i}.png" for i in range(n)),
    )


def columns(table: ConceptTable) -> dict[str, list]:
    """The table as named columns, as a person would write them."""
    a = table.arrays
    named = {
        "image": list(table.references),
        "label": [table.class_names[i] for i in a["labels"]],
        "prediction": [table.class_names[i] for i in a["predictions"]],
        "group": ["" if g < 0 else table.group_names[g] for g in a["groups"]],
    }
    for j, name in enumerate(table.concept_names):
        named[f"logit_{name}"] = a["logits"][:, j].tolist()
        named[f"true_{name}"] = a["concepts"][:, j].tolist()
    for c, name in enumerate(table.class_names):
        named[f"logit_class_{name}"] = a["task_logits"][:, c].tolist()
    return named


def csv(named: dict[str, list], delimiter: str = ",", end: str = "\n", comma: bool = False) -> str:
    def cell(value) -> str:
        text = repr(value) if isinstance(value, float) else str(value)
        text = text.replace(".", ",") if comma and isinstance(value, float) else text
        return f'"{text}"' if delimiter in text else text

    rows = [list(named), *zip(*named.values(), strict=True)]
    return end.join(delimiter.join(map(cell, row)) for row in rows) + end


def parquet(named: dict[str, list]) -> bytes:
    import pyarrow
    import pyarrow.parquet

    out = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table({k: pyarrow.array(v) for k, v in named.items()}), out)
    return out.getvalue()


def npz(table: ConceptTable, **changes) -> bytes:
    out = io.BytesIO()
    names = {
        "concept_names": np.array(table.concept_names),
        "class_names": np.array(table.class_names),
        "group_names": np.array(table.group_names),
        "references": np.array(table.references),
    }
    given = {**table.arrays, **names, **changes}
    np.savez_compressed(out, **{name: a for name, a in given.items() if a is not None})
    return out.getvalue()
