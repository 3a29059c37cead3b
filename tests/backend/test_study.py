"""Values of a study by hand, tests by scipy's numbers, and files that other programs read."""

from __future__ import annotations

import csv
import dataclasses
import html.parser
import io
import re
import shutil
import subprocess
from html import escape as html_escape

import numpy as np
import pytest
from scipy import stats

from backend import study_files
from backend.bootstrap import Interval, interval
from backend.explanation import Comparison, Explanation, ModelRef, Provenance, Request
from backend.metric import Metric
from backend.study import (
    AGREEMENT,
    RANDOM,
    SECONDS,
    STABILITY,
    Case,
    Measured,
    Studied,
    Study,
    holm,
    signed_rank,
    study,
)

UP = Metric("up", "Up & <up>_100%", True, "More is more.")
DOWN = Metric("down", "Down", False, "Less is more.")
REQUEST = Request(family="graphs", explainer="saliency", model=ModelRef(name="m"), input="0" * 64)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Said(Explanation):
    """An explanation with scores, or a score with metrics."""


def explained(scores, seconds=1.0, **values):
    source = Provenance(
        key="k", request=REQUEST, model_fingerprint="f", versions={}, device="cpu",
        dtype="float32", seconds=seconds, peak_memory_bytes=0, forward_passes=0,
        backward_passes=0, batch_size=None, warnings=(), created="",
    )  # fmt: skip
    arrays = {"scores": np.array(scores, dtype=np.float32)}
    return Said(arrays=arrays, values=values, provenance=source)


def scored(**metrics):
    return Said(arrays={}, values={"metrics": metrics})


def made(pairs=(), **values):
    """A study of the methods one, two and random rankings; `pairs`: correlations of one and two."""
    metrics = [metric for metric in (UP, DOWN, AGREEMENT) if metric.id in values]
    arrays = {name: np.array(rows, dtype=float) for name, rows in values.items()}
    cases = len(next(iter(arrays.values()))[0])
    both = np.full((2, 2, cases), np.nan)
    both[0, 1, : len(pairs)] = both[1, 0, : len(pairs)] = pairs
    titles = tuple(f"case {c}" for c in range(cases))
    return Study(("one", "two", RANDOM), titles, metrics, arrays, both)


def test_values_are_those_of_scores_explanations_and_seeds():
    a, b, c = [4, 3, 2, 1], [1, 2, 3, 4], [3, 4, 2, 1]
    first = Measured(
        asked=[explained(a, 0.5), explained(b, 2.0)],
        again=[(), (explained(c),)],
        scores=[scored(up=0.9, down=0.1), scored(up=0.8, down=None), scored(up=0.5, down=0.5)],
    )
    second = Measured([explained(a), None], [(), (None,)], [scored(up=0.7, down=0.2), None, None])
    found = study(["one", "two"], ["x", "y"], [first, second], [UP, DOWN])
    assert found.methods == ("one", "two", RANDOM)
    np.testing.assert_array_equal(found.values["up"], [[0.9, 0.7], [0.8, np.nan], [0.5, np.nan]])
    np.testing.assert_array_equal(
        found.values["down"], [[0.1, 0.2], [np.nan, np.nan], [0.5, np.nan]]
    )
    np.testing.assert_array_equal(
        found.values["seconds"], [[0.5, 1.0], [2.0, np.nan], [np.nan, np.nan]]
    )
    known = stats.spearmanr(b, c).statistic
    assert found.values["stability"][1, 0] == pytest.approx(known)
    assert np.isnan(found.values["stability"][0]).all()
    np.testing.assert_allclose(found.values["agreement"][:2, 0], -1)
    assert np.isnan(found.values["agreement"][:, 1]).all()
    assert found.metrics == (UP, DOWN, STABILITY, AGREEMENT, SECONDS)


def test_a_metric_nobody_has_is_left_out():
    only = Measured([explained([1, 2, 3])], [()], [scored(up=1.0, down=None), scored(up=0.0)])
    assert study(["one"], ["x"], [only], [UP, DOWN]).metrics == (UP, SECONDS)


def test_the_best_mean_is_best_whichever_way_a_metric_goes():
    ahead, behind = np.linspace(0.6, 0.8, 8), np.linspace(0.2, 0.5, 8)
    found = made(up=[ahead, behind, behind], down=[ahead, behind, ahead]).cells
    assert [cell.best for cell in found["up"]] == [True, False, False]
    assert [cell.best for cell in found["down"]] == [False, True, False]
    assert found["up"][1].behind
    assert found["up"][1].p == pytest.approx(stats.wilcoxon(ahead - behind).pvalue)
    assert found["up"][0].p is None
    assert (found["up"][2].p, found["up"][2].behind) == (None, False)
    assert found["up"][0].mean.mean == pytest.approx(0.7)


