"""The Graphs page and its states, on GNNs that are trained for two epochs."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from backend.consensus import consensus
from backend.explanation import Comparison, Request
from backend.graphs import plan
from backend.graphs.explanation import GraphExplanation, GraphSet, GraphTarget
from backend.graphs.noise import aligned, noisy
from backend.stability import stability
from components import graph_upload
from components.figures.graph_parts import SHARE
from components.session import engine
from tests.app.conftest import settle
from tests.app.test_pages import press, words

pytestmark = pytest.mark.slow

Open = Callable[[str], AppTest]
TABS = (
    "Scales", "One edge or node", "Faithfulness", "Many graphs", "Stability", "Sanity", "Agreement",
    "What the model saw", "Export",
)  # fmt: skip


def plots(app: AppTest) -> int:
    return len(app.get("plotly_chart"))


def chosen(page: Open, explainers: Sequence[str], preset: str = "mutag") -> AppTest:
    """The page with a small set, a short training and these explainers."""
    app = page("graphs")
    app.selectbox(key="g.model").select(preset).run()
    app.number_input(key="g.recipe.epochs").set_value(2).run()
    app.multiselect(key="g.explainers").set_value(list(explainers)).run()
    return app


def explained(page: Open, explainers: Sequence[str], preset: str = "mutag") -> AppTest:
    app = press(chosen(page, explainers, preset), "Explain$")
    return settle(app, lambda a: plots(a) >= len(explainers))


def tab(app: AppTest, name: str) -> AppTest:
    app.session_state["g.tabs"] = name
    return app.run()


def opened(app: AppTest) -> Comparison:
    """What the page's address names."""
    key = re.search("[0-9a-f]{64}", str(app.query_params["c"])).group()
    return engine().get_comparison(key)


def requests(app: AppTest) -> tuple[Request, ...]:
    """What the page asks for, in its order."""
    shown = opened(app)
    none = engine().put_input(GraphSet.none(), "graphs")
    digest = engine().put_input(plan.set_of(result(plan.train_request(shown, none))), "graphs")
    return plan.requests(shown, plan.Sets(digest, digest))


def result(request: Request) -> GraphExplanation:
    """What the page has computed of a request."""
    return engine().result(engine().key(request))


def scores(request: Request) -> np.ndarray:
    return result(request).arrays["scores"]


def results(app: AppTest) -> list[GraphExplanation]:
    """The finished explanations of the page, in its order."""
    return [result(request) for request in requests(app)]


def test_a_fresh_page_says_what_to_do(page: Open) -> None:
    app = page("graphs")
    assert not app.exception
    assert app.title[0].value == "Graphs"
    assert "Press **Explain** to run the chosen explainers" in words(app)
    assert not next(b for b in app.button if b.label == "Explain").disabled
    assert len(app.multiselect(key="g.explainers").value) == 4
    assert not app.tabs


def test_explain_trains_and_draws_a_panel_each_and_every_tab(page: Open) -> None:
    app = explained(page, ["saliency", "edge_occlusion", "random_edges"])
    assert not app.exception
    assert not app.error
    facts = {metric.label: metric.value for metric in app.metric}
    assert facts["Graphs"] == "188"
    assert facts["Nodes"] == "3,371"
    found = results(app)
    assert [one.values["kind"] for one in found] == ["edges"] * 3
    # All are of one graph, on one layout.
    assert len({one.values["graph"] for one in found}) == 1
    assert np.array_equal(found[0].arrays["positions"], found[2].arrays["positions"])
    for name in TABS:
        app = tab(app, name)
        assert not app.exception, name
        assert not app.error, name
    assert "explain graphs --explainer" in app.code[0].value


def test_where_the_methods_disagree_is_drawn_on_the_graph(page: Open) -> None:
    app = tab(explained(page, ["saliency", "edge_occlusion", "consensus"]), "Agreement")
    assert not app.exception
    assert "**Where 2 methods disagree**" in words(app)
    one, other, joint = results(app)
    mean, apart = consensus([one.arrays["scores"], other.arrays["scores"]])
    np.testing.assert_array_equal(joint.arrays["scores"], mean)
    table = next(d.value for d in app.dataframe if "disagreement" in d.value)
    order = np.argsort(-apart, kind="stable")[:10].tolist()
    assert list(table["position"]) == order
    assert list(table["disagreement"]) == [float(apart[p]) for p in order]
    assert list(table["mean rank"]) == [float(mean[p]) for p in order]
    assert plots(app) == 5, "the three panels, the matrix, and the disagreement on the graph"


