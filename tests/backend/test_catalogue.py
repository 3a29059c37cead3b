"""Families, added ones too; requests put in order; what stands behind a key."""

import importlib.metadata
import logging
import math
import shutil
import sys

import pytest

import backend
from backend import catalogue
from backend.catalogue import Catalogued, draws, find, normalised, source_digest, versions
from backend.engine.engine import Engine
from backend.errors import InputError
from backend.explanation import ModelRef, Request
from backend.settings import Settings
from tests.backend.engine.conftest import make_model
from tests.backend.engine.conftest import site as site
from tests.backend.engine.fakes import Noise

OWN = ("tokens", "graphs", "concepts", "images", "policies")


def request(explainer="noise", **changes):
    fields = {"family": "fakes", "explainer": explainer, "model": {"name": "tiny"}}
    return Request.model_validate(fields | {"input": "0" * 64} | changes)


def test_an_installed_package_adds_a_family(site):
    assert list(catalogue.catalogue()) == [*OWN, "fakes"]
    assert find(request()).title == "Noise"
    assert find(request("score")).role == "score"


@pytest.mark.parametrize("point", ["nothing.there:FAMILY", "tests.backend.engine.fakes:ABSENT"])
def test_a_broken_package_takes_nothing_down(site, caplog, point):
    other = site / "broken-1.0.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (other / "entry_points.txt").write_text(f"[vitrine.families]\nbroken = {point}\n")
    with caplog.at_level(logging.ERROR):
        assert set(catalogue.catalogue()) == {*OWN, "fakes"}
    assert "the family broken of an installed package" in caplog.text


def test_names_of_nothing(site):
    with pytest.raises(
        InputError, match=r"no family 'x'.*tokens, graphs, concepts, images, policies, fakes"
    ):
        find(request(family="x"))
    with pytest.raises(InputError, match=r"no explainer 'x'.*chatty"):
        find(request("x"))


def test_defaults_are_written_out(site):
    short = normalised(request())
    assert short.parameters == {"log": "", "steps": 3, "pause": 0.0, "tag": ""}
    assert short.target == {"index": 0}
    long = normalised(request(parameters={"pause": 0, "steps": 3.0}, target={"index": "0"}))
    assert long == short
    assert normalised(short) == short
    assert long.key(Catalogued("f")) == short.key(Catalogued("f"))


def test_seed_counts_only_where_it_is_used(site):
    assert normalised(request("faulty", seed=5)).seed == 0
    assert normalised(request("noise", seed=5)).seed == 5


def joint(*members, **changes):
    """A request that draws nothing itself, with members."""
    return request("faulty", members=[one.model_dump() for one in members], **changes)


def test_a_seed_counts_where_anything_behind_it_draws(site):
    still, drawn = request("faulty", seed=5), request("noise", seed=5)
    assert [draws(one) for one in (still, drawn)] == [False, True]
    assert [draws(joint(still)), draws(joint(still, drawn))] == [False, True]
    assert draws(joint(joint(drawn)))
    assert draws(request("faulty", subject=joint(drawn).model_dump()))
    found = normalised(joint(still, drawn, seed=5))
    assert [found.seed, *(one.seed for one in found.members)] == [5, 0, 5]
    assert normalised(joint(still, seed=5)) == normalised(joint(request("faulty")))
    assert normalised(request("faulty", subject=drawn.model_dump(), seed=5)).seed == 5


def test_members_are_put_in_order_too(site):
    short = normalised(joint(request(), request(parameters={"steps": "4"})))
    assert [one.parameters["steps"] for one in short.members] == [3, 4]
    assert short.members[0] == normalised(request())
    assert normalised(short) == short
    with pytest.raises(InputError, match="noise: steps"):
        normalised(joint(request(), request(parameters={"steps": "x"})))


