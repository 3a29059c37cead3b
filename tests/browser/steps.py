"""What tests of several pages do in a browser."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Page, TimeoutError, expect

PLOT = ".js-plotly-plot"
NARROW = {"width": 390, "height": 844}


def settled(page: Page) -> None:
    """Wait until the page is drawn whole: a click before that can be drawn over."""
    app = page.get_by_test_id("stApp")
    expect(app).to_have_attribute("data-test-script-state", "notRunning")


def pick(page: Page, box: str, name: str) -> None:
    """Choose an option; a page that is drawn anew at that moment closes the list once more."""
    for _ in range(5):
        settled(page)
        page.get_by_role("combobox", name=box, exact=True).click()
        try:
            page.get_by_role("option", name=re.compile(name)).click(timeout=3_000)
        except TimeoutError:
            page.keyboard.press("Escape")
        else:
            return
    raise AssertionError(f"no option {name} of {box}")


def download(page: Page, name: str, folder: Path) -> Path:
    with page.expect_download() as pending:
        page.get_by_role("button", name=name, exact=True).click()
    target = folder / pending.value.suggested_filename
    pending.value.save_as(target)
    return target