def test_a_metric_is_won_by_the_control_whose_mean_no_method_beats():
    # Single inputs do not matter: "one" is ahead of random rankings on two of three.
    up = [[0.6, 0.6, 0.0], [0.5, 0.5, 0.5], [0.55, 0.55, 0.55]]
    down = [[0.1, 0.1, 0.1], [0.2, 0.2, 0.2], [np.nan, np.nan, np.nan]]
    found = made(up=up, down=down)
    assert found.won_by_control == {"up": RANDOM}
    with_two = dataclasses.replace(found, controls=("two",))
    assert with_two.won_by_control == {"up": RANDOM}
    assert dataclasses.replace(found, controls=("one",)).won_by_control == {
        "up": RANDOM, "down": "one",
    }  # fmt: skip
    assert made(up=[[0.9], [0.1], [0.5]]).won_by_control == {}


def test_agreement_and_seconds_are_no_merit_that_a_control_could_win():
    asked = [explained([4, 3, 2, 1], 2.0), explained([1, 3, 2, 4], 0.1), explained([4, 3, 1, 2])]
    scores = [scored(up=0.9), scored(up=0.1), scored(up=0.8), scored(up=0.2)]
    names = ["one", "lot", "two"]
    found = study(names, ["x"], [Measured(asked, [()] * 3, scores)], [UP], ["lot"])
    assert found.controls == ("lot",)
    assert {metric.id for metric in found.metrics} == {"up", "agreement", "seconds"}
    assert found.won_by_control == {}


def test_files_mark_what_a_control_wins_and_name_it():
    found = made(up=[[0.4, 0.5], [0.3, 0.2], [0.9, 0.8]], down=[[0.1, 0.1], [0.3, 0.3], [0.2, 0.2]])
    sentence = (
        "Up & <up>_100%: a control (Random rankings) does as well as the best method, so it says "
        "nothing here."
    )
    files = study_files.files(found, ASKED)
    page = files["study.html"].decode()
    assert f"<p>† {html_escape(sentence)}</p>" in page
    [up] = re.findall(r'<tr style="color:var\(--muted\)"><td>(.*?)</td>', page)
    assert up == "Up &amp; &lt;up&gt;_100%† (higher is better)"
    table = files["study.tex"].decode()
    assert r"\_100\% $\uparrow$$^\dagger$ &" in table
    assert rf"$^\dagger${study_files.tex(sentence)}}}" in table
    assert table.count("dagger") == 2
    assert table.isascii()
    [row] = study_files.won_by_control(found, [*ASKED.titles, study_files.RANKINGS])
    assert row == sentence
    ahead = study_files.files(made(up=[[0.9], [0.3], [0.1]]), ASKED)
    assert "†" not in ahead["study.html"].decode()
    assert b"dagger" not in ahead["study.tex"]


def test_agreement_has_no_best():
    found = made(agreement=[[0.5] * 8, [0.1] * 8, [np.nan] * 8]).cells
    assert not any(cell.best or cell.behind for cell in found["agreement"])


def test_equal_methods_share_the_best_and_few_inputs_make_no_test():
    same = made(up=[[0.5] * 8, [0.5] * 8, [0] * 8]).cells["up"]
    assert [cell.best for cell in same] == [True, True, False]
    assert same[1].p == 1
    few = made(up=[[0.9] * 5, [0.1] * 5, [0] * 5]).cells["up"]
    assert (few[1].p, few[1].behind) == (None, False)


def test_the_test_pairs_inputs_and_leaves_out_what_one_lacks():
    generator = np.random.default_rng(0)
    first, other = generator.random(20), generator.random(20)
    first[3], other[7] = np.nan, np.nan
    both = np.isfinite(first) & np.isfinite(other)
    known = stats.wilcoxon(first[both] - other[both], zero_method="pratt").pvalue
    assert signed_rank(first, other) == pytest.approx(known)
    assert signed_rank(first[:6], other[:6]) is None
    assert signed_rank(np.ones(9), np.ones(9)) == 1


def correlation(first, other):
    return stats.spearmanr(first.arrays["scores"], other.arrays["scores"]).statistic