def test_the_faithfulness_of_each_method_and_of_random_rankings(page: Open) -> None:
    app = tab(explained(page, ["saliency", "edge_occlusion"]), "Faithfulness")
    app = settle(app, lambda a: any("method" in d.value and len(d.value) == 3 for d in a.dataframe))
    table = next(d.value for d in app.dataframe if "method" in d.value)
    assert list(table["method"]) == ["Saliency", "Edge occlusion", "random"]
    assert table["Fidelity −"].notna().all()


def test_another_graph_is_explained_and_kept_in_the_address(page: Open) -> None:
    app = explained(page, ["saliency"])
    before = opened(app)
    [first] = results(app)
    box = next(n for n in app.number_input if n.label.startswith("Graph, 1 to"))
    app = box.set_value(2).run()
    app = settle(app, lambda a: plots(a) >= 1)
    after = GraphTarget.model_validate(opened(app).target)
    assert opened(app).key() != before.key()
    [second] = results(app)
    assert second.values["graph"] == after.graph != first.values["graph"]


def test_a_node_is_explained_by_its_neighbourhood(page: Open) -> None:
    app = explained(page, ["saliency"], preset="tree-cycles")
    [found] = results(app)
    assert found.values["task"] == "node"
    assert found.values["node"] is not None
    assert len(found.arrays["edges"]) < found.values["edges"] == 1169
    app = tab(app, "What the model saw")
    assert "those from which the node can be reached" in words(app)


def test_scales_of_ms_explainer(page: Open) -> None:
    app = chosen(page, ["ms_explainer"])
    app.number_input(key="g.ms_explainer.epochs").set_value(1).run()
    app.number_input(key="g.ms_explainer.restarts").set_value(1).run()
    app = settle(press(app, "Explain$"), lambda a: plots(a) >= 1)
    app = tab(app, "Scales")
    assert not app.exception
    assert plots(app) == 4  # The panel, the parts, what holds what, what each carries.
    table = next(d.value for d in app.dataframe if "key edges" in d.value)
    assert list(table["key edges"]) == sorted(table["key edges"])
    assert "Rebuilt from the paper's abstract" in words(app)
    app.segmented_control(key="g.shown").set_value("key").run()
    assert not app.exception


def test_stability_over_seeds_and_noise(page: Open) -> None:
    app = tab(explained(page, ["gnn_explainer", "saliency"]), "Stability")
    assert "Press **Measure**" in words(app)
    app.number_input(key="g.stable.most").set_value(3).run()
    app = press(app, "Measure$")

    def table(a: AppTest) -> pd.DataFrame:
        return next((d.value for d in a.dataframe if "noise: runs" in d.value), pd.DataFrame())

    def whole(a: AppTest) -> bool:
        return not table(a).empty and (table(a)["noise: runs"] == "3").all()

    app = settle(app, lambda a: whole(a) and table(a)["seeds: runs"][0] == "3")
    assert not app.exception
    rows = table(app)
    assert list(rows["method"]) == ["GNNExplainer", "Saliency"]
    assert list(rows["seeds: runs"]) == ["3", "deterministic"]
    assert list(rows.loc[1, ["seeds: overlap", "seeds: stable"]]) == ["", ""]
    assert pd.isna(rows["seeds: correlation"][1])

    shown = opened(app)
    asked = requests(app)
    runs = [scores(asked[0].at_seed(seed)) for seed in range(3)]
    assert np.abs(runs[0] - runs[1]).max() > 1e-4, "the seed reaches the method"
    check(rows.iloc[0], "seeds", runs)

    target = GraphTarget.model_validate(shown.target).model_copy(update={"recipe": None})
    moved = target.model_copy(update={"graph": 0}).model_dump(mode="json")
    graphs = engine().get_input("graphs", asked[0].input)
    noises = [engine().put_input(noisy(graphs, target, seed), "graphs") for seed in range(2)]
    for number, request in enumerate(asked):
        again = [result(request.moved(digest, moved)) for digest in noises]
        check(rows.iloc[number], "noise", aligned([result(request), *again]))
    drawn = [chart.proto.alt for chart in app.get("plotly_chart")][2:]
    spread = "Mean and spread of the scores by {}"
    assert sorted(drawn) == [
        spread.format("GNNExplainer"),
        spread.format("GNNExplainer"),
        spread.format("Saliency"),
        "Mean scores by GNNExplainer, stable edges standing out",
    ], "of seeds the method that draws, of noise both, and its mean on the graph"


