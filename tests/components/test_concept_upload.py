"""A table is brought, its columns changed, and what is wrong is said."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from components.concept_upload import template
from tests.backend.concepts.test_arguments import HEAD
from tests.backend.concepts.test_thumbnails import RED, packed, picture

GIVEN = template().decode()


def page() -> None:
    import streamlit as st

    from components.concept_upload import uploaded

    if st.toggle("Elsewhere", key="away"):
        st.stop()
    st.session_state["found"] = uploaded("c")


@pytest.fixture
def app() -> AppTest:
    return AppTest.from_function(page, default_timeout=20).run()


def brought(app: AppTest, data: bytes | str, name: str = "t.csv", key: str = "c.table") -> AppTest:
    data = data.encode() if isinstance(data, str) else data
    app.file_uploader(key=key).upload(name, data).run()
    assert not app.exception
    return app


def table(app: AppTest):
    return app.session_state["found"]


def test_nothing_yet(app) -> None:
    assert not app.exception
    assert table(app) is None
    assert app.get("download_button")


def test_the_template_is_read(app) -> None:
    found = table(brought(app, GIVEN))
    assert found.concept_names == ("red", "round", "stem")
    assert found.group_names == ("floor", "table")
    assert len(found.errors) == 4
    assert "12 samples, 3 concepts, 2 classes; 4 predicted wrongly." in app.caption[-1].value
    assert app.selectbox(key="c.map1.label").value == "label"
    app.selectbox(key="c.map1.group").set_value(None).run()
    assert table(app).group_names == ()


def test_columns_can_be_changed_and_stay_when_the_page_is_left(app) -> None:
    brought(app, GIVEN.replace("label", "kind"))
    assert table(app) is None
    assert "No column holds the true class" in app.error[0].value
    app.selectbox(key="c.map1.label").select("kind").run()
    first = table(app).digest()
    app.toggle(key="away").set_value(True).run()
    app.session_state["found"] = None
    app.toggle(key="away").set_value(False).run()
    assert table(app).digest() == first


def test_another_file_is_guessed_anew(app) -> None:
    brought(app, GIVEN)
    found = table(brought(app, GIVEN.replace("prob_", "logit_"), "u.csv"))
    assert found.origin["mapping"]["scale"] == "logit"
    assert "as probabilities are" in app.info[0].value


def test_faults_are_shown_as_plain_text(app) -> None:
    brought(app, GIVEN.replace("0.97,1,", "![x](http://x),1,", 1))
    assert table(app) is None
    assert r"\!\[x\]\(http" in app.error[0].value


def test_head_and_pictures(app) -> None:
    brought(app, GIVEN)
    brought(app, HEAD.replace("has stem", "stem"), "h.csv", "c.head")
    brought(app, packed({"0.png": picture(RED)}), "p.zip", "c.images")
    found = table(app)
    assert found.head() is not None
    assert found.arrays["images"].shape == (12, 64, 64, 3)
    said = app.info[0].value.replace("\\", "")
    assert "The label head on" in said
    assert "Pictures: 1 of 12" in said


def test_a_file_of_an_earlier_visit_is_there_until_removed(app) -> None:
    app.session_state["c.table.held"] = ("t.csv", template())
    app.run()
    assert len(table(app)) == 12
    assert any("Still here" in caption.value for caption in app.caption)
    app.button(key="c.table.remove").click().run()
    assert table(app) is None
    assert not app.exception
