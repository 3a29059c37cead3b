"""From flags and pages to requests: which steps come first, and what moves with an input."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pytest

from backend.consensus import ID as CONSENSUS
from backend.errors import InputError
from backend.explanation import Choice, Comparison, ModelRef
from backend.policies import arguments, files, plan, prepared
from backend.policies.collected import explanation
from backend.policies.explanation import (
    Collecting,
    Experience,
    PolicyTarget,
    Training,
)
from backend.policies.read_agent import brought
from backend.policies.structure_metrics import differing
from backend.settings import Settings
from tests.backend.policies.worlds import world
from tests.fake import sourced


def comparison(name="cartpole", training=None, explainers=("causal_xrl", "policy_shap")):
    target = PolicyTarget(training=training, collecting=Collecting(transitions=500), episode=1)
    return Comparison(
        family="policies",
        model=ModelRef(name=name),
        input="0" * 64,
        target=target.model_dump(mode="json"),
        choices=tuple(Choice(explainer=name) for name in explainers),
        seed=4,
    )


def steps(asked, given):
    """The ids of the steps that are asked for, each answered by the same experience."""
    seen = []

    def finish(request):
        seen.append((request.explainer, request.input))
        return explanation(world())

    found = prepared.experience(asked, given, finish, lambda made: f"{len(made):064d}")
    return seen, found


def test_a_shipped_agent_collects_at_once():
    seen, (digest, made) = steps(comparison(), Experience.none())
    assert seen == [("collect", "0" * 64)]
    assert digest == f"{2000:064d}"
    assert len(made) == 2000


@pytest.mark.parametrize(
    ("name", "training"), [("taxi", None), ("taxi", Training()), ("cartpole", Training(seed=3))]
)
def test_where_none_ships_or_another_is_asked_for_one_is_trained_first(name, training):
    seen, _ = steps(comparison(name, training), Experience.none())
    assert [step for step, _ in seen] == ["train_agent", "collect"]
    assert seen[1][1] == f"{2000:064d}"
    request = plan.train_request(comparison(name, training))
    assert request.target["training"] == (training or Training()).model_dump(mode="json")
    assert request.target["collecting"] is None


def test_a_brought_agent_is_read_first_and_a_table_needs_no_step():
    seen, _ = steps(comparison("taxi"), brought("a.zip", b"PK", 1))
    assert [step for step, _ in seen] == ["read_agent", "collect"]
    table = Comparison.model_validate(
        comparison("own").model_dump() | {"target": PolicyTarget().model_dump(mode="json")}
    )
    seen, found = steps(table, world())
    assert seen == []
    assert found[0] == "0" * 64


def test_nothing_goes_on_until_a_step_is_done():
    found = prepared.experience(
        comparison("taxi"), Experience.none(), lambda _: None, lambda _: "1" * 64
    )
    assert found is None


def test_explainers_ask_about_the_moment_and_only_one_for_the_graph():
    asked = comparison(explainers=("causal_xrl", "policy_shap", "policy_saliency", CONSENSUS))
    causal, shap, _, joint = plan.requests(asked, "1" * 64)
    assert causal.subject.explainer == "learn_graph"
    assert (causal.subject.input, causal.subject.seed) == ("1" * 64, 4)
    assert shap.subject is None
    assert shap.target["collecting"] is None
    assert shap.target["episode"] == 1
    assert len(joint.members) == 3
    assert joint.members[0].subject == causal.subject


def test_a_moved_request_learns_its_graph_from_the_other_experience():
    asked = comparison(explainers=("causal_xrl", "policy_shap", CONSENSUS))
    target = {"state": [1.0, 2, 3, 4]}
    causal, shap, joint = (
        plan.moved(request, "2" * 64, target) for request in plan.requests(asked, "1" * 64)
    )
    assert (causal.input, causal.subject.input, causal.target) == ("2" * 64, "2" * 64, target)
    assert causal.subject.target == {}
    assert (shap.input, shap.subject) == ("2" * 64, None)
    assert joint.members[0].subject.input == "2" * 64


def test_a_moment_in_another_experience_is_its_state():
    from backend.policies.policy_saliency import PolicySaliency
    from tests.fake import FakeRun

    found = PolicySaliency().explain(None, world(), PolicyTarget(step=3), None, FakeRun())
    same, own = plan.at_state(found), plan.at_state(found, choice=False)
    np.testing.assert_allclose(same["state"], world().arrays["states"][3])
    assert (same["episode"], same["step"]) == (None, None)
    assert (same["action"], same["instead"]) == (found.values["action"], found.values["instead"])
    assert (own["action"], own["instead"]) == (None, None)


def test_edges_that_only_one_graph_has_for_sure():
    one = np.array([[1, 1], [0, 0]], dtype=bool)
    other = np.array([[1, 0], [1, 1]], dtype=bool)
    sure = np.array([[1, 1], [1, 0]], dtype=bool)
    assert differing(one, other, sure, sure) == ([(0, 1)], [(1, 0)])
    assert differing(one, one, sure, sure) == ([], [])


# The command line's flags


def flags(*words):
    parser = argparse.ArgumentParser()
    arguments.add(parser)
    return parser.parse_args(words)


def test_flags_say_how_experience_comes_to_be():
    found = arguments.target(flags(
        "--example", "taxi", "--actions", "wide", "--transitions", "300", "--collect-seed", "2",
        "--train-share", "0.5", "--episode", "1", "--step", "2", "--action", "3",
    ))  # fmt: skip
    assert found.collecting == Collecting(mode="wide", transitions=300, seed=2)
    assert found.training == Training(share=0.5)
    assert (found.episode, found.step, found.action) == (1, 2, 3)
    assert arguments.target(flags("--example", "cartpole")).training is None
    assert arguments.target(flags("--example", "taxi")).training == Training()
    again = arguments.target(flags("--example", "cartpole", "--train-seed", "1"))
    assert again.training == Training(seed=1)
    state = arguments.target(flags("--example", "cartpole", "--state=-1,0.5,0,0")).state
    assert state == (-1, 0.5, 0, 0)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--example", "pong"), "no environment 'pong'"),
        (("--example", "cartpole", "--transitions", "5"), "transitions"),
        (("--example", "cartpole", "--state", "a,b"), "no state"),
        (("--example", "cartpole", "--columns", "{}"), "about a table"),
        (("--example", "cartpole", "--agent", "a.zip", "--train-seed", "1"), "trained already"),
        (("--input", "t.csv", "--actions", "wide"), "about an environment"),
        (("--input", "t.csv", "--columns", "{"), "no JSON of columns"),
        (("--input", "t.csv", "--columns", '{"states": 3}'), "no JSON of columns"),
    ],
)
def test_flags_that_do_not_go_together_are_refused(words, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("episode,step,x,action\n0,0,1,0\n0,1,2,1\n", encoding="utf-8")
    given = flags(*words)

    def ask():
        arguments.model(given)
        arguments.target(given)
        arguments.experience(given, Settings())

    with pytest.raises(InputError, match=said):
        ask()


def test_the_words_of_a_command_make_the_experience_again():
    made = world()
    assert files.experience_words(made) == ["--input", "trajectories.npz"]
    assert set(files.beside(made)) == {"trajectories.npz"}
    origin = {"collecting": Collecting(mode="wide", transitions=700, seed=3).model_dump()}

    def words(agent):
        from dataclasses import replace

        return files.experience_words(
            replace(made, environment="cartpole", origin={**origin, "agent": agent})
        )

    plain = ["--example", "cartpole", "--actions", "wide", "--transitions", "700",
             "--collect-seed", "3"]  # fmt: skip
    assert words(None) == plain
    trained = words({"training": Training(share=0.2, seed=9).model_dump()})
    assert trained == [*plain, "--train-share", "0.2", "--train-seed", "9"]
    assert words({"file": "a.zip"}) == [*plain, "--agent", "agent.safetensors"]
    assert arguments.target(flags(*trained)).training == Training(share=0.2, seed=9)


def test_a_command_quotes_a_state_set_by_hand():
    from backend.policies.policy_saliency import PolicySaliency
    from tests.fake import FakeRun

    target = PolicyTarget(state=(1.0, -2.5, 0, 0, 2), action=1)
    found = sourced(
        PolicySaliency().explain(None, world(), target, None, FakeRun()), "policy_saliency"
    )
    request = found.source().request.model_copy(
        update={"family": "policies", "target": target.model_dump(mode="json"), "seed": 3}
    )
    line = files.command(request, world())
    assert "--state=1.0,-2.5,0.0,0.0,2.0" in line
    assert "--action 1" in line
    assert line.endswith("--seed 3 --out out")
