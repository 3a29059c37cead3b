"""Figures of a choice: bars on one scale, the causal graph, paths with bands, actions, terms."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from backend.policies.causal_xrl import CausalXRL
from backend.policies.explanation import PolicyExplanation, PolicyTarget
from backend.policies.learn_graph import LearnGraph
from backend.policies.policy_saliency import PolicySaliency
from backend.policies.structure import SURE
from components.figures import figure, policy_actions, policy_bars, policy_graph, policy_paths
from components.figures.palette import theme
from components.figures.policy_terms import terms
from tests.backend.policies.worlds import ACTED, DRIVE, LEVEL, PAID, world
from tests.fake import FakeRun


@pytest.fixture(scope="module")
def made():
    return world()


@pytest.fixture(scope="module")
def found(made):
    given = LearnGraph.Parameters(learner="loco", bootstraps=2)
    graph = LearnGraph().explain(None, made, PolicyTarget(), given, FakeRun())
    parameters = CausalXRL.Parameters(horizon=4, models=3, draws=60)
    return CausalXRL().explain(
        None, made, PolicyTarget(episode=1, step=9), parameters, FakeRun(subject=graph)
    )


@pytest.fixture(scope="module")
def saliency(made):
    return PolicySaliency().explain(None, made, PolicyTarget(), None, FakeRun())


def bar(drawn):
    return next(trace for trace in drawn.data if trace.type == "bar")


def changed(found, **arrays):
    given = {name.replace("__", "/"): array for name, array in arrays.items()}
    return dataclasses.replace(found, arrays={**found.arrays, **given})


# Bars


@pytest.mark.parametrize("look", ["light", "dark"])
def test_a_bar_a_variable_with_its_value_sign_and_interval(found, look):
    scores = np.array([0.5, -0.25, 0.1, 0, 0], dtype=np.float32)
    drawn = policy_bars.bars(changed(found, scores=scores), look)
    assert bar(drawn).x == pytest.approx(scores)
    colours = bar(drawn).marker.color
    assert colours[0] == theme(look).positive[-2]
    assert colours[1] == theme(look).negative[-2]
    labels = drawn.layout.yaxis.ticktext
    assert labels[0].startswith("drive")
    assert f"{found.values['state'][DRIVE]:.3g}" in labels[0]
    assert drawn.layout.yaxis.range[0] > drawn.layout.yaxis.range[1]
    arrays = found.arrays
    high = bar(policy_bars.bars(found, look)).error_x.array
    assert high == pytest.approx(arrays["policy/high"] - arrays["scores"])


def test_equal_limits_make_equal_scores_equally_long(found, saliency):
    ends = [policy_bars.bars(one, limit=4.0).layout.xaxis.range[1] for one in (found, saliency)]
    assert ends[0] == ends[1] == pytest.approx(5.4)
    both = policy_bars.largest([found, saliency])
    assert both == pytest.approx(
        max(np.abs(saliency.arrays["scores"]).max(), found.arrays["policy/high"].max())
    )
    nothing = changed(saliency, scores=np.zeros(5, dtype=np.float32))
    assert policy_bars.largest([nothing]) == 1


def test_the_moment_is_told(found):
    told = found.values
    where, why = policy_bars.moment_words(told)
    action, instead = (told["action_names"][told[k]] for k in ("action", "instead"))
    assert where == "Episode 1, step 9"
    assert why.startswith(f"Why “{action}” and not “{instead}”? p = ")
    by_hand = told | {"episode": None, "step": None, "probabilities": None}
    words = policy_bars.moment_words(by_hand)
    assert words == ["A state set by hand", f"Why “{action}” and not “{instead}”?"]


def test_names_from_a_table_are_no_markup(found):
    told = found.values | {"variable_names": ["<b>x</b>", "shadow", "level", "gauge", "fixed"]}
    drawn = policy_bars.bars(dataclasses.replace(found, values=told))
    assert "<b>x" not in drawn.layout.yaxis.ticktext[0]


# The causal graph


def test_a_line_an_edge_as_wide_as_it_is_strong_and_dashed_where_unsure(found):
    edges = policy_graph.edges(found)
    assert len(edges) == int(found.arrays["graph/present"].sum())
    assert [e.strength for e in edges] == sorted((e.strength for e in edges), reverse=True)
    drawn = policy_graph.graph(found)
    lines = [trace for trace in drawn.data if trace.mode == "lines"]
    assert len(lines) == len(edges)
    widths = [line.line.width for line in lines]
    assert widths[0] == policy_graph.WIDEST
    assert widths == sorted(widths, reverse=True)
    assert {line.line.dash for line in lines} == {
        "solid" if edge.support >= SURE else "dash" for edge in edges
    }
    unsure = changed(found, graph__support=np.full_like(found.arrays["graph/support"], 0.5))
    dashes = {t.line.dash for t in policy_graph.graph(unsure).data if t.mode == "lines"}
    assert dashes == {"dash"}
    assert "dashed" in str(policy_graph.graph(unsure).layout.title.text)


def test_colours_tell_what_an_edge_does(found):
    by_ends = {(edge.source, edge.target): edge for edge in policy_graph.edges(found)}
    assert by_ends[ACTED, LEVEL].effect > 0 > by_ends[LEVEL, PAID].effect
    drawn, edges = policy_graph.graph(found), policy_graph.edges(found)
    lines = [trace.line.color for trace in drawn.data if trace.mode == "lines"]
    look = theme("light")
    for edge, colour in zip(edges, lines, strict=True):
        assert colour == (look.positive[-2] if edge.effect > 0 else look.negative[-2])


def test_states_stand_left_with_the_action_below_and_what_follows_right(found):
    drawn = policy_graph.graph(found)
    left, right = [trace for trace in drawn.data if trace.mode == "markers+text"]
    assert list(left.text) == ["drive", "shadow", "level", "gauge", "fixed", "action"]
    assert list(right.text) == ["drive", "shadow", "level", "gauge", "fixed", "reward"]
    assert set(left.x) == {0.0}
    assert set(right.x) == {1.0}
    assert list(left.y) == [0, -1, -2, -3, -4, -5]


def test_the_middle_of_an_edge_says_which_it_is(found):
    drawn = policy_graph.graph(found)
    middles = next(trace for trace in drawn.data if trace.mode == "markers")
    edges = policy_graph.edges(found)
    assert [list(pair) for pair in middles.customdata] == [[e.source, e.target] for e in edges]
    assert "→ next" in middles.hovertext[0]
    assert "log error ratio" in middles.hovertext[0]
    faint = policy_graph.graph(found, chosen=(edges[1].source, edges[1].target))
    opacities = [trace.opacity for trace in faint.data if trace.mode == "lines"]
    assert [o > 0.5 for o in opacities] == [i == 1 for i in range(len(edges))]


def test_the_graph_at_a_moment_has_its_own_edges_and_effects(found):
    local = policy_graph.edges(found, local=True)
    assert {(e.source, e.target) for e in local} == {
        (int(i), int(j)) for i, j in np.argwhere(found.arrays["local/present"])
    }
    acted = next(edge for edge in local if (edge.source, edge.target) == (ACTED, LEVEL))
    assert acted.effect == pytest.approx(found.arrays["local/effect"][ACTED, LEVEL])


# Paths


def test_both_paths_have_a_panel_a_variable_and_a_band(found):
    drawn = policy_paths.paths(found)
    lines = [trace for trace in drawn.data if trace.mode == "lines" and trace.fill is None]
    assert len(lines) == 2 * 6
    assert lines[LEVEL].y == pytest.approx(found.arrays["rollout/action"][:, LEVEL])
    bands = [trace for trace in drawn.data if trace.fill == "toself"]
    assert len(bands) == 12
    expected = np.concatenate([found.arrays["rollout/action/high"][:, 0],
                               found.arrays["rollout/action/low"][::-1, 0]])  # fmt: skip
    assert bands[0].y == pytest.approx(expected)
    assert "cannot be put into a state" in str(drawn.layout.title.text)
    true = changed(found, true__action=found.arrays["rollout/action"][:3],
                   true__instead=found.arrays["rollout/instead"])  # fmt: skip
    dotted = [t for t in policy_paths.paths(true).data if t.line.dash == "dot"]
    assert {len(trace.y) for trace in dotted} == {3, 5}


def test_a_band_that_nobody_knows_is_not_drawn(found):
    wide = np.full_like(found.arrays["contrast/high"], np.inf)
    drawn = policy_paths.contrast(changed(found, contrast__high=wide))
    assert not [trace for trace in drawn.data if trace.fill == "toself"]
    difference = [trace for trace in drawn.data if trace.mode == "lines"]
    assert difference[0].y == pytest.approx(found.arrays["contrast/difference"][:, 0])


# Actions and terms


def test_actions_by_probability_by_value_and_as_taken(made):
    drawn = policy_actions.actions(made, 3)
    assert sum(bar(drawn).x) == pytest.approx(1)
    assert drawn.layout.xaxis.range == (0, 1)
    values = dataclasses.replace(made, network=made.network.model_copy(update={"head": "values"}))
    shown = bar(policy_actions.actions(values, 3))
    outputs = made.arrays["states"][3, LEVEL] * -4
    assert sorted(shown.x) == pytest.approx([0, abs(outputs)], rel=1e-5)
    assert sorted(float(t) for t in shown.text) == pytest.approx(sorted([0, outputs]), rel=1e-3)
    unknown = bar(policy_actions.actions(world(known=False), 3))
    assert sorted(unknown.x) == [0, 1]


def decomposed(differences, sufficient):
    values = np.array(differences, dtype=np.float32)
    arrays = {f"terms/{name}": values for name in ("action", "difference", "low", "high")}
    told = {
        "kind": "terms", "term_names": ["speed", "<i>fuel</i>", "tilt"], "sufficient": sufficient,
        "whole": {"difference": float(values.sum()), "low": -1.0, "high": 4.0}, "episode": 0,
        "step": 1, "action": 0, "instead": 1, "action_names": ["go", "wait"],
        "probabilities": None,
    }  # fmt: skip
    arrays["terms/instead"] = values * 0
    return PolicyExplanation(arrays=arrays, values=told)


def test_terms_have_a_bar_each_and_one_for_their_sum():
    given = decomposed([3, -1, 0.5], [0])
    drawn = terms(given)
    assert bar(drawn).x == pytest.approx([3, -1, 0.5, 2.5])
    look = theme("light")
    assert list(bar(drawn).marker.color) == [
        look.positive[-2], look.grid, look.grid, look.positive[-2],
    ]  # fmt: skip
    assert "<i>" not in "".join(drawn.layout.yaxis.ticktext)
    assert "outweigh" in str(drawn.layout.title.text)
    assert "outweigh" not in str(terms(decomposed([-3, -1, 0], [])).layout.title.text)
    assert bar(figure(given)).x == pytest.approx([3, -1, 0.5, 2.5])


def test_every_kind_of_explanation_has_its_figure(found):
    assert bar(figure(found)).x == pytest.approx(found.arrays["scores"])
    graph = dataclasses.replace(found, values=found.values | {"kind": "graph"})
    assert any(trace.mode == "markers+text" for trace in figure(graph).data)
    other = dataclasses.replace(found, values={"kind": "frames"})
    with pytest.raises(TypeError, match="frames"):
        figure(other)
