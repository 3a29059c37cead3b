"""The Concepts page and its states, on models that are trained for two epochs."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from backend.concepts import plan
from backend.concepts.explanation import ConceptExplanation, ConceptTarget
from backend.explanation import Comparison
from components import slice_names
from components.session import engine
from tests.app.conftest import settle
from tests.app.test_pages import press, words

pytestmark = pytest.mark.slow

Open = Callable[[str], AppTest]
MODES = ("Error slices", "One decision", "Experts")
ROLES = dict(zip(MODES, ("slicing", "attribution", "view"), strict=True))


def plots(app: AppTest) -> int:
    return len(app.get("plotly_chart"))


def chosen(page: Open, explainers: Sequence[str], mode: str = MODES[0], epochs: int = 2) -> AppTest:
    """The page with the coloured shapes, a short training and these explainers."""
    app = page("concepts")
    app.segmented_control(key="c.mode").set_value(mode).run()
    app.selectbox(key="c.model").select("shapes").run()
    app.number_input(key="c.recipe.epochs").set_value(epochs).run()
    app.multiselect(key=f"c.{ROLES[mode]}.explainers").set_value(list(explainers)).run()
    return app


def sliced(page: Open, explainers: Sequence[str]) -> AppTest:
    """The shapes' slices by these explainers; the charts are one each and the gains."""
    app = press(chosen(page, explainers), "Explain$")
    return settle(app, lambda a: plots(a) == len(explainers) + 1)


def tab(app: AppTest, role: str, name: str) -> AppTest:
    app.session_state[f"c.{role}.tabs"] = name
    return app.run()


def opened(app: AppTest) -> Comparison:
    """What the page's address names."""
    key = re.search("[0-9a-f]{64}", str(app.query_params["c"])).group()
    return engine().get_comparison(key)


def asked(app: AppTest) -> ConceptTarget:
    return ConceptTarget.model_validate(opened(app).target)


def results(app: AppTest) -> list[ConceptExplanation]:
    """The finished slicings or decisions of the page, in its order."""
    shown = opened(app)
    trained = engine().result(engine().key(plan.train_request(shown)))
    digest = engine().put_input(plan.table_of(trained), "concepts")
    return [engine().result(engine().key(request)) for request in plan.requests(shown, digest)]


def ending(elements: Sequence, name: str):
    """The one widget whose key ends so."""
    [found] = [element for element in elements if str(element.key).endswith(name)]
    return found


def metrics(app: AppTest) -> dict[str, str]:
    return {metric.label: metric.value for metric in app.metric}


def percent(text: str) -> float:
    return float(text.removesuffix("%")) / 100


@pytest.mark.parametrize("mode", MODES)
def test_a_fresh_page_says_what_to_do(page: Open, mode: str) -> None:
    app = page("concepts")
    app.segmented_control(key="c.mode").set_value(mode).run()
    assert not app.exception
    assert app.title[0].value == "Concepts"
    assert "Press **Explain** to run the chosen explainers" in words(app)
    assert not next(b for b in app.button if b.label == "Explain").disabled
    assert app.multiselect(key=f"c.{ROLES[mode]}.explainers").value
    assert not app.tabs


def test_explain_draws_a_panel_each_and_what_the_model_got_wrong(page: Open) -> None:
    app = sliced(page, ["cb_slice", "domino", "kmeans", "random"])
    assert not app.exception
    assert not app.error
    assert {"**CB-SLICE**", "**Domino**", "**K-means**", "**Random slices**"} <= {
        m.value for m in app.markdown
    }
    found = results(app)
    errors = len(found[0].arrays["errors"])
    facts = metrics(app)
    assert facts["Samples"] == "2,000"
    assert facts["Wrong predictions"] == f"{errors}"
    assert percent(facts["Task accuracy"]) == pytest.approx(1 - errors / 2000, abs=1e-3)
    assert "Stability: mean adjusted Rand index" in words(app)


