"""A study in a real browser: stopped, gone on with, read, and the explanation behind a cell."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, TimeoutError, expect

from tests.browser.conftest import Served, Watch, serve
from tests.browser.steps import NARROW, PLOT, download, pick, settled

pytestmark = [pytest.mark.browser, pytest.mark.slow]

INPUTS = 6


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    store = tmp_path_factory.mktemp("study") / "store"
    yield from serve(store, VITRINE_DEVICE="cpu", VITRINE_THREADS="1")


def read(page: Page) -> None:
    """Wait until every input is there."""
    expect(page.get_by_text("Click a cell to open the explanation behind it.")).to_be_visible()
    settled(page)


def run(page: Page, app: Served) -> None:
    """Ask for a small study of the concepts of a bundled model."""
    page.goto(f"{app.url}/study")
    page.get_by_role("radio", name="Concepts").click()
    pick(page, "Model", "Exclusive or")
    few = page.get_by_role("spinbutton", name="Inputs at most")
    few.fill(str(INPUTS))
    few.press("Enter")
    settled(page)
    page.get_by_role("button", name="Run", exact=True).click()


def second_cell(page: Page, link: Locator) -> None:
    """Click the second input's cell of the first method until its link is there."""
    table = page.get_by_test_id("stDataFrame").nth(1)
    for _ in range(5):
        settled(page)
        table.scroll_into_view_if_needed()
        page.wait_for_timeout(500)  # The table is drawn on a canvas, which tells nothing.
        box = table.bounding_box()
        assert box is not None
        # Rows are 35 pixels high, below a header.
        page.mouse.click(box["x"] + box["width"] * 0.3, box["y"] + 35 * 2 + 17)
        try:
            link.wait_for(timeout=5_000)
        except TimeoutError:
            continue
        return
    raise AssertionError("no link to the explanation behind the cell")


def test_a_study_is_run_read_taken_away_and_opened(
    app: Served, chromium: Browser, context: BrowserContext, tmp_path: Path
) -> None:
    watch = Watch()
    page = context.new_page()
    watch.follow(page, app.url)
    run(page, app)
    expect(page).to_have_url(re.compile(r"c=[0-9a-f]{64}"))
    read(page)

    rows = list(csv.DictReader(download(page, "inputs.csv", tmp_path).open(encoding="utf-8")))
    assert len(rows) == INPUTS * 5
    report = download(page, "study.html", tmp_path)
    other = chromium.new_context(offline=True)
    shown = other.new_page()
    asked: list[str] = []
    shown.on("request", lambda request: asked.append(request.url))
    shown.goto(report.as_uri())
    expect(shown.get_by_role("heading", name="Means")).to_be_visible()
    assert shown.locator("table").first.locator("tbody tr").count() >= 7
    assert asked == [report.as_uri()]
    other.close()

    link = page.get_by_role("link", name=re.compile(f"Open {rows[5]['input']} by"))
    second_cell(page, link)
    link.click()
    expect(page).to_have_url(re.compile(r"/concepts\?c=[0-9a-f]{64}"))
    expect(page.locator(PLOT).first).to_be_visible()
    assert not watch.outbound
    assert not watch.errors


def test_the_address_is_the_study_also_on_a_telephone(
    app: Served, chromium: Browser, context: BrowserContext
) -> None:
    page = context.new_page()
    run(page, app)
    read(page)
    other = chromium.new_context(viewport=NARROW, color_scheme="dark")
    small = other.new_page()
    small.goto(page.url)
    read(small)
    wide = small.evaluate("document.documentElement.scrollWidth")
    assert wide <= NARROW["width"]
    other.close()
