"""The Tokens page in a real browser, from a fresh store to the exported files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.conftest import Served, Watch, serve
from tests.browser.steps import download, settled

pytestmark = [pytest.mark.browser, pytest.mark.model, pytest.mark.slow]


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    yield from serve(tmp_path_factory.mktemp("browser") / "store")


def panels(page: Page) -> None:
    """Wait until the four default explainers have drawn their strips (and the answer its own)."""
    expect(page.locator(".strip")).to_have_count(5)


def test_fresh_store_to_export(
    app: Served, chromium: Browser, context: BrowserContext, tmp_path: Path
) -> None:
    watch = Watch()
    page = context.new_page()
    watch.follow(page, app.url)
    page.goto(f"{app.url}/tokens")
    page.get_by_role("button", name="Explain", exact=True).click()
    expect(page.get_by_role("button", name=re.compile("^Cancel"))).to_be_visible(timeout=60_000)
    expect(page).to_have_url(re.compile(r"\?c=[0-9a-f]{64}"))
    link = page.url
    assert "France" not in link

    page.reload()  # in the middle of the job
    panels(page)
    expect(page.locator(".strip").first).to_contain_text("The capital of France is")

    page.get_by_role("tab", name="Export").click()
    png = download(page, "PNG", tmp_path)
    assert png.read_bytes().startswith(b"\x89PNG")
    assert png.stat().st_size > 5_000
    card = download(page, "Explanation card", tmp_path).read_text(encoding="utf-8")
    assert "python -m backend explain tokens" in card
    assert not re.search(r'(?:src|href)\s*=\s*["\']https?://(?!arxiv)', card.split("<body", 1)[0])

    other = chromium.new_context(viewport={"width": 390, "height": 844})
    second = other.new_page()
    watch.follow(second, app.url)
    second.goto(link)
    expect(second.locator(".strip")).to_have_count(5)
    other.close()
    assert watch.outbound == []
    assert watch.errors == []


def test_choosing_an_answer_token_changes_the_span(app: Served, context: BrowserContext) -> None:
    page = context.new_page()
    page.goto(f"{app.url}/tokens")
    page.get_by_role("spinbutton", name="Longest answer").fill("2")
    page.get_by_role("spinbutton", name="Longest answer").press("Enter")
    page.get_by_role("button", name="Explain", exact=True).click()
    panels(page)
    before = page.url
    page.locator(".strip").first.get_by_role("button").last.click()
    page.get_by_role("button", name=re.compile("^Explain the")).click()
    expect(page).not_to_have_url(before)
    panels(page)


def opened(page: Page, app: Served) -> None:
    """Open the page and wait until it is whole."""
    page.goto(f"{app.url}/tokens")
    expect(page.get_by_role("button", name="Explain", exact=True)).to_be_visible()
    settled(page)


def test_script_in_a_prompt_stays_text(app: Served, context: BrowserContext) -> None:
    watch = Watch()
    page = context.new_page()
    watch.follow(page, app.url)
    opened(page, app)
    page.get_by_text("Write", exact=True).click()
    text = "<script>alert(1)</script> ![x](http://example.invalid/a.png) مرحبا 👩‍👩‍👧 the the"
    page.get_by_label("Text").fill(text)
    page.get_by_label("Text").press("Control+Enter")
    page.get_by_role("button", name="Explain", exact=True).click()
    panels(page)
    shown = page.locator(".strip").nth(1).inner_text()
    assert "<script>alert(1)</script>" in shown
    assert "👩‍👩‍👧" in shown
    assert watch.outbound == []
    assert watch.errors == []


def test_an_uploaded_file_is_stepped_through(
    app: Served, context: BrowserContext, tmp_path: Path
) -> None:
    file = tmp_path / "prompts.jsonl"
    file.write_text('"The capital of Italy is"\n{"prompt": "2 + 2 ="}\n', encoding="utf-8")
    page = context.new_page()
    opened(page, app)
    page.get_by_text("Upload", exact=True).click()
    page.locator("input[type=file]").set_input_files(file)
    stepper = page.get_by_role("spinbutton", name="Prompt (1 to 2)")
    stepper.fill("2")
    stepper.press("Enter")
    expect(page.get_by_text("2 + 2 =", exact=True)).to_be_visible()
    page.get_by_role("button", name="Explain", exact=True).click()
    panels(page)
    expect(page.locator(".strip").first).to_contain_text("2 + 2 =")


def test_running_jobs_are_cancelled_and_can_be_tried_again(
    app: Served, context: BrowserContext
) -> None:
    page = context.new_page()
    opened(page, app)
    page.get_by_text("Write", exact=True).click()
    page.get_by_label("Text").fill("The sky over the lake is blue and the wind is cold. " * 20)
    page.get_by_label("Text").press("Control+Enter")
    page.get_by_role("button", name="Explain", exact=True).click()
    page.get_by_role("button", name=re.compile("^Cancel . running")).first.click()
    stopped = page.get_by_text("Cancelled. Nothing was stored.")
    expect(stopped.first).to_be_visible(timeout=60_000)
    page.get_by_role("button", name="Try again").first.click()
    again = page.get_by_role("button", name=re.compile("^Cancel")).first
    expect(again).to_be_visible(timeout=60_000)
    again.click()


def test_library_opens_a_result_in_its_page(app: Served, context: BrowserContext) -> None:
    page = context.new_page()
    page.goto(f"{app.url}/tokens")
    page.get_by_role("button", name="Explain", exact=True).click()
    panels(page)
    page.get_by_role("link", name="Home").click()
    expect(page.get_by_role("heading", name="Latest results")).to_be_visible(timeout=60_000)
    expect(page.locator(".strip")).to_have_count(0)
    page.get_by_role("button", name=re.compile("Leave one out")).first.click()
    expect(page).to_have_url(re.compile(r"/tokens\?c=[0-9a-f]{64}"))
    expect(page.locator(".strip")).to_have_count(2)
