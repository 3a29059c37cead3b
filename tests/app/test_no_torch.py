"""The app's own process never imports torch, whatever page is drawn and whatever runs."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

SCRIPT = textwrap.dedent(
    """
    import sys
    import time
    from streamlit.testing.v1 import AppTest

    heavy = ("torch", "torch_geometric", "transformers", "captum", "shap", "sklearn")
    app = AppTest.from_file("app.py", default_timeout=120).run()
    assert not app.exception, app.exception
    for name in ("tokens", "graphs", "concepts", "images", "policies", "study", "library"):
        app.switch_page(f"pages/{name}.py").run()
        assert not app.exception, app.exception
    app.switch_page("pages/tokens.py").run()
    app.selectbox(key="t.model").select("tiny-llama (folder)").run()
    app.multiselect(key="t.explainers").set_value(["attention_mean"]).run()
    next(b for b in app.button if b.label == "Explain").click().run()
    end = time.monotonic() + 150
    while len(app.get("bidi_component")) < 2:
        assert time.monotonic() < end, [e.value for e in (*app.error, *app.warning)]
        time.sleep(0.5)
        app.run()
    app.switch_page("pages/concepts.py").run()
    app.selectbox(key="c.model").select("shapes").run()
    app.number_input(key="c.recipe.epochs").set_value(1).run()
    next(b for b in app.button if b.label == "Explain").click().run()
    end = time.monotonic() + 150
    while len(app.get("plotly_chart")) < 5:
        assert time.monotonic() < end, [e.value for e in (*app.error, *app.warning)]
        time.sleep(0.5)
        app.run()
    assert not app.exception, app.exception
    found = [name for name in heavy if name in sys.modules]
    from components.session import engine
    engine().close()
    assert not found, f"the app process imported {found}"
    print("clean")
    """
)


@pytest.mark.slow
def test_app_process_has_no_torch(tmp_path: Path, tiny_folder: Path) -> None:
    environment = {
        **os.environ,
        "VITRINE_STORE": str(tmp_path / "store"),
        "VITRINE_MODEL_FOLDERS": str(tiny_folder),
        "VITRINE_DEVICE": "cpu",
        "VITRINE_THREADS": "1",
        "VITRINE_WARM": "false",
    }
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.strip().endswith("clean")
