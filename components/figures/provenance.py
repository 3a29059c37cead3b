"""Write where a figure came from into the file itself, in the way each format has for it."""

from __future__ import annotations

import html
import io
import json
import re
from collections.abc import Mapping

Metadata = Mapping[str, str]

_START = re.compile(rb"startxref\s+(\d+)\s+%%EOF\s*$")
_ROOT = re.compile(rb"/Root\s+(\d+\s+\d+\s+R)")
_SIZE = re.compile(rb"/Size\s+(\d+)")
_KEY = re.compile(r"[^A-Za-z0-9_]")


def png(data: bytes, metadata: Metadata) -> bytes:
    """A PNG with one text chunk an entry."""
    from PIL import Image, PngImagePlugin

    chunks = PngImagePlugin.PngInfo()
    for key, value in metadata.items():
        chunks.add_text(key[:79], value)  # tEXt, or iTXt where the value is not Latin-1
    written = io.BytesIO()
    with Image.open(io.BytesIO(data)) as image:
        image.save(written, "PNG", pnginfo=chunks, dpi=image.info.get("dpi"))
    return written.getvalue()


def svg(data: bytes, metadata: Metadata) -> bytes:
    """An SVG whose first child is a <metadata> element that holds JSON.

    Raises:
        ValueError: the data is no SVG.
    """
    text = data.decode("utf-8")
    begin = text.find("<svg")
    end = text.find(">", begin)
    if begin < 0 or end < 0:
        raise ValueError("there is no <svg> element")
    block = f'<metadata id="vitrine">{html.escape(as_json(metadata))}</metadata>'
    return (text[: end + 1] + block + text[end + 1 :]).encode("utf-8")


def pdf(data: bytes, metadata: Metadata) -> bytes:
    """A PDF with a new information dictionary, as an incremental update (ISO 32000-1, 7.5.6).

    Raises:
        ValueError: the file has no classic cross-reference table.
    """
    start, root, size = _START.search(data), _ROOT.findall(data), _SIZE.findall(data)
    if start is None or not root or not size or data[int(start[1]) :][:4] != b"xref":
        raise ValueError("the PDF has no cross-reference table to extend")
    number = max(map(int, size))
    entries = {"Creator": "Vitrine", "Subject": as_json(metadata), **metadata}
    fields = b" ".join(
        b"/" + _KEY.sub("_", key).encode() + b" " + _pdf_text(value)
        for key, value in entries.items()
    )
    body = data if data.endswith(b"\n") else data + b"\n"
    place = len(body)
    body += b"%d 0 obj\n<< %s >>\nendobj\n" % (number, fields)
    table = len(body)
    body += b"xref\n%d 1\n%010d 00000 n \n" % (number, place)
    body += b"trailer\n<< /Size %d /Root %s /Info %d 0 R /Prev %s >>\n" % (
        number + 1,
        root[-1],
        number,
        start[1],
    )
    return body + b"startxref\n%d\n%%%%EOF\n" % table


def html_head(metadata: Metadata) -> str:
    """<meta> elements and one JSON block for the head of a page."""
    names = "".join(
        f'<meta name="vitrine:{html.escape(key)}" content="{html.escape(value)}">\n'
        for key, value in metadata.items()
    )
    # "</script>" inside a value must not end the block.
    block = as_json(metadata).replace("<", "\\u003c").replace("&", "\\u0026")
    return f'{names}<script type="application/json" id="vitrine-provenance">{block}</script>\n'


def as_json(metadata: Metadata) -> str:
    """The entries as one JSON object."""
    return json.dumps(dict(metadata), ensure_ascii=False, sort_keys=True)


def _pdf_text(value: str) -> bytes:
    return b"<" + ("\ufeff" + value).encode("utf-16-be", "surrogatepass").hex().encode() + b">"
