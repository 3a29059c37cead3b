"""Files are whole, carry their provenance and never come blank, with and without a browser."""

import base64
import io
import json
import os
import re
import zlib
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import plotly.graph_objects as go
import pytest
from PIL import Image, PdfParser

from backend.tokens.metrics import METRICS
from components.figures import attention, browser, provenance, render, scores, tokens
from tests.components.conftest import ENGLISH, explain, heads_of

METADATA = {"Key": "0f" * 32, "Title": "Ünïcode 漢 <b>", "Request": '{"a":"</script>&"}'}
WAYS = ["matplotlib", pytest.param("browser", marks=pytest.mark.browser)]


@pytest.fixture(autouse=True)
def _browser_wanted(request):
    wanted = request.node.get_closest_marker("browser")
    if wanted and browser.find() is None and not os.environ.get("VITRINE_REQUIRE_BROWSER"):
        pytest.skip("no Chromium or Chrome here")


@pytest.fixture(params=["strip", "pair", "scoreboard", "curves"])
def drawn(request):
    """One figure of each make: boxes in pixels, heatmaps, a table, lines."""
    found = explain(ENGLISH, **heads_of(7))
    if request.param == "strip":
        return tokens.strip(found, title="A <b>title</b>")
    if request.param == "pair":
        return attention.pair(found, layer=0)
    if request.param == "scoreboard":
        rows = [scores.ScoreRow("A", {"gap": 0.4}), scores.ScoreRow("random", {"gap": 0.0})]
        return scores.scoreboard(rows, METRICS, "dark")
    curve = {f"curve/neutral/{o}": np.linspace(1, 0, 9) for o in ("morf", "lerf")}
    return scores.curves({"A": explain(ENGLISH, **curve)}, "neutral")


def pdf_drawing(data):
    """The decompressed content of a PDF."""
    parts = []
    for found in re.finditer(rb"stream\r?\n(.*?)endstream", data, re.S):
        try:
            parts.append(zlib.decompress(found[1]))
        except zlib.error:
            continue
    return b"\n".join(parts)


@pytest.mark.parametrize("via", WAYS)
def test_png(drawn, via):
    data = render.render(drawn, "png", metadata=METADATA, width=800, scale=1.5, via=via)
    image = Image.open(io.BytesIO(data))
    width = drawn.layout.width or 800
    assert image.size == pytest.approx((width * 1.5, drawn.layout.height * 1.5), abs=1)
    assert {key: image.text[key] for key in METADATA} == METADATA
    pixels = np.asarray(image.convert("RGB")).reshape(-1, 3)
    colours, counts = np.unique(pixels, axis=0, return_counts=True)
    assert len(colours) > 20
    assert counts.max() / len(pixels) < 0.995


@pytest.mark.parametrize("via", WAYS)
def test_svg(drawn, via):
    data = render.render(drawn, "svg", metadata=METADATA, width=800, via=via)
    root = ElementTree.fromstring(data)  # noqa: S314
    assert root.tag.endswith("}svg")
    block = next(e for e in root.iter() if e.tag.endswith("metadata") and e.get("id") == "vitrine")
    assert json.loads(block.text) == METADATA
    assert sum(e.tag.split("}")[1] in ("path", "text", "use", "image") for e in root.iter()) > 10
    assert not re.search(rb'(?:href|src)\s*=\s*"https?:|@import|url\(https?:', data)


@pytest.mark.parametrize("via", WAYS)
def test_pdf(drawn, via):
    data = render.render(drawn, "pdf", metadata=METADATA, width=800, via=via)
    parsed = PdfParser.PdfParser(buf=data)
    assert len(parsed.pages) == 1
    assert PdfParser.decode_text(parsed.info.Title) == METADATA["Title"]
    assert PdfParser.decode_text(parsed.info.Key) == METADATA["Key"]
    assert json.loads(PdfParser.decode_text(parsed.info.Subject)) == METADATA
    assert len(re.findall(rb"\s(?:l|c|re|Tj|TJ|Do)\s", pdf_drawing(data))) > 20