def test_a_member_of_another_model_is_refused(site):
    with pytest.raises(InputError, match="of another model"):
        normalised(joint(request(), request(model={"name": "other"})))
    other = request(model={"name": "tiny", "reinitialised": {"depth": 1}})
    with pytest.raises(InputError, match="of another model"):
        normalised(joint(request(), joint(other)))


def test_subjects_are_put_in_order_too(site):
    given = request("score", subject=request(parameters={"steps": 3}).model_dump())
    assert normalised(given) == normalised(request("score", subject=request().model_dump()))
    bad = request("score", subject=request(parameters={"steps": "x"}).model_dump())
    with pytest.raises(InputError, match="steps"):
        normalised(bad)


def test_subject_of_another_model_is_refused(site):
    other = request(model={"name": "other"})
    with pytest.raises(InputError, match="of another model"):
        normalised(request("score", subject=other.model_dump()))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"parameters": {"steps": "many"}}, r"noise: steps: .*integer"),
        ({"parameters": {"stpes": 3}}, r"noise: stpes: "),
        ({"parameters": {"log": None}}, r"noise: log: "),
        ({"target": {"index": []}}, r"noise: index: "),
        ({"target": {"where": 1}}, r"noise: where: "),
        ({"parameters": {"pause": math.nan}}, r"noise: pause: a finite number"),
        ({"parameters": {"pause": math.inf}}, r"noise: pause: a finite number"),
    ],
)
def test_bad_parameter_is_named(site, change, message):
    with pytest.raises(InputError, match=message):
        normalised(request(**change))


def test_versions(site, monkeypatch):
    numpy = importlib.metadata.version("numpy")
    assert versions(Noise()) == {"vitrine": backend.__version__, "numpy": numpy}
    monkeypatch.setattr(Noise, "libraries", ("numpy", "not-installed-here"))
    with pytest.raises(InputError, match="pip install not-installed-here"):
        versions(Noise())


def test_source_digest_follows_the_source(site, tmp_path, monkeypatch):
    folder = tmp_path / "copy"
    folder.mkdir()
    for name in ("__init__.py", "fakes.py"):
        shutil.copy(f"tests/backend/engine/{name}", folder / name)
    module = sys.modules["tests.backend.engine.fakes"]

    def now():
        source_digest.cache_clear()
        return source_digest("fakes")

    elsewhere = now()
    monkeypatch.setattr(module, "__file__", str(folder / "fakes.py"))
    first = now()
    assert first != elsewhere
    assert now() == first
    with (folder / "fakes.py").open("a") as file:
        file.write("# edited\n")
    second = now()
    assert second != first
    (folder / "more.py").write_text("")
    assert len({first, second, now()}) == 3


def test_key_follows_fingerprint_source_and_versions(site, tmp_path, monkeypatch):
    make_model(tmp_path / "models" / "small")
    engine = Engine(Settings(store=tmp_path / "store", model_folders=(tmp_path / "models",)))
    asked = request(model=ModelRef(source="folder", name="small"))
    keys = [engine.key(asked)]
    assert engine.key(asked) == keys[0]
    (tmp_path / "models" / "small" / "model.safetensors").write_text("other")
    keys.append(engine.key(asked))
    monkeypatch.setattr(backend, "__version__", "9.9")
    keys.append(engine.key(asked))
    with monkeypatch.context() as patch:
        patch.setattr(catalogue, "source_digest", lambda _: "s" * 64)
        keys.append(engine.key(asked))
    assert len(set(keys)) == 4


def test_a_package_does_not_replace_a_family(site):
    """Vitrine's own families stay what they are."""
    info = site / "thief-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: thief\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[vitrine.families]\nthief = thief:FAMILY\n")
    (site / "thief.py").write_text(
        "import dataclasses\nfrom tests.backend.engine.fakes import FAMILY as fakes\n"
        "FAMILY = dataclasses.replace(fakes, id='tokens', title='Stolen')\n"
    )
    assert catalogue.catalogue()["tokens"].title == "Tokens"