def test_a_slice_tells_its_keywords_and_members_and_can_be_intervened_on(page: Open) -> None:
    app = sliced(page, ["cb_slice"])
    [found] = results(app)
    names = found.values["concept_names"]
    place = next(
        i
        for i, one in enumerate(found.values["slices"])
        if one["keywords"] and one["keywords"][0]["mispredicted"]
    )
    one = found.values["slices"][place]
    ending(app.selectbox, f"slice.{found.source().key[:12]}").select(place).run()
    assert not app.exception
    listed = next(d.value for d in app.dataframe if "keyword" in d.value)
    assert [names[k["concept"]] for k in one["keywords"]] == [
        next(n for n in names if n in str(word).split()) for word in listed["keyword"]
    ]
    assert list(listed["predicted"]) == pytest.approx([k["predicted"] for k in one["keywords"]])
    assert list(listed["true"]) == pytest.approx([k["true"] for k in one["keywords"]])
    assert f"**{one['size']} members**, the surest first" in words(app)

    # The concept that fails is suggested; without it the slice stays wrong.
    suggested = ending(app.multiselect, f".{place}.set")
    assert suggested.value == [one["keywords"][0]["concept"]]
    label = f"Accuracy, these {one['size']} samples"
    better = percent(metrics(app)[label])
    assert better > 0
    other = next(j for j, name in enumerate(names) if name == "red")
    suggested.set_value([other]).run()
    assert percent(metrics(app)[label]) < better
    ending(app.multiselect, f".{place}.set").set_value([]).run()
    assert label not in metrics(app)
    ending(app.multiselect, f".{place}.set").set_value(list(range(len(names)))).run()
    ending(app.segmented_control, f".{place}.for").set_value("All samples").run()
    assert "Accuracy, these 2,000 samples" in metrics(app)


def test_a_name_and_a_pin_stay_and_are_listed(page: Open) -> None:
    app = sliced(page, ["kmeans"])
    [found] = results(app)
    key = found.source().key
    pick = f"slice.{key[:12]}"
    ending(app.selectbox, pick).select(1).run()
    ending(app.text_input, ".1.name").input("  faint *stripes*  ").run()
    ending(app.toggle, ".1.pin").set_value(True).run()
    assert not app.exception
    assert ending(app.selectbox, pick).value == 1
    assert ending(app.selectbox, pick).options[1].startswith("2 · faint *stripes* · ")
    assert "Pinned slices (1)" in [e.label for e in app.expander]
    ending(app.text_input, ".1.name").input("faint stripes").run()
    assert ending(app.selectbox, pick).value == 1

    shown = app.query_params["c"]
    second = page("")
    second.query_params["c"] = shown
    second.switch_page("pages/concepts.py").run()
    assert "Pinned slices (1)" in [e.label for e in second.expander]
    assert re.search(r"\[faint stripes\]\(/concepts\?c=[0-9a-f]{64}\) · slice 2", words(second))
    ending(second.selectbox, pick).select(1).run()
    assert ending(second.text_input, ".1.name").value == "faint stripes"
    assert ending(second.toggle, ".1.pin").value is True
    [kept] = [e for e in engine().store.entries("explanation", "concepts") if e.key == key]
    assert kept.pinned

    ending(second.toggle, ".1.pin").set_value(False).run()
    assert slice_names.pinned() == []
    assert "Pinned slices (1)" not in [e.label for e in second.expander]


def test_known_groups_score_each_method_and_chance(page: Open) -> None:
    app = tab(sliced(page, ["kmeans", "random"]), "slicing", "Known groups")
    settle(app, lambda a: len(a.dataframe) == 1 and len(a.dataframe[0].value) == 3)
    board = app.dataframe[0].value
    assert list(board["method"]) == ["K-means", "Random slices", "random"]
    assert board["Completeness"].notna().all()
    completeness = dict(zip(board["method"], board["Completeness"], strict=True))
    assert completeness["K-means"] > 1.5 * completeness["random"]
    assert plots(app) == 4  # two panels, the scoreboard, groups in slices


def test_two_slicings_are_matched_and_the_library_offers_more(page: Open) -> None:
    app = tab(sliced(page, ["kmeans", "random"]), "slicing", "Two slicings")
    assert not app.exception
    one, other = results(app)
    matched = next(d.value for d in app.dataframe if "overlap" in d.value)
    assert len(matched) == min(len(f.values["slices"]) for f in (one, other))
    first = matched.iloc[0]
    a, b = (int(str(first[c]).split(" · ")[0]) - 1 for c in matched.columns[:2])
    of_one, of_other = one.arrays["slices"] == a, other.arrays["slices"] == b
    assert first["shared"] == np.count_nonzero(of_one & of_other)
    assert first["overlap"] == pytest.approx(first["shared"] / np.count_nonzero(of_one | of_other))

    app.multiselect(key="c.slicing.explainers").set_value(["kmeans"]).run()
    app.number_input(key="c.seed").set_value(7).run()
    press(app, "Explain$")
    settle(app, lambda a: any("overlap" in d.value for d in a.dataframe))
    offered = app.selectbox(key="c.two.other").options
    assert len(offered) == 3
    assert any(name.startswith("K-means, seed 0") for name in offered)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("How they were found", "Add CB-SLICE to see how its slices came to be"),
        ("Samples", ""),
        ("Export", "The command that reproduces this result"),
    ],
)
def test_every_other_tab_draws(page: Open, name: str, said: str) -> None:
    app = tab(sliced(page, ["random"]), "slicing", name)
    assert not app.exception
    assert said in words(app)