def check(row: pd.Series, what: str, runs: Sequence[np.ndarray]) -> None:
    """A row's cells are those of these runs."""
    measured = stability(runs, SHARE)
    assert row[f"{what}: overlap"] == f"{measured.overlap.mean:.3f} ± {measured.half:.3f}"
    assert row[f"{what}: correlation"] == measured.correlation.mean
    assert row[f"{what}: stable"] == f"{measured.stable.sum()} of {measured.top}"


def test_sanity_explains_gnns_that_have_forgotten(page: Open) -> None:
    app = tab(explained(page, ["saliency", "random_edges"]), "Sanity")
    app.number_input(key="g.sanity.draws").set_value(3).run()
    app.toggle(key="g.sanity.control").set_value(True).run()
    app = press(app, "Measure$")

    def table(a: AppTest) -> pd.DataFrame:
        return next((d.value for d in a.dataframe if "verdict" in d.value), pd.DataFrame())

    def whole(a: AppTest) -> bool:
        return not table(a).empty and (table(a)["draws"] == 3).all() and said(a).all()

    def said(a: AppTest) -> pd.Series:
        return table(a)["shuffled labels"] != ""

    app = settle(app, whole)
    assert not app.exception
    rows = table(app)
    assert list(rows["method"]) == ["Saliency", "Random"]
    # Random scores depend on the seed and the graph's number of edges alone.
    assert rows["nothing learned"][1] == pytest.approx(1)
    assert rows["verdict"][1] == "ignores the model"
    assert rows["nothing learned"][0] < 0.999, "the re-initialised GNN reaches the method"
    assert rows["shuffled labels"][1] == "1.000"
    assert rows["shuffled labels"][0] != "1.000", "the misled GNN reaches the method"
    assert plots(app) == 3, "the two panels, and the curves"


def test_an_upload_is_read_and_explained_by_the_bundled_gnn(page: Open) -> None:
    app = chosen(page, ["saliency"], preset="ba-2motifs")
    app.segmented_control(key="g.graphs").set_value("Graphs of my own").run()
    assert next(b for b in app.button if b.label == "Explain").disabled
    template = ("edges.csv", graph_upload.template())
    app.session_state["g.file.held"] = template
    app = app.run()
    assert "1 graph, 4 nodes, 4 undirected edges" in words(app)
    app = settle(press(app, "Explain$"), lambda a: plots(a) >= 1)
    assert not app.error
    assert "set to their value in the model's graphs" in words(app)
    app = tab(app, "What the model saw")
    assert any("Ada" in list(d.value.get("node", [])) for d in app.dataframe)


def test_a_bad_file_is_refused_with_what_to_do(page: Open) -> None:
    app = page("graphs")
    app.segmented_control(key="g.graphs").set_value("Graphs of my own").run()
    app.session_state["g.file.held"] = ("graph.graphml", b"<!DOCTYPE x [<!ENTITY a 'b'>]><x/>")
    app = app.run()
    assert not app.exception
    assert len(app.error) == 1
    assert "document type or an entity" in app.error[0].value
    assert next(b for b in app.button if b.label == "Explain").disabled


def test_a_network_that_came_trained_answers_for_bundled_and_own_molecules(page: Open) -> None:
    app = page("graphs")
    app.selectbox(key="g.model").select("admet-ai").run()
    app.selectbox(key="g.recipe.endpoint").select("AMES").run()
    app.multiselect(key="g.explainers").set_value(["saliency"]).run()
    app = settle(press(app, "Explain$"), lambda a: plots(a) >= 1)
    asked = GraphTarget.model_validate(opened(app).target)
    assert asked.recipe.model_dump() == {"endpoint": "AMES", "member": 1}
    kinds = app.selectbox(key="g.pick.which").options
    assert kinds == ["Reason known", "Predicted not mutagenic", "Predicted mutagenic", "All"]
    app.segmented_control(key="g.graphs").set_value("Graphs of my own").run()
    app.segmented_control(key="g.how").set_value("SMILES").run()
    app.text_area(key="g.smiles").set_value("O=[N+]([O-])c1ccccc1 nitrobenzene").run()
    app = settle(press(app, "Explain$"), lambda a: plots(a) >= 1 and "nitrobenzene" in words(a))
    assert not app.error


def test_a_network_whose_package_is_missing_says_how_to_install_it(
    page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = importlib.util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec",
        lambda name, *more: None if name == "admet_ai" else spec(name, *more),
    )
    app = page("graphs")
    app.selectbox(key="g.model").select("admet-ai").run()
    app = press(app, "Explain$")
    assert not app.exception
    said = app.error[0].value.replace("\\", "")
    assert "pip install --no-deps admet-ai==2.0.1" in said
