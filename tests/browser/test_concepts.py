"""The Concepts page in a real browser, from a fresh store to the exported files."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from components.concept_upload import template
from tests.browser.conftest import Served, Watch, serve
from tests.browser.steps import NARROW, PLOT, download, pick, settled

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    store = tmp_path_factory.mktemp("concepts") / "store"
    yield from serve(store, VITRINE_DEVICE="cpu", VITRINE_THREADS="1")


@pytest.fixture(scope="module")
def link(app: Served, chromium: Browser) -> str:
    """Address of the shapes' slices by the four default explainers."""
    context = chromium.new_context(viewport={"width": 1440, "height": 1000})
    page = context.new_page()
    page.goto(f"{app.url}/concepts")
    model(page, "Coloured shapes")
    page.get_by_role("button", name="Explain", exact=True).click()
    expect(page).to_have_url(re.compile(r"\?c=[0-9a-f]{64}"))
    panels(page)
    found = page.url
    context.close()
    return found


def model(page: Page, name: str) -> None:
    pick(page, "Model", name)


def panels(page: Page) -> None:
    """Wait for the four panels and, below them, the gains of the first slice."""
    expect(page.locator(PLOT)).to_have_count(5)
    for name in ("CB-SLICE", "Domino", "K-means", "Random slices"):
        expect(page.locator("strong", has_text=re.compile(f"^{name}$"))).to_have_count(1)


def drawn(page: Page) -> list[str]:
    """The labels on the axes of the four panels."""
    return [page.locator(PLOT).nth(i).locator(".ytick").all_inner_texts() for i in range(4)]


def test_fresh_store_to_slices_and_the_same_after_a_reload(
    app: Served, link: str, chromium: Browser, context: BrowserContext
) -> None:
    watch = Watch()
    page = context.new_page()
    watch.follow(page, app.url)
    page.goto(link)
    panels(page)
    before = drawn(page)
    assert all(len(names) > 1 for names in before)
    page.reload()
    panels(page)
    assert drawn(page) == before

    other = chromium.new_context(viewport=NARROW)
    second = other.new_page()
    watch.follow(second, app.url)
    second.goto(link)
    panels(second)
    assert drawn(second) == before
    # Nothing sticks out of a narrow screen.
    wide = second.evaluate("document.documentElement.scrollWidth")
    assert wide <= NARROW["width"]
    other.close()
    assert watch.outbound == []
    assert watch.errors == []


def test_a_slice_is_opened_listed_named_and_intervened_on(
    app: Served, link: str, context: BrowserContext, tmp_path: Path
) -> None:
    watch = Watch()
    page = context.new_page()
    watch.follow(page, app.url)
    page.goto(link)
    panels(page)
    box = page.get_by_role("combobox", name="Slice", exact=True)
    pick(page, "Slice", "^2 · ")
    expect(box).to_have_value(re.compile("^2 · "))
    size = int(re.search(r"(\d+) members$", box.input_value()).group(1))
    expect(page.get_by_text(f"{size} members, the surest first")).to_be_visible()
    with download(page, "Member list (CSV)", tmp_path).open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == size

    name = page.get_by_role("textbox", name="Name of this slice")
    name.fill("faint stripes")
    name.press("Enter")
    expect(box).to_have_value(re.compile("^2 · faint stripes · "))
    page.get_by_text("Pin", exact=True).click()
    expect(page.get_by_text("Pinned slices (1)")).to_be_visible()
    expect(box).to_have_value(re.compile("^2 · faint stripes · "))

    accuracy = page.get_by_test_id("stMetric").filter(has_text=f"Accuracy, these {size} samples")
    expect(accuracy).to_contain_text("from 0.0%")
    settled(page)
    page.get_by_role("button", name="Clear all").last.click()
    expect(accuracy).to_have_count(0)
    for concept in ("striped", "big"):
        pick(page, "Concepts set to their true value", f"^{concept}$")
        page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Remove big")).to_be_visible()
    expect(accuracy).to_contain_text("from 0.0%")
    page.get_by_text("All samples", exact=True).first.click()
    whole = page.get_by_test_id("stMetric").filter(has_text="Accuracy, these 2,000 samples")
    expect(whole).to_contain_text("+")
    assert watch.outbound == []
    assert watch.errors == []


