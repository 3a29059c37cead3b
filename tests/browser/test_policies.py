"""The Policies page in a browser: the player, the graph, the keyboard, a phone, both themes."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.conftest import Served, Watch, serve
from tests.browser.steps import NARROW, PLOT, download, settled

pytestmark = [pytest.mark.browser, pytest.mark.slow]

METHODS = ("CausalXRL", "Shapley values (shap)", "Decision tree (VIPER)", "Random")


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    store = tmp_path_factory.mktemp("policies") / "store"
    yield from serve(store, VITRINE_DEVICE="cpu", VITRINE_THREADS="1")


@pytest.fixture(scope="module")
def link(app: Served, chromium: Browser) -> str:
    """Address of a CartPole agent's choice explained by the four default explainers."""
    context = chromium.new_context(viewport={"width": 1440, "height": 1000})
    page = context.new_page()
    page.goto(f"{app.url}/policies")
    page.get_by_role("button", name="Explain", exact=True).click()
    panels(page)
    found = page.url
    context.close()
    return found


def panels(page: Page) -> None:
    """Wait for the actions of the shown step and the four panels."""
    expect(page).to_have_url(re.compile(r"\?c=[0-9a-f]{64}"))
    expect(page.locator(PLOT)).to_have_count(1 + len(METHODS))
    for name in METHODS:
        title = page.locator("strong", has_text=re.compile(f"^{re.escape(name)}$"))
        expect(title).to_have_count(1)
    expect(page.get_by_test_id("stImage").locator("img")).to_be_visible()


def picture(page: Page) -> str:
    return str(page.get_by_test_id("stImage").locator("img").get_attribute("src"))


def test_fresh_store_to_choice_and_the_same_after_a_reload(
    app: Served, link: str, context: BrowserContext
) -> None:
    watch = Watch()
    page = context.new_page()
    watch.follow(page, app.url)
    page.goto(link)
    panels(page)
    bars = page.locator(PLOT).nth(1).locator(".gtitle").text_content()
    page.reload()
    panels(page)
    assert page.locator(PLOT).nth(1).locator(".gtitle").text_content() == bars
    assert watch.outbound == []
    assert watch.errors == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone_the_player_and_the_graph_fit_and_go_by_the_keyboard(
    app: Served, link: str, chromium: Browser, scheme: str
) -> None:
    watch = Watch()
    context = chromium.new_context(viewport=NARROW, color_scheme=scheme)
    page = context.new_page()
    watch.follow(page, app.url)
    page.goto(link)
    panels(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
    settled(page)
    before = picture(page)
    said = page.get_by_text(re.compile(r"^Step \d+:")).text_content()
    shown = int(re.findall(r"\d+", str(said))[0])
    page.get_by_role("slider", name="Step").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_text(re.compile(rf"^Step {shown + 1}:"))).to_be_visible()
    expect(page.get_by_test_id("stImage").locator("img")).not_to_have_attribute("src", before)
    page.get_by_role("tab", name="In words").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    box = page.get_by_role("combobox", name="Edge", exact=True)
    expect(box).to_be_visible()
    settled(page)
    first = box.input_value()
    box.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(box).not_to_have_value(first)
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
    context.close()
    assert watch.outbound == []
    assert watch.errors == []


def test_the_episode_plays_and_stops_where_it_is(link: str, context: BrowserContext) -> None:
    page = context.new_page()
    page.goto(link)
    panels(page)
    settled(page)
    page.get_by_role("button", name="Play").click()
    caption = page.get_by_text(re.compile(r"^Step \d+ of \d+$"))
    expect(caption).to_be_visible()
    first = caption.text_content()
    expect(caption).not_to_have_text(str(first))
    page.get_by_role("button", name="Stop", exact=True).last.click()
    expect(caption).to_have_count(0)
    expect(page.get_by_role("button", name="Play")).to_be_visible()


def test_a_click_on_an_edge_shows_the_transitions_behind_it(
    link: str, context: BrowserContext
) -> None:
    page = context.new_page()
    page.goto(link)
    panels(page)
    page.get_by_role("tab", name="Causal graph").click()
    box = page.get_by_role("combobox", name="Edge", exact=True)
    expect(box).to_be_visible()
    graph = page.locator(PLOT).nth(1 + len(METHODS))
    expect(graph).to_be_visible()
    settled(page)
    before = box.input_value()
    # Rings on the edges come before the nodes of both sides.
    rings = graph.locator(".trace").filter(has=page.locator("path.point")).nth(0)
    rings.locator("path.point").nth(4).click(force=True)
    expect(box).not_to_have_value(before)
    expect(page.get_by_text(re.compile("in 100% of the bootstraps"))).to_be_visible()
    expect(page.get_by_test_id("stDataFrame")).to_be_visible()


def test_scores_and_files(link: str, context: BrowserContext, tmp_path: Path) -> None:
    page = context.new_page()
    page.goto(link)
    panels(page)
    page.get_by_role("tab", name="Faithfulness").click()
    expect(page.get_by_text("scores still to come")).to_have_count(0)
    expect(page.get_by_text("The next action, from the causes alone")).to_be_visible()
    page.get_by_role("tab", name="Export").click()
    rows = list(csv.DictReader(download(page, "CSV", tmp_path).open(encoding="utf-8")))
    assert rows[0]["variable"] == "cart position"
    assert sorted(int(row["rank"]) for row in rows) == [1, 2, 3, 4]
    bars = download(page, "PNG", tmp_path)
    assert bars.read_bytes().startswith(b"\x89PNG")
    settled(page)
    figures = page.get_by_test_id("stButtonGroup").filter(has_text="Difference of paths")
    figures.get_by_text("Causal graph", exact=True).click()
    page.wait_for_timeout(1_000)  # the page is drawn anew a moment after the click
    settled(page)
    graph = download(page, "PNG", tmp_path)
    assert graph.name.endswith("-causal-graph.png")
    assert graph.read_bytes() != bars.read_bytes()
    card = download(page, "Explanation card", tmp_path).read_text(encoding="utf-8")
    assert "--example cartpole" in card
