"""One prompt through a tiny model, its captured parts, and the written vectors by plain loops."""

from __future__ import annotations

import dataclasses

import numpy as np

from backend.tokens.capture import LayerParts, capture
from backend.tokens.explanation import Prompt, Target
from tests.fake import FakeRun

PROMPT = Prompt.of("The capital of France is")
TARGET = Target(ids=(70, 80, 90))
REFERENCES = ("layer_output", "head_output", "residual", "block_output")


def explain(model, explainer, *, prompt=PROMPT, target=TARGET, run=None, **parameters):
    """Explain with an explainer class and these parameters."""
    chosen = explainer.Parameters(**parameters)
    return explainer().explain(model, prompt, target, chosen, run or FakeRun())


def sequence_of(model, prompt=PROMPT, target=TARGET):
    """The tokens as the model reads them."""
    return model.encode(prompt, target.ids)


def parts_of(model, ids, queries=None) -> list[LayerParts]:
    """Every layer's parts, kept."""
    kept = []

    def keep(parts):
        changes = {
            field.name: value.clone()
            for field in dataclasses.fields(parts)
            if hasattr(value := getattr(parts, field.name), "clone")
        }
        kept.append(dataclasses.replace(parts, **changes))

    capture(model, ids, keep, queries)
    return kept


def vectors(parts) -> np.ndarray:
    """What key j writes to query i through head h, [H, Q, N, d] float64, by a triple loop."""
    A, V = parts.attention.double().numpy(), parts.values.double().numpy()
    W = parts.weight.double().numpy()
    heads, count, length = A.shape
    result = np.zeros((heads, count, length, W.shape[2]))
    for h in range(heads):
        for i in range(count):
            for j in range(length):
                result[h, i, j] = A[h, i, j] * (V[h, j] @ W[h])
    if parts.gain is not None:
        result *= parts.gain[parts.queries].double().numpy()[None, :, None, :]
    return result


def bias(parts) -> np.ndarray:
    """What the output projection's bias writes to each query, [Q, d]."""
    rows = parts.queries
    if parts.bias is None:
        return np.zeros(parts.before[rows].shape)
    gain = 1.0 if parts.gain is None else parts.gain[rows].double().numpy()
    return np.broadcast_to(parts.bias.double().numpy() * gain, parts.before[rows].shape)


def contributions(parts, reference, normalisation):
    """Contributions [H, Q, N] and other sources {name: [Q]} by loops over heads, queries, keys."""
    T, b = vectors(parts), bias(parts)
    heads, count, length, _ = T.shape
    x = parts.before.double().numpy()
    m, after = parts.middle.double().numpy(), parts.after.double().numpy()
    whole = {"layer_output": T.sum(axis=(0, 2)) + b, "residual": m, "block_output": after}
    c = np.zeros((heads, count, length))
    others = {name: np.zeros(count) for name in ("bias", "residual", "feed_forward")}
    for i in range(count):
        for h in range(heads):
            r = T[h, i].sum(axis=0) if reference == "head_output" else whole[reference][i]
            unit = r / np.linalg.norm(r)
            for j in range(length):
                c[h, i, j] = T[h, i, j] @ unit
            if normalisation == "output_norm":
                c[h, i] /= np.linalg.norm(r)
            elif normalisation == "absolute" and reference == "head_output":
                c[h, i] /= np.abs(c[h, i]).sum()
        if reference == "head_output":
            continue
        others["bias"][i] = b[i] @ unit
        if reference != "layer_output":
            others["residual"][i] = x[i] @ unit
        if reference == "block_output":
            others["feed_forward"][i] = (after[i] - m[i]) @ unit
        divisor = {"output_norm": np.linalg.norm(r), "none": 1.0}.get(normalisation)
        if divisor is None:
            divisor = np.abs(c[:, i]).sum() + sum(abs(v[i]) for v in others.values())
            c[:, i] /= divisor
        for value in others.values():
            value[i] /= divisor
    return c, others