def test_every_tab_draws_and_the_result_is_taken_away(
    app: Served, link: str, context: BrowserContext, tmp_path: Path
) -> None:
    watch = Watch()
    page = context.new_page()
    watch.follow(page, app.url)
    page.goto(link)
    panels(page)
    page.get_by_role("tab", name="Known groups").click()
    expect(page.locator(PLOT)).to_have_count(6)
    page.get_by_role("tab", name="Two slicings").click()
    expect(page.get_by_text(re.compile("^Adjusted Rand index"))).to_be_visible()
    page.get_by_role("tab", name="How they were found").click()
    expect(page.get_by_text("Error-prone concepts")).to_be_visible()
    page.get_by_role("tab", name="Export").click()
    png = download(page, "PNG", tmp_path)
    assert png.read_bytes().startswith(b"\x89PNG")
    assert png.stat().st_size > 5_000
    lines = download(page, "CSV", tmp_path).read_text(encoding="utf-8").splitlines()
    assert len(lines) > 100
    card = download(page, "Explanation card", tmp_path).read_text(encoding="utf-8")
    assert "python -m backend explain concepts" in card
    assert "CB-SLICE" in card
    assert watch.outbound == []
    assert watch.errors == []


def test_one_decision_steps_through_samples(
    app: Served, link: str, context: BrowserContext
) -> None:
    watch = Watch()
    page = context.new_page()
    watch.follow(page, app.url)
    page.goto(link)
    panels(page)
    page.get_by_role("radio", name="One decision").click()
    expect(page.get_by_text("to run the chosen explainers")).to_be_visible()
    page.get_by_role("button", name="Explain", exact=True).click()
    stepper = page.get_by_role("spinbutton", name=re.compile("^Sample, 1 to"))
    expect(stepper).to_have_value("1")
    expect(page.locator(PLOT)).to_have_count(6)
    before, was = page.url, page.get_by_text(re.compile(r"^Sample \d+$")).inner_text()
    for _ in range(3):
        page.get_by_role("button", name="Increment").last.click()
    expect(stepper).to_have_value("4")
    expect(page).not_to_have_url(before)
    expect(page.get_by_text(was, exact=True)).to_have_count(0)
    expect(page.locator(PLOT)).to_have_count(6)
    assert watch.outbound == []
    assert watch.errors == []


def test_an_uploaded_table_is_explained(
    app: Served, context: BrowserContext, tmp_path: Path
) -> None:
    head, *rows = template().decode().splitlines()
    file = tmp_path / "mine.csv"
    body = [f"{i}-{row}" for i in range(10) for row in rows]
    file.write_text("\n".join([head, *body]), encoding="utf-8")
    watch = Watch()
    page = context.new_page()
    watch.follow(page, app.url)
    page.goto(f"{app.url}/concepts")
    model(page, "your own")
    expect(page.get_by_role("button", name="Explain", exact=True)).to_be_disabled()
    page.locator("input[type=file]").first.set_input_files(file)
    expect(
        page.get_by_text("120 samples, 3 concepts, 2 classes; 40 predicted wrongly.")
    ).to_be_visible()
    page.get_by_text("Columns", exact=True).click()
    expect(page.get_by_role("combobox", name="True class")).to_have_value("label")
    expect(page.get_by_role("combobox", name="Predicted class")).to_have_value("prediction")
    expect(page.get_by_role("combobox", name="Known group")).to_have_value("place")
    page.get_by_role("button", name="Explain", exact=True).click()
    panels(page)
    facts = page.get_by_test_id("stMetric").filter(has_text="Wrong predictions")
    expect(facts).to_contain_text("40")
    page.reload()
    panels(page)
    expect(page.get_by_text("The table that is shown below")).to_be_visible()
    assert watch.outbound == []
    assert watch.errors == []
