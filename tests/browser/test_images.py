"""The Images page in a real browser: pictures of parts, the concepts in them, files."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.conftest import Served, Watch, serve
from tests.browser.steps import NARROW, PLOT, download, pick, settled

pytestmark = [pytest.mark.browser, pytest.mark.slow]

CLICKED = "Concepts at the clicked place"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    store = tmp_path_factory.mktemp("images") / "store"
    yield from serve(store, VITRINE_DEVICE="cpu", VITRINE_THREADS="1")


@pytest.fixture(scope="module")
def link(app: Served, chromium: Browser) -> str:
    """Address of a picture of a disc and a square, explained by the default explainers."""
    context = chromium.new_context(viewport={"width": 1440, "height": 1000})
    page = context.new_page()
    page.goto(f"{app.url}/images")
    pick(page, "Model", "Parts CNN")
    pick(page, "Photo", "Pictures of parts")
    page.get_by_role("button", name="Explain", exact=True).click()
    expect(page).to_have_url(re.compile(r"\?c=[0-9a-f]{64}"))
    drawn(page)
    found = page.url
    context.close()
    return found


def drawn(page: Page) -> None:
    """Wait for the four panels and the three figures of the concepts."""
    expect(page.locator(PLOT)).to_have_count(7)
    for name in ("ConEx", "Grad-CAM", "Integrated Gradients", "RISE"):
        expect(page.locator("strong", has_text=re.compile(f"^{name}$"))).to_have_count(1)


def test_concepts_are_shown_again_on_a_narrow_screen(
    app: Served, link: str, chromium: Browser
) -> None:
    watch = Watch()
    other = chromium.new_context(viewport=NARROW, color_scheme="dark")
    page = other.new_page()
    watch.follow(page, app.url)
    page.goto(link)
    drawn(page)
    expect(page.get_by_text("concepts of disc + square")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
    other.close()
    assert watch.outbound == []
    assert watch.errors == []


def test_a_click_on_the_picture_tells_the_concepts_there(
    link: str, context: BrowserContext
) -> None:
    page = context.new_page()
    page.goto(link)
    drawn(page)
    settled(page)
    assert page.get_by_role("grid", name=CLICKED).count() == 0
    spots = page.locator(PLOT).nth(5).locator(".scatterlayer path.point")
    expect(spots).to_have_count(28 * 28)
    spots.nth(28 * 14 + 14).click(force=True)
    expect(page.get_by_text("Click a place to see the concepts there.")).to_have_count(0)


def test_numbers_of_the_map_and_a_card_with_the_concepts(
    link: str, context: BrowserContext, tmp_path: Path
) -> None:
    page = context.new_page()
    page.goto(link)
    drawn(page)
    page.get_by_role("tab", name="Export").click()
    settled(page)
    rows = list(csv.DictReader(download(page, "CSV", tmp_path).open(encoding="utf-8")))
    assert len(rows) == 14 * 14
    assert {int(row["rank"]) for row in rows} == set(range(1, 14 * 14 + 1))
    card = download(page, "Explanation card", tmp_path).read_text(encoding="utf-8")
    assert "no concept" in card
    assert "--example parts" in card
