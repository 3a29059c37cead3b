"""Tables that are brought to the Concepts page."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from components.concept_upload import template
from components.session import engine
from tests.app.conftest import settle
from tests.app.test_concepts import Open, opened, plots
from tests.app.test_pages import press, words

pytestmark = pytest.mark.slow


def upload(page: Open, text: bytes) -> AppTest:
    app = page("concepts")
    app.selectbox(key="c.model").select("table").run()
    assert "Bring a table, or fill in the template" in words(app)
    assert next(b for b in app.button if b.label == "Explain").disabled
    app.file_uploader(key="c.table").upload("mine.csv", text).run()
    assert not app.exception
    return app


def test_a_table_with_too_few_errors_gets_a_sentence(page: Open) -> None:
    app = upload(page, template())
    assert "12 samples, 3 concepts, 2 classes; 4 predicted wrongly." in words(app)
    app.multiselect(key="c.slicing.explainers").set_value(["cb_slice"]).run()
    press(app, "Explain$")
    settle(app, lambda a: bool(a.error))
    assert not app.exception
    assert plots(app) == 0
    assert "4 " in app.error[0].value
    assert "20" in app.error[0].value


def test_a_table_that_is_no_longer_stored_gets_a_message(page: Open, fresh: Path) -> None:
    app = press(upload(page, template()), "Explain$")
    shown = opened(app)
    assert engine().get_input("concepts", shown.input) is not None
    for entry in engine().store.entries("input", "concepts"):
        engine().store.delete(entry.key, "input")
    link = page("")
    link.query_params["c"] = app.query_params["c"]
    link.switch_page("pages/concepts.py").run()
    assert not link.exception
    assert "The table is no longer stored. Bring it again." in words(link)
    assert link.selectbox(key="c.model").value == "table"


def test_script_in_a_table_stays_text(page: Open) -> None:
    head, *rows = template().splitlines()
    many = b"\n".join([head, *(b"%d-%b" % (i, row) for i in range(6) for row in rows)])
    bad = many.replace(b"table", b"<script>alert(1)</script>")
    app = upload(page, bad.replace(b"_red", b"_![x](http://example.invalid/a.png)"))
    assert not app.error
    assert "72 samples, 3 concepts" in words(app)
    app.multiselect(key="c.slicing.explainers").set_value(["random"]).run()
    press(app, "Explain$")
    settle(app, lambda a: plots(a) == 2)
    drawn = [*app.markdown, *app.caption, *app.info]
    assert not any("![x](" in str(element.value) for element in drawn)
    assert not any("<script>" in str(m.value) for m in app.markdown if m.allow_html)
