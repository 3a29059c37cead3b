"""A consensus on the screen: it is opened with its members, and costs what they cost."""

from __future__ import annotations

import pytest

from backend.catalogue import find
from backend.explanation import ModelRef, Request
from backend.tokens import plan
from backend.tokens.explanation import Target, TokenExplanation
from backend.tokens.sequence import Sequence
from components.compare import Item
from components.graph_sanity import Forgetting as ForgettingGraphs
from components.library import comparison_of
from components.token_sanity import Forgetting as ForgettingTokens

TOKENS = Sequence(
    ids=(1, 2), text="ab", offsets=((0, 1), (1, 2)), roles=("prompt", "answer"),
    special=(False, False), prompt_length=1,
)  # fmt: skip


def asked(family: str, *names: str, **more) -> Request:
    """A consensus of these explainers, or the only one."""
    found = [
        Request(family=family, explainer=name, model=ModelRef(name="m"), input="0" * 64, **more)
        for name in names
    ]
    if len(found) == 1:
        return found[0]
    joint = found[0].model_copy(update={"explainer": "consensus", "members": tuple(found)})
    return joint


def item(request: Request) -> Item:
    return Item(request=request, explainer=find(request), job="", explanation=None)


def test_a_stored_consensus_is_opened_with_its_members():
    target = Target(ids=(2,)).model_dump(mode="json")
    request = asked("tokens", "attention_mean", "leave_one_out", target=target, seed=3)
    opened = comparison_of(request)
    assert [choice.explainer for choice in opened.choices] == [
        "attention_mean", "leave_one_out", "consensus",
    ]  # fmt: skip
    answer = TokenExplanation(arrays={}, values={"ids": [2]}, sequence=TOKENS, explained=(1,))
    again = plan.requests(opened, answer)[-1]
    assert again.members == request.members
    assert (again.target, again.seed) == (request.target, 3)


@pytest.mark.parametrize(
    ("names", "costly"),
    [
        (("saliency",), False),
        (("ms_explainer",), True),
        (("saliency", "edge_occlusion"), False),
        (("saliency", "ms_explainer"), True),
    ],
)
def test_a_consensus_of_graphs_is_as_costly_as_its_members(names, costly):
    graphs = ForgettingGraphs.__new__(ForgettingGraphs)
    assert graphs.costly(item(asked("graphs", *names))) is costly


@pytest.mark.parametrize(
    ("names", "costly"),
    [
        (("flashtrace",), False),
        (("flashtrace", "attention_mean"), False),
        (("flashtrace", "leave_one_out"), True),
    ],
)
def test_a_consensus_of_tokens_is_as_costly_as_its_members(names, costly):
    values = {"facts": {"layers": 3}}
    continuation = TokenExplanation(arrays={}, values=values, sequence=TOKENS, explained=(1,))
    assert ForgettingTokens(continuation).costly(item(asked("tokens", *names))) is costly
