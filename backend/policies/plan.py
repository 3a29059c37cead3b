"""From what a page shows to the requests behind it: experience, graph, explainers, scores."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import JsonValue

from backend import consensus
from backend.explanation import Comparison, Request
from backend.policies.causal_xrl import CausalXRL
from backend.policies.causes_fidelity import CausesFidelity
from backend.policies.collect import Collect
from backend.policies.environment import OWN, find
from backend.policies.explanation import (
    Collecting,
    Experience,
    PolicyExplanation,
    PolicyTarget,
    Training,
)
from backend.policies.learn_graph import LearnGraph
from backend.policies.play_episode import PlayEpisode
from backend.policies.read_agent import UPLOAD, ReadAgent
from backend.policies.train_agent import TrainAgent
from backend.policies.variable_faithfulness import VariableFaithfulness


def needs_training(comparison: Comparison, given: Experience) -> bool:
    """Whether an agent must be trained first: one is asked for, or there is none otherwise."""
    name = comparison.model.name
    if name == OWN or given.network is not None:
        return False
    asked = PolicyTarget.model_validate(comparison.target)
    return asked.training is not None or not find(name).agent


def train_request(comparison: Comparison) -> Request:
    """The request for an agent, by the comparison's recipe."""
    asked = PolicyTarget.model_validate(comparison.target)
    target = PolicyTarget(training=asked.training or Training())
    return _step(comparison, TrainAgent.id, comparison.input, target)


def read_request(comparison: Comparison) -> Request:
    """The request for the agent of a file that was brought."""
    return _step(comparison, ReadAgent.id, comparison.input, PolicyTarget())


def brings_agent(given: Experience) -> bool:
    """Whether an input is the file of an agent."""
    return UPLOAD in given.arrays


def collect_request(comparison: Comparison, agent: str) -> Request:
    """The request for the experience of an agent.

    Args:
        agent: digest of the experience that holds it; of none where it comes with the environment.
    """
    asked = PolicyTarget.model_validate(comparison.target)
    target = PolicyTarget(collecting=asked.collecting or Collecting())
    return _step(comparison, Collect.id, agent, target)


def collects(comparison: Comparison) -> bool:
    """Whether the experience must be collected: else the input is one already."""
    return PolicyTarget.model_validate(comparison.target).collecting is not None


def graph_request(comparison: Comparison, experience: str) -> Request:
    """The request for the causal graph of an experience, learned as CausalXRL's parameters say."""
    chosen = [c.parameters for c in comparison.choices if c.explainer == CausalXRL.id]
    known = chosen[0] if chosen else {}
    return Request(
        family=comparison.family,
        explainer=LearnGraph.id,
        model=comparison.model,
        input=experience,
        target={},
        parameters={k: v for k, v in known.items() if k in LearnGraph.Parameters.model_fields},
        seed=comparison.seed,
    )


def fidelity_request(comparison: Comparison, experience: str) -> Request:
    """The request for how well the causes of choices tell the next action."""
    return Request(
        family=comparison.family,
        explainer=CausesFidelity.id,
        model=comparison.model,
        input=experience,
        target={},
        seed=comparison.seed,
    )


def moved(request: Request, experience: str, target: dict[str, JsonValue]) -> Request:
    """The same explanation of another experience, on the graph that is learned from that one."""
    found = request.moved(experience, target)
    subject = found.subject
    if subject is not None:
        subject = subject.model_copy(update={"input": experience})
    members = tuple(moved(member, experience, target) for member in found.members)
    return found.model_copy(update={"subject": subject, "members": members})


def at_state(explained: PolicyExplanation, choice: bool = True) -> dict[str, JsonValue]:
    """The target of the same state in another experience; of the same two actions if `choice`."""
    told = explained.values
    actions = {"action": told["action"], "instead": told["instead"]} if choice else {}
    found: dict[str, JsonValue] = PolicyTarget.model_validate(
        {"state": told["state"], **actions}
    ).model_dump(mode="json")
    return found


def play_request(comparison: Comparison, experience: str, episode: int | None) -> Request:
    """The request for the pictures of an episode."""
    return _step(comparison, PlayEpisode.id, experience, PolicyTarget(episode=episode))


def requests(comparison: Comparison, experience: str) -> tuple[Request, ...]:
    """One request a chosen explainer, all about the same moment of the same experience.

    Args:
        experience: its digest, which takes the place of the comparison's input.
    """
    target = moment_of(comparison)
    subject = graph_request(comparison, experience)
    return consensus.joined(
        [
            Request(
                family=comparison.family,
                explainer=choice.explainer,
                model=comparison.model,
                input=experience,
                target=target,
                parameters=choice.parameters,
                seed=comparison.seed,
                subject=subject if choice.explainer == CausalXRL.id else None,
            )
            for choice in comparison.choices
        ]
    )


def moment_of(comparison: Comparison) -> dict[str, JsonValue]:
    """The target without how its experience came to be."""
    asked = PolicyTarget.model_validate(comparison.target)
    update = {"training": None, "collecting": None}
    found: dict[str, JsonValue] = asked.model_copy(update=update).model_dump(mode="json")
    return found


def score_requests(subjects: Sequence[Request]) -> tuple[Request, ...]:
    """One request a subject, then one without: random rankings of the variables."""
    found = [
        Request(
            family=one.family,
            explainer=VariableFaithfulness.id,
            model=one.model,
            input=one.input,
            target=one.target,
            seed=one.seed,
            subject=one,
        )
        for one in subjects
    ]
    return (*found, found[0].model_copy(update={"subject": None})) if found else ()


def _step(comparison: Comparison, step: str, input: str, target: PolicyTarget) -> Request:
    return Request(
        family=comparison.family,
        explainer=step,
        model=comparison.model,
        input=input,
        target=target.model_dump(mode="json"),
    )