def test_another_sample_is_another_target_and_another_address(page: Open) -> None:
    methods = ["linear_contributions", "concept_flip"]
    app = press(chosen(page, methods, MODES[1]), "Explain$")
    settle(app, lambda a: plots(a) >= 2 and len(a.dataframe) == 1)
    before, first = opened(app).key(), asked(app)
    scores = results(app)[0].arrays["scores"]
    assert first.sample is not None
    assert first.label is None
    ending(app.number_input, ".at.Wrong predictions").set_value(5).run()
    settle(app, lambda a: plots(a) >= 2)
    assert not app.exception
    second = asked(app)
    assert opened(app).key() != before
    assert second.sample > first.sample
    assert f"Sample {second.sample}" in [c.value for c in app.caption]
    assert not np.allclose(results(app)[0].arrays["scores"], scores)

    settle(app, lambda a: [len(one.value) for one in a.dataframe] == [3])
    assert list(app.dataframe[0].value["method"]) == [
        "Concept contributions", "Flip one concept", "random",
    ]  # fmt: skip
    told = results(app)[0].arrays["scores"]
    predicted = int(results(app)[0].values["label"])
    ending(app.selectbox, "sample.label.None").select(1 - predicted).run()
    settle(app, lambda a: plots(a) >= 2)
    assert asked(app).label == 1 - predicted
    assert results(app)[0].arrays["scores"] == pytest.approx(-told, abs=1e-5)

    link = page("")
    link.query_params["c"] = app.query_params["c"]
    link.switch_page("pages/concepts.py").run()
    assert link.segmented_control(key="c.mode").value == MODES[1]
    assert asked(link) == asked(app)
    assert link.selectbox(key="c.model").value == "shapes"
    assert link.number_input(key="c.recipe.epochs").value == 2


def test_experts_are_written_out(page: Open) -> None:
    app = press(chosen(page, ["mcbe"], MODES[2]), "Explain$")
    settle(app, lambda a: bool(a.code))
    assert not app.exception
    assert not app.error
    assert plots(app) > 0
    assert "Expert 1 · logit of marked" in [c.value for c in app.caption]
    assert "The selector sees the embedding" in words(app)


def test_another_mode_asks_to_press_explain_again(page: Open) -> None:
    app = sliced(page, ["random"])
    app.segmented_control(key="c.mode").set_value(MODES[1]).run()
    assert not app.exception
    assert "Press **Explain**" in words(app)
    assert plots(app) == 0
    app.segmented_control(key="c.mode").set_value(MODES[0]).run()
    assert plots(app) == 2


def test_sanity_explains_heads_that_have_forgotten(page: Open) -> None:
    methods = ["linear_contributions", "concept_flip"]
    app = press(chosen(page, methods, MODES[1]), "Explain$")
    settle(app, lambda a: plots(a) >= 2)
    app = tab(app, "attribution", "Sanity")
    app.number_input(key="c.sanity.draws").set_value(3).run()
    app = press(app, "Measure$")

    def table(a: AppTest) -> pd.DataFrame:
        return next((d.value for d in a.dataframe if "verdict" in d.value), pd.DataFrame())

    app = settle(app, lambda a: not table(a).empty and (table(a)["draws"] == 3).all())
    assert not app.exception
    rows = table(app)
    assert list(rows["method"]) == ["Concept contributions", "Flip one concept"]
    assert (rows["nothing learned"] < 0.999).all(), "the re-initialised head reaches the methods"
    # The other of two classes has the opposite contributions.
    app = settle(app, lambda a: (table(a)["other class"] != "").all())
    assert list(table(app)["other class"]) == ["-1.000", "-1.000"]
