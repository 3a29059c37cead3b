"""The Graphs page in a real browser, from a fresh store to the exported files."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.conftest import Served, Watch, serve
from tests.browser.steps import NARROW, PLOT, download, pick

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    store = tmp_path_factory.mktemp("graphs") / "store"
    yield from serve(store, VITRINE_DEVICE="cpu", VITRINE_THREADS="1")


@pytest.fixture(scope="module")
def link(app: Served, chromium: Browser) -> str:
    """Address of a MUTAG compound explained by the four default explainers."""
    context = chromium.new_context(viewport={"width": 1440, "height": 1000})
    page = context.new_page()
    page.goto(f"{app.url}/graphs")
    pick(page, "Model", "MUTAG")
    page.get_by_role("button", name="Explain", exact=True).click()
    expect(page).to_have_url(re.compile(r"\?c=[0-9a-f]{64}"))
    panels(page)
    found = page.url
    context.close()
    return found


def panels(page: Page) -> None:
    """Wait for the four panels and, below them, the three figures of the scales."""
    expect(page.locator(PLOT)).to_have_count(7)
    for name in ("MSExplainer", "GNNExplainer", "PGExplainer", "Saliency"):
        expect(page.locator("strong", has_text=re.compile(f"^{name}$"))).to_have_count(1)


def test_fresh_store_to_graphs_and_the_same_after_a_reload(
    app: Served, link: str, chromium: Browser, context: BrowserContext
) -> None:
    watch = Watch()
    page = context.new_page()
    watch.follow(page, app.url)
    page.goto(link)
    panels(page)
    notes = page.locator(PLOT).first.locator(".gtitle").text_content()
    page.reload()
    panels(page)
    assert page.locator(PLOT).first.locator(".gtitle").text_content() == notes

    other = chromium.new_context(viewport=NARROW, color_scheme="dark")
    second = other.new_page()
    watch.follow(second, app.url)
    second.goto(link)
    panels(second)
    wide = second.evaluate("document.documentElement.scrollWidth")
    assert wide <= NARROW["width"]
    other.close()
    assert watch.outbound == []
    assert watch.errors == []


def test_a_click_on_an_edge_picks_it_for_every_method(link: str, context: BrowserContext) -> None:
    page = context.new_page()
    page.goto(link)
    panels(page)
    targets = page.locator(PLOT).nth(3).locator(".trace").filter(has=page.locator("path.point"))
    page.get_by_role("tab", name="One edge or node").click()
    box = page.get_by_role("combobox", name="Edge", exact=True)
    expect(box).to_be_visible()
    before = box.input_value()
    # The last two traces: the middles of the edges, the nodes.
    targets.nth(-2).locator("path.point").nth(5).click(force=True)
    expect(box).not_to_have_value(before)
    expect(page.locator(".ytick")).to_have_count(4)


def test_scores_and_files(link: str, context: BrowserContext, tmp_path: Path) -> None:
    page = context.new_page()
    page.goto(link)
    panels(page)
    page.get_by_role("tab", name="Faithfulness").click()
    expect(page.get_by_text("scores still to come")).to_have_count(0)
    expect(page.get_by_text("Keeping and deleting edges").first).to_be_visible()
    page.get_by_role("tab", name="Export").click()
    rows = list(csv.DictReader(download(page, "CSV", tmp_path).open(encoding="utf-8")))
    assert {"from", "to", "score", "scale", "known_reason"} <= set(rows[0])
    assert sorted(int(row["rank"]) for row in rows) == list(range(1, len(rows) + 1))
    assert download(page, "PNG", tmp_path).read_bytes().startswith(b"\x89PNG")
    card = download(page, "Explanation card", tmp_path).read_text(encoding="utf-8")
    assert "--example mutag" in card
    assert "Multi-scale Explainer" in card or "ms_explainer" in card
