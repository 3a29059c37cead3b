"""The Policies page and its states, on small experience."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from backend.explanation import Comparison
from backend.policies import files
from backend.policies.explanation import PolicyTarget
from components.session import engine
from tests.app.conftest import settle
from tests.app.test_pages import press, words
from tests.backend.policies.worlds import world

pytestmark = pytest.mark.slow

Open = Callable[[str], AppTest]
TABS = (
    "In words", "Causal graph", "What if", "Other states", "What it pursues", "Faithfulness",
    "Agreement", "Other agents", "Export",
)  # fmt: skip


def plots(app: AppTest) -> int:
    return len(app.get("plotly_chart"))


def chosen(page: Open, explainers: Sequence[str], preset: str = "cartpole") -> AppTest:
    """The page with little experience and these explainers."""
    app = page("policies")
    app.selectbox(key="p.model").select(preset).run()
    if preset != "own":
        app.number_input(key="p.collecting.transitions").set_value(1500).run()
    app.multiselect(key="p.explainers").set_value(list(explainers)).run()
    if "causal_xrl" in explainers:
        app.number_input(key="p.causal_xrl.bootstraps").set_value(2).run()
        app.number_input(key="p.causal_xrl.models").set_value(3).run()
    return app


def explained(page: Open, explainers: Sequence[str], preset: str = "cartpole") -> AppTest:
    """Beside a panel a method there are the actions of the shown step."""
    app = press(chosen(page, explainers, preset), "Explain$")
    return settle(app, lambda a: plots(a) >= 1 + len(explainers))


def tab(app: AppTest, name: str) -> AppTest:
    app.session_state["p.tabs"] = name
    return app.run()


def opened(app: AppTest) -> Comparison:
    """What the page's address names."""
    key = re.search("[0-9a-f]{64}", str(app.query_params["c"])).group()
    return engine().get_comparison(key)


def target(app: AppTest) -> PolicyTarget:
    return PolicyTarget.model_validate(opened(app).target)


def test_a_fresh_page_says_what_to_do(page: Open) -> None:
    app = page("policies")
    assert not app.exception
    assert app.title[0].value == "Policies"
    assert "Press **Explain**" in words(app)
    assert "2 actions: push left, push right" in words(app)


def test_a_choice_is_explained_and_every_tab_answers(page: Open) -> None:
    app = explained(page, ["causal_xrl", "random_variables"])
    assert target(app).episode == 0
    assert "1,500" in str([metric.value for metric in app.metric])
    for name in TABS:
        tab(app, name)
        assert not app.exception, name
    tab(app, "In words")
    for title in ("Why", "Why not the other", "What if", "What it pursues"):
        assert f"**{title}**" in words(app)
    tab(app, "Causal graph")
    assert "Against the environment's equations: F1" in words(app)
    edges = app.selectbox(key="p.graph.edge")
    assert "pole velocity → next pole angle" in edges.options
    edges.select("action → next cart velocity").run()
    assert "bootstraps" in words(app)
    settle(tab(app, "Faithfulness"), lambda a: "from the causes alone" in words(a))
    assert not app.exception


def test_another_moment_actions_and_a_state_set_by_hand(page: Open) -> None:
    app = explained(page, ["policy_saliency"])
    first = target(app)
    app.slider[0].set_value(first.step + 3).run()
    press(app, "Explain this moment")
    settle(app, lambda a: plots(a) >= 2)
    assert (target(app).step, target(app).state) == (first.step + 3, None)
    other = app.selectbox(key="p.player.instead.None")
    other.select(0).run()
    assert target(app).instead == 0
    boxes = [box for box in app.number_input if box.label.startswith("pole angle")]
    boxes[0].set_value(0.15)
    press(app, "Explain this state")
    settle(app, lambda a: plots(a) >= 2)
    assert target(app).state[2] == pytest.approx(0.15)
    assert "A state set by hand is explained" in words(app)
    press(app, "Explain this moment")
    assert target(app).state is None


def test_terms_of_the_reward_stand_beside_and_are_not_scored(page: Open) -> None:
    app = chosen(page, ["reward_decomposition"], "lunarlander")
    app.number_input(key="p.reward_decomposition.draws").set_value(2).run()
    app = settle(press(app, "Explain$"), lambda a: plots(a) >= 2)
    assert "Until the episode ends" in words(app)
    for name in ("Faithfulness", "Stability"):
        assert "None of these methods scores state variables" in words(tab(app, name))
    assert "Add CausalXRL" in words(tab(app, "In words"))
    assert not tab(app, "Export").exception
    single = explained_refusal(page)
    assert "known of LunarLander and Taxi" in single


def explained_refusal(page: Open) -> str:
    app = press(chosen(page, ["reward_decomposition"]), "Explain$")
    return words(settle(app, lambda a: "one number" in words(a)))


def test_stability_over_seeds_and_bootstraps(page: Open) -> None:
    app = explained(page, ["policy_saliency", "correlation_causes"])
    app = tab(app, "Stability")
    app.number_input(key="p.stable.most").set_value(2).run()
    press(app, "Measure")
    frames = settle(app, lambda a: done(a, 2)).dataframe
    table = frames[0].value
    assert list(table["method"]) == ["Saliency", "Correlation"]
    assert table["bootstrap: runs"].tolist() == ["2", "2"]


def done(app: AppTest, runs: int) -> bool:
    for frame in app.dataframe:
        if "bootstrap: runs" in frame.value:
            return set(frame.value["bootstrap: runs"]) == {str(runs)}
    return False


def test_another_agent_is_trained_and_set_beside(page: Open) -> None:
    app = tab(explained(page, ["policy_saliency"]), "Other agents")
    app.number_input(key="p.agents.training.share").set_value(0.02).run()
    press(app, "Train and add")
    settle(app, lambda a: plots(a) >= 4)
    said = words(app)
    assert "the agent above" in said
    assert "seed 0, length 0\\.02" in said
    assert said.count("Its own actions:") == 2
    press(app, "Remove all")
    assert "Its own actions:" not in words(app)


def test_a_table_is_read_and_a_bad_one_is_told_what_to_do(page: Open) -> None:
    app = chosen(page, ["correlation_causes", "random_variables"], "own")
    assert "Bring a table" in words(app)
    bad = b"episode,step,x\n0,0,1\n0,1,2\n"
    app.file_uploader(key="p.table").upload("bad.csv", bad, "text/csv").run()
    assert "No column is the action" in words(app)
    data = files.experience_npz(world(known=False))
    app.file_uploader(key="p.table").upload("mine.npz", data, "application/octet-stream").run()
    assert "2,000 transitions, 5 state variables, 2 actions" in words(app)
    app = settle(press(app, "Explain$"), lambda a: plots(a) >= 3)
    assert "A table of trajectories has no pictures" in words(app)
    assert "no environment for other agents" in words(tab(app, "Other agents"))
    stored = engine().get_input("policies", opened(app).input)
    np.testing.assert_array_equal(stored.arrays["states"], world().arrays["states"])


def test_a_file_that_is_no_agent_is_refused(page: Open) -> None:
    app = chosen(page, ["policy_saliency"])
    app.file_uploader(key="p.agent").upload("agent.zip", b"PK nothing", "application/zip").run()
    app = press(app, "Explain$")
    settle(app, lambda a: "no weights that can be read" in words(a))
    assert "nothing in it was run" in words(app)
