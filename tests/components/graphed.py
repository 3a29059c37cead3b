"""Explanations of edges made by hand, with what their drawings need."""

from __future__ import annotations

import numpy as np

from backend.graphs.explanation import GraphExplanation


def explained(edges, scores, *, nodes=None, **values) -> GraphExplanation:
    """An explanation of kind "edges": nodes on a circle, two classes."""
    edges = np.array(edges, dtype=np.int32).reshape(-1, 2)
    n = nodes or int(edges.max(initial=-1)) + 1
    turn = 2 * np.pi * np.arange(n) / max(n, 1)
    scores = np.array(scores, dtype=np.float32)
    return GraphExplanation(
        arrays={
            "scores": scores,
            "node_scores": np.zeros(n, dtype=np.float32),
            "edges": edges,
            "node_ids": np.arange(n, dtype=np.int32),
            "edge_ids": np.arange(len(edges), dtype=np.int32),
            "positions": np.stack([np.cos(turn), np.sin(turn)], axis=1).astype(np.float32),
        },
        values={
            "kind": "edges", "title": "made", "task": "graph", "graph": 0, "graph_name": "",
            "node": None, "target": None, "label": 1, "predicted": 1, "true": None,
            "probability": 0.75, "class_names": ["no", "yes"], "node_names": [],
            "directed": False, "molecule": False, "signed": False, "unit": "mask",
            "nodes": n, "edges": len(edges), **values,
        },
    )  # fmt: skip


def scaled(edges, scores, budgets=(0.25, 0.5)) -> GraphExplanation:
    """The same with scales: the highest scores are the key parts."""
    found = explained(edges, scores)
    order = np.argsort(-np.asarray(scores), kind="stable")
    key = np.zeros((len(budgets), len(order)), dtype=np.uint8)
    rows, joins, before = [], [], 0
    for row, budget in zip(key, budgets, strict=True):
        size = round(budget * len(order))
        row[order[:size]] = 1
        rows.append({
            "budget": budget, "edges": size, "joined": size - before, "kept": budget,
            "lost": 1 - budget, "share_kept": budget, "share_lost": budget,
        })  # fmt: skip
        joins.append({"joins": order[before:size].tolist()})
        before = size
    joins.append({"joins": order[before:].tolist()})
    found.arrays["key"] = key
    found.values.update(scales=rows, hierarchy=joins)
    return found