def test_pairs_are_rank_correlations_and_their_means_have_bootstrap_intervals():
    generator = np.random.default_rng(3)
    cases = [[explained(generator.normal(size=12)) for _ in range(3)] for _ in range(7)]
    lacking = [*cases[:-1], [cases[-1][0], None, cases[-1][2]]]
    measured = [Measured(asked, [()] * 3, [None] * 4) for asked in lacking]
    found = study(["one", "two", "three"], [f"case {c}" for c in range(7)], measured, [UP])
    one_two = [correlation(one, two) for one, two, _ in cases[:-1]]
    one_three = [correlation(one, three) for one, _, three in cases]
    np.testing.assert_allclose(found.pairs[0, 1, :6], one_two)
    assert np.isnan(found.pairs[1, :, 6]).all()
    assert np.isnan(found.pairs[:, 1, 6]).all()
    for row, other, known in ((0, 1, one_two), (0, 2, one_three)):
        expected = interval(known)
        said = found.agreement[row][other]
        assert said == found.agreement[other][row]
        assert dataclasses.astuple(said) == pytest.approx(dataclasses.astuple(expected))
    assert [found.agreement[m][m].mean for m in range(3)] == pytest.approx([1, 1, 1])
    row = found.values["agreement"][0]
    np.testing.assert_allclose(row[:6], (np.array(one_two) + one_three[:6]) / 2)
    assert row[6] == pytest.approx(one_three[6])


def test_two_methods_that_never_meet_have_no_agreement():
    flat = Measured([explained([1, 1, 1]), explained([1, 2, 3])], [(), ()], [None] * 3)
    found = study(["one", "two"], ["x"], [flat], [UP])
    assert found.agreement[0][1] == Interval(None, None, None, 0)
    assert "agreement" not in found.values


def test_a_consensus_is_left_out_of_what_the_others_agree_on_but_not_of_its_own():
    one, two, other = ([4, 3, 2, 1], [3, 4, 2, 1], [1, 3, 2, 4])
    joint = [4, 3, 1, 2]
    asked = [explained(one), explained(joint), explained(two), explained(other)]
    names = ["one", "consensus", "two", "other"]
    found = study(names, ["x"], [Measured(asked, [()] * 4, [None] * 5)], [UP])
    r = {(a, b): correlation(x, y) for a, x in enumerate(asked) for b, y in enumerate(asked)}
    means = [
        (r[0, 2] + r[0, 3]) / 2,
        (r[1, 0] + r[1, 2] + r[1, 3]) / 3,
        (r[2, 0] + r[2, 3]) / 2,
        (r[3, 0] + r[3, 2]) / 2,
    ]
    np.testing.assert_allclose(found.values["agreement"][:, 0], [*means, np.nan])
    assert found.pairs[0, 1, 0] == pytest.approx(r[0, 1]), "the pair itself is still there"


def test_one_method_and_its_consensus_agree_with_nobody_else():
    asked = [explained([1, 2, 3]), explained([1, 3, 2])]
    found = study(["one", "consensus"], ["x"], [Measured(asked, [()] * 2, [None] * 3)], [UP])
    np.testing.assert_allclose(found.values["agreement"][:, 0], [np.nan, 0.5, np.nan])


def test_a_consensus_takes_the_seconds_of_all_it_is_of():
    asked = [explained([1, 2], 2.0), explained([1, 2], 0.25, members_cost={"seconds": 3.5})]
    found = study(["one", "consensus"], ["x"], [Measured(asked, [()] * 2, [None] * 3)], [UP])
    np.testing.assert_array_equal(found.values["seconds"][:, 0], [2.0, 3.75, np.nan])


def test_holm_by_hand_and_in_any_order():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.04, 0.03, 0.01]) == pytest.approx([0.06, 0.06, 0.03])
    assert holm([0.9, 0.8]) == [1, 1]
    assert holm([]) == []


CASE = Case(
    title="<case> & 1",
    opens=Comparison(family="graphs", model=ModelRef(name="m"), input="0" * 64, choices=()),
    asked=(REQUEST,),
    again=((),),
    scores=(REQUEST,),
    command="python -m backend explain graphs",
)
ASKED = Studied(
    cases=[CASE],
    methods=["one", "two"],
    titles=["One_<b>", "Method two 100%"],
    metrics=[UP],
    about="A $set$ of {graphs} ~ naïve",
    command="python -m backend study graphs --out 'a & b'",
    beside=lambda: {"graphs.jsonl": b"{}\n"},
)


PAIRS = (0.5, -0.25, 0.75, 0.0)


