"""The table and figures of the faithfulness benchmark, on a model whose answer is a known sum."""

import pytest

from bench.faithfulness import COLUMNS, choose, figures, rows
from bench.report import arguments
from tests.backend.tokens.linear import Linear, scored

WEIGHTS = (0.1, 1.5, 0.2, 0.9, 0.3, 2.0, 0.4, 0.6)


@pytest.fixture
def found():
    model = Linear(WEIGHTS, gold=(2, 6))
    return {
        "oracle": scored(model, WEIGHTS),
        "reverse": scored(model, [-w for w in WEIGHTS]),
        "random": scored(model, draws=6),
    }


def test_figures_name_method_and_metric(found):
    numbers = figures(found, "neutral")
    assert numbers["oracle_recovery"] == 0.5
    assert numbers["reverse_recovery"] == 0.0
    assert numbers["reverse_gap"] < 0 < numbers["oracle_gap"]
    assert numbers["above_random"] == 1
    order = ("reverse", "random", "oracle")
    values = [numbers[f"{name}_comprehensiveness"] for name in order]
    assert values == sorted(values)


def test_what_is_undefined_has_no_figure_and_a_dash_in_the_table(found):
    found["no gold"] = scored(Linear(WEIGHTS), WEIGHTS)
    assert "no gold_recovery" not in figures(found, "key_masking")
    table = {line[0]: line for line in rows(found, "key_masking")}
    assert table["no gold"][1 + COLUMNS.index("recovery")] == "-"
    low, mean, high = (table[name][1] for name in ("random, 2.5 %", "random", "random, 97.5 %"))
    assert low <= mean <= high
    assert {len(line) for line in table.values()} == {len(COLUMNS) + 3}


def test_an_unknown_explainer_is_refused_before_anything_runs(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["faithfulness", "--explainer", "attention_mean,tea_leaves"])
    with pytest.raises(SystemExit):
        choose(arguments(""))
    assert "no explainer tea_leaves" in capsys.readouterr().err