class Links(HTMLParser):
    """Every address a page would load or lead to, and its data blocks."""

    def __init__(self):
        super().__init__()
        self.found, self.meta, self.json, self._inside = [], {}, "", False

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.found += [v for k, v in attrs if k in ("src", "href", "action") and v]
        if tag == "meta" and given.get("name", "").startswith("vitrine:"):
            self.meta[given["name"].removeprefix("vitrine:")] = given["content"]
        self._inside = given.get("id") == "vitrine-provenance"

    def handle_data(self, data):
        if self._inside:
            self.json += data

    def handle_endtag(self, tag):
        self._inside = False


def test_html_needs_nothing_but_itself(drawn):
    page = render.render(drawn, "html", metadata=METADATA).decode()
    links = Links()
    links.feed(page)
    assert links.found == ["data:,"]
    assert links.meta == METADATA
    assert json.loads(links.json) == METADATA
    assert "<title>Ünïcode 漢 &lt;b&gt;</title>" in page
    assert "plotly.js v" in page


def test_json_is_a_figure_with_provenance(drawn):
    data = render.render(drawn, "json", metadata=METADATA)
    content = json.loads(data)
    assert content["layout"]["meta"]["provenance"] == METADATA
    again = go.Figure(content)
    assert len(again.data) == len(drawn.data)
    assert again.layout.height == drawn.layout.height


def test_numbers_of_the_json_are_those_of_the_figure(matrices):
    drawn = attention.heatmap(matrices, "attention", layer=1, head=0)
    z = json.loads(render.render(drawn, "json"))["data"][0]["z"]
    again = np.frombuffer(base64.b64decode(z["bdata"]), dtype=z["dtype"]).reshape(12, 12)
    np.testing.assert_array_equal(again, drawn.data[0].z)


def test_plain_drawing_has_the_colours_of_the_figure(capital):
    """The strongest boxes of the strip are where the figure puts them, in their colour."""
    drawn = tokens.strip(capital)
    data = render.render(drawn, "png", via="matplotlib", scale=1.0)
    pixels = np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(int)
    for fill in ("#1c5f9e", "#b4560a"):
        shape = next(s for s in drawn.layout.shapes if s.fillcolor == fill)
        box = np.array(re.findall(r"[\d.]+,[\d.]+", shape.path.split("Z")[0]))
        x, y = zip(*(map(float, point.split(",")) for point in box), strict=True)
        inside = pixels[round(min(y)) + 3, round((min(x) + max(x)) / 2)]
        assert np.abs(inside - [int(fill[i : i + 2], 16) for i in (1, 3, 5)]).max() <= 3


def test_plain_drawing_is_not_scaled_in_svg(capital):
    drawn = tokens.strip(capital)
    data = render.render(drawn, "svg", via="matplotlib", scale=3.0)
    root = ElementTree.fromstring(data)  # noqa: S314
    assert float(root.get("width").removesuffix("pt")) == pytest.approx(960 * 0.72)


def test_what_matplotlib_cannot_draw_is_an_error_not_a_blank_file():
    with pytest.raises(ValueError, match="cannot draw a trace of type 'pie'"):
        render.render(go.Figure(go.Pie(values=[1, 2])), "png", via="matplotlib")


@pytest.mark.parametrize(("format", "width"), [("gif", 800), ("png", -5), ("png", 100_000)])
def test_bad_requests(format, width):
    with pytest.raises(ValueError, match=r"expected one of|cannot draw a figure"):
        render.render(go.Figure(), format, width=width)


def test_a_pdf_without_a_table_is_refused():
    with pytest.raises(ValueError, match="no cross-reference table"):
        provenance.pdf(b"%PDF-1.7\nstartxref\n5\n%%EOF\n", METADATA)
    with pytest.raises(ValueError, match="no <svg>"):
        provenance.svg(b"<html></html>", METADATA)
