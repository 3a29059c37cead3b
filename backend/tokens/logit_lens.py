"""Logit lens: what the model would say if it stopped after each layer.

nostalgebraist, "interpreting GPT: the logit lens", LessWrong 2020: the residual stream x_l read out
with the model's own final norm and unembedding, softmax(W_U norm(x_l)).
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import Field

from backend.bundle import Arrays
from backend.explainer import Explainer, Reference, Run
from backend.explanation import Frozen
from backend.tokens.explanation import TokenExplanation
from backend.tokens.subject import Subject

if TYPE_CHECKING:
    from torch import Tensor

LOGITS_AT_ONCE = 2**24


class LensParameters(Frozen):
    """Which positions are read, and how many candidates are kept."""

    positions: Literal["explained", "all"] = Field(
        "explained",
        title="Positions",
        description="`explained`: the positions that predict the explained tokens; `all`: every "
        "position up to those, the last 64 of them.",
    )
    top: Annotated[int, Field(ge=1, le=50)] = Field(
        5, title="Candidates", description="How many of the most probable tokens are kept."
    )


class LogitLens(Explainer):
    """Readouts of the residual stream at every depth.

    Arrays (L layers, so L + 1 depths: entering the first block, then leaving each; S positions,
    `values["positions"]`; k candidates):
        top_ids: [L+1, S, k] int64, top_probs: [L+1, S, k] float32, most probable first.
        entropy: [L+1, S] float32, in nats.
        rank, probability: [L+1, S] of the token that follows in the text, rank 1 is first.
        rank_final: [L+1, S], rank of the token the last layer finds most probable.
        scores: [N], all NaN: a view gives tokens no scores.

    `values`: positions (S query positions), next_ids and next_text (the tokens that follow),
    final_text (what the last layer says), top_text ([L+1][S][k] strings), depths (L+1 labels).
    """

    id = "logit_lens"
    title = "Logit lens"
    family = "tokens"
    role = "view"
    reference = Reference(
        authors="nostalgebraist",
        title="interpreting GPT: the logit lens",
        year=2020,
        link="https://www.lesswrong.com/posts/AcKRB8wDpdaN6v6ru/interpreting-gpt-the-logit-lens",
    )
    how_to_read = (
        "Each row is a depth: the words the model would put next if it stopped there. Watch where "
        "the answer first comes up. Readouts of early layers are biased: those layers were never "
        "trained to be read this way."
    )
    Parameters = LensParameters

    def explain(
        self, model: Any, input: Any, target: Any, parameters: Any, run: Run
    ) -> TokenExplanation:
        import torch

        subject = Subject.of(model, input, target)
        positions = _positions(subject, parameters)
        ids = subject.sequence.ids
        residuals = model.lens(ids)[:, positions]
        run.count(forward=1)
        following = torch.tensor([ids[p + 1] for p in positions], device=residuals.device)
        with torch.no_grad():
            final = torch.cat(
                [model.readout(x).argmax(-1) for x in torch.split(residuals[-1], _chunk(model))]
            )
            layers = []
            for depth, x in enumerate(residuals):
                layers.append(_read(model, x, following, final, parameters.top))
                run.progress(depth + 1, len(residuals), "reading layers out")
        arrays: Arrays = {
            field.name: np.stack([getattr(layer, field.name) for layer in layers])
            for field in dataclasses.fields(_Depth)
        }
        return TokenExplanation(
            arrays={"scores": np.full(len(ids), np.nan, dtype=np.float32), **arrays},
            values=_texts(model, positions, following.tolist(), final.tolist(), arrays["top_ids"]),
            notes=("A view: it shows layers, it gives tokens no scores.",),
            sequence=subject.sequence,
            explained=subject.explained,
            unit="probability",
            signed=False,
        )


@dataclasses.dataclass(frozen=True, eq=False)
class _Depth:
    """The arrays of one depth, without their first axis."""

    top_ids: np.ndarray
    top_probs: np.ndarray
    entropy: np.ndarray
    rank: np.ndarray
    rank_final: np.ndarray
    probability: np.ndarray


def _positions(subject: Subject, parameters: LensParameters) -> list[int]:
    if parameters.positions == "explained":
        return list(subject.queries)
    stop = subject.queries[-1] + 1
    return list(range(max(0, stop - 64), stop))


def _chunk(model: Any) -> int:
    return max(1, int(LOGITS_AT_ONCE // model.vocabulary))


def _read(model: Any, x: Tensor, following: Tensor, final: Tensor, top: int) -> _Depth:
    """Read one depth [S, d] out, a few positions at a time: a row of logits is long."""
    import torch

    size = _chunk(model)
    parts: list[list[Tensor]] = []
    pieces = [torch.split(of, size) for of in (x, following, final)]
    for some, after, last in zip(*pieces, strict=True):
        logprobs = model.readout(some).log_softmax(dim=-1)
        best = logprobs.topk(min(top, logprobs.shape[-1]), dim=-1)
        parts.append(
            [
                best.indices,
                best.values.exp(),
                -(logprobs.exp() * logprobs).nan_to_num().sum(dim=-1),
                _rank(logprobs, after),
                _rank(logprobs, last),
                logprobs.gather(1, after[:, None])[:, 0].exp(),
            ]
        )
    columns = (
        np.concatenate([c.cpu().numpy() for c in column]) for column in zip(*parts, strict=True)
    )
    return _Depth(*columns)


def _rank(logprobs: Tensor, ids: Tensor) -> Tensor:
    """1 + how many tokens are more probable, [S]."""
    return (logprobs > logprobs.gather(1, ids[:, None])).sum(dim=-1) + 1


def _texts(
    model: Any, positions: list[int], following: list[int], final: list[int], top_ids: np.ndarray
) -> dict[str, Any]:
    known: dict[int, str] = {}

    def text(token: int) -> str:
        if token not in known:
            known[token] = model.tokenizer.decode([token])
        return known[token]

    return {
        "view": "logit_lens",
        "positions": positions,
        "next_ids": following,
        "next_text": [text(token) for token in following],
        "final_text": [text(token) for token in final],
        "top_text": [[[text(t) for t in row] for row in depth] for depth in top_ids.tolist()],
        "depths": ["input", *(str(layer + 1) for layer in range(len(top_ids) - 1))],
    }