def filled():
    generator = np.random.default_rng(1)
    rows = generator.random((3, 9))
    rows[1, 4] = np.nan
    study = made(PAIRS, up=rows, down=-rows / 1e5)
    return dataclasses.replace(study, cases=("=1+1", *study.cases[1:]))


def test_tables_hold_every_value():
    found = filled()
    files = study_files.files(found, ASKED)
    assert set(files) == {
        "inputs.csv", "means.csv", "agreement.csv", "study.tex", "study.html", "graphs.jsonl",
    }  # fmt: skip
    rows = list(csv.DictReader(io.StringIO(files["inputs.csv"].decode())))
    assert len(rows) == 3 * 9
    assert rows[0]["input"] == "'=1+1"
    assert [float(row["up"]) for row in rows[3:6]] == found.values["up"][:, 1].tolist()
    assert rows[13]["up"] == ""
    means = list(csv.DictReader(io.StringIO(files["means.csv"].decode())))
    cells = found.cells
    assert [float(row["mean"]) for row in means[:3]] == [cell.mean.mean for cell in cells["up"]]
    assert [row["n"] for row in means[:3]] == ["9", "8", "9"]


def test_the_agreement_of_two_methods_is_a_row():
    text = study_files.files(filled(), ASKED)["agreement.csv"].decode()
    [row] = csv.DictReader(io.StringIO(text))
    known = interval(PAIRS)
    assert (row["method"], row["other"], row["n"]) == ("one", "two", "4")
    assert [float(row[name]) for name in ("mean", "low", "high")] == [0.25, known.low, known.high]


def test_agreement_that_is_not_known_is_an_empty_cell():
    rows = study_files.csv_of_agreement(made(up=[[0.1], [0.2], [0.3]])).decode().splitlines()
    assert rows == ["method,other,mean,low,high,n", "one,two,,,,0"]


def test_the_report_shows_agreement_beside_escaped_titles():
    found = filled()
    page = study_files.files(found, ASKED)["study.html"].decode()
    table = page.split("<h2>Agreement</h2>")[1].split("<h2>")[0]
    head, *rows = re.findall("<tr>(.*?)</tr>", table)
    assert head == "<th></th><th>One_&lt;b&gt;</th><th>Method two 100%</th>"
    low, high = (study_files.shown(end) for end in (interval(PAIRS).low, interval(PAIRS).high))
    said = f"<td>0.250<br><small>[{low}, {high}]</small></td>"
    assert rows == [
        f"<td>One_&lt;b&gt;</td><td>–</td>{said}",
        f"<td>Method two 100%</td>{said}<td>–</td>",
    ]


def test_latex_has_no_sign_that_stops_it(tmp_path):
    text = study_files.files(filled(), ASKED)["study.tex"].decode()
    assert text.isascii()
    assert r"Up \& \textless{}up\textgreater{}\_100\%" in text
    assert text.count(r"\textbf{") == 2
    assert text.count("{") == text.count("}")
    document = rf"\documentclass{{article}}\begin{{document}}{text}\end{{document}}"
    (tmp_path / "table.tex").write_text(document)
    compiler = shutil.which("pdflatex")
    assert compiler, "pdflatex is needed: on Debian, texlive-latex-base"
    done = subprocess.run(
        [compiler, "-interaction=nonstopmode", "-halt-on-error", "table.tex"],
        cwd=tmp_path, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / "table.pdf").stat().st_size > 5000


class Reader(html.parser.HTMLParser):
    """Tags and text of a page."""

    def __init__(self):
        super().__init__()
        self.tags, self.text, self.addresses = [], "", []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.addresses += [v for k, v in attrs if k in ("src", "href")]

    def handle_data(self, data):
        self.text += data


def test_the_report_asks_nothing_of_the_network_and_shows_text_as_text():
    found = filled()
    reader = Reader()
    reader.feed(study_files.files(found, ASKED)["study.html"].decode())
    assert reader.addresses == []
    assert not {"script", "link", "iframe", "img"} & set(reader.tags)
    for text in ("One_<b>", "Up & <up>_100%", "A $set$", "'a & b'", "<case> & 1", "=1+1"):
        assert text in reader.text
    assert study_files.shown(found.cells["up"][0].mean.mean) in reader.text
    assert reader.tags.count("tr") == (1 + 2) + (1 + 2) + 2 * (1 + 9)


def test_small_numbers_keep_a_digit():
    assert [study_files.shown(v) for v in (0.0, 0.1234, -0.5, 3e-5)] == [
        "0.000", "0.123", "-0.500", "3e-05",
    ]  # fmt: skip
