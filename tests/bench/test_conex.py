"""The words, rows and figures of the ConEx benchmark, from measures that are known."""

import pytest

from bench.conex import METHODS, METRICS, Measured, behind, figures, rows

ABOVE = {"conex": 0.8, "grad_cam": 0.5, "integrated_gradients": 0.9}
"""Gap by method; 0.1 of others."""


@pytest.fixture
def measured():
    found = Measured("Test")
    for picture in range(6):
        key = 0, picture
        for name in METHODS:
            gap = ABOVE.get(name, 0.1) + 0.01 * picture
            if name == "rise":  # above and below by turns
                gap = ABOVE["conex"] + 0.01 * picture + (-0.2 if picture % 2 else 0.1)
            for metric, value in zip(METRICS, (gap, 0.0, gap), strict=True):
                found.maps[name, metric][key] = value
            found.seconds[name][key] = 3.0 if name == "conex" else 2.0
    for name, value in (("iou", 0.6), ("vcm", 0.9), ("ccm_auroc", 1.0)):
        found.concepts[name] += [value, value - 0.2]
    found.residuals += [1e-6, 3e-6]
    found.discovery.append(5.0)
    found.classes = 4
    return found


def test_it_says_whom_it_is_not_above_and_by_how_much(measured):
    first, second = behind(measured)
    assert "not above that of integrated_gradients: -0.100 [-0.100, -0.100]" in first
    assert "above, but not clearly, that of rise: +0.050" in second


def test_nothing_behind_is_said_too_and_a_shared_concept(measured):
    for name in ("integrated_gradients", "rise"):
        measured.maps[name, "gap"] = measured.maps["grad_cam", "gap"]
    assert behind(measured) == ["Test: the gap of conex is above that of every other method"]
    measured.shared = 1
    assert "1 of 4 classes" in behind(measured)[-1]


def test_what_cannot_be_compared_is_not_called_lower(measured):
    del measured.maps["rise", "gap"]
    assert any("too few pictures to compare the gap of rise" in line for line in behind(measured))


def test_figures(measured):
    found = figures(measured, "photos_")
    assert found["photos_part_iou"] == pytest.approx(0.5)
    assert found["photos_conex_gap"] == pytest.approx(0.825)
    assert found["photos_seconds_over_ig"] == found["photos_seconds_over_occlusion"] == 1.5
    assert found["photos_max_residual_gap"] == 3e-6
    assert figures(Measured("None")) == {}


def test_rows_have_as_many_cells_and_dashes_without_an_interval(measured):
    table = {row[0]: row for row in rows(measured)}
    assert {len(row) for row in table.values()} == {5}
    assert table["Test: seconds of a discovery"] == (
        "Test: seconds of a discovery",
        5.0,
        "-",
        "-",
        1,
    )
    assert table["Test: gap, conex less grad_cam"][1:] == pytest.approx((0.3, 0.3, 0.3, 6))
