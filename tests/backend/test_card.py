"""Files to take away: nothing in them runs, all of it is there, and the command leads back."""

from __future__ import annotations

import csv
import io
import json
import shlex
from html.parser import HTMLParser

import numpy as np
import pytest
import safetensors.numpy

from backend import cli
from backend.catalogue import normalised
from backend.commands import work
from backend.explanation import Comparison, ModelRef, Provenance, Request
from backend.settings import Settings
from backend.tokens import FAMILY, arguments, examples, files, inputs, plan
from backend.tokens.explanation import Prompt, Target, TokenExplanation
from backend.tokens.sequence import Sequence

NASTY = "<script>alert('&\"')</script>"
TOKENS = ("=1+1", " " + NASTY, " -2", "\n", " good", " Paris")
SCORES = (0.5, -0.25, 0.125, 0.0, np.nan, np.nan)
PICTURE = b"<svg xmlns='http://www.w3.org/2000/svg'/>"


def request_for(prompt: Prompt, **changes: object) -> Request:
    asked = {
        "family": "tokens",
        "explainer": "contribution_weights",
        "model": ModelRef(name="small"),
        "input": prompt.digest(),
        "target": Target(ids=(7, 8)).model_dump(mode="json"),
    }
    return normalised(Request.model_validate(asked | changes))


def explanation(prompt: Prompt) -> TokenExplanation:
    ends = np.cumsum([len(token) for token in TOKENS]).tolist()
    sequence = Sequence(
        ids=tuple(range(6)),
        text="".join(TOKENS),
        offsets=tuple(zip([0, *ends[:-1]], ends, strict=True)),
        roles=("user",) * 4 + ("answer",) * 2,
        special=(False,) * 6,
        prompt_length=4,
        gold=(2,),
    )
    scores = np.array(SCORES, np.float32)
    provenance = Provenance(
        key="k" * 64,
        request=request_for(prompt),
        model_fingerprint="f" * 64,
        versions={"vitrine": "0", "torch": "2"},
        device="cpu",
        dtype="float32",
        seconds=1.5,
        peak_memory_bytes=10**6,
        forward_passes=1,
        backward_passes=0,
        batch_size=None,
        warnings=(f"warned of {NASTY}",),
        created="2026-01-01T00:00:00+00:00",
    )
    return TokenExplanation(
        arrays={"scores": scores, "readings/last": scores * 2},
        sequence=sequence,
        explained=(4, 5),
        unit="share",
        notes=(f"noted {NASTY}",),
        provenance=provenance,
    )


class _Page(HTMLParser):
    """The tags and attributes of a page, and what its elements hold."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.held: dict[str, str] = {}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        tag = self.tags[-1][0] if self.tags else ""
        self.held[tag] = self.held.get(tag, "") + data


def test_card_holds_everything_and_runs_nothing() -> None:
    prompt = Prompt.of(NASTY, system="</script>", chat=True)
    text = files.card(explanation(prompt), prompt, PICTURE).decode()
    page = _Page(text)
    scripts = [attributes for tag, attributes in page.tags if tag == "script"]
    assert scripts == [{"type": "application/json", "id": "prompt"}]
    [kept] = inputs.read("p.json", page.held["script"].encode(), Settings())
    assert kept.digest() == prompt.digest()
    for _, attributes in page.tags:
        assert not {"href", "onload", "onerror", "action"} & set(attributes)
        assert (attributes.get("src") or "data:").startswith("data:")
    assert "prefers-color-scheme: dark" in page.held["style"]
    assert "url(" not in page.held["style"]
    for said in (f"noted {NASTY}", f"warned of {NASTY}", "·" + NASTY, "⏎", "1.50", "k" * 64):
        assert said in "".join(page.held.values())
    policies = [a["content"] for tag, a in page.tags if tag == "meta" and "http-equiv" in a]
    assert policies == ["default-src 'none'; img-src data:; style-src 'unsafe-inline'"]


def test_numbers_are_whole_and_run_nothing_in_a_spreadsheet() -> None:
    rows = list(csv.DictReader(io.StringIO(files.numbers(explanation(Prompt.of("x"))).decode())))
    assert [row["token"] for row in rows] == ["'=1+1", " " + NASTY, "' -2", "\n", " good", " Paris"]
    assert [row["score"] for row in rows] == ["0.5", "-0.25", "0.125", "0.0", "", ""]
    shares = [float(row["share"]) for row in rows[:4]]
    assert shares == pytest.approx([4 / 7, 2 / 7, 1 / 7, 0])
    assert [row["planted"] for row in rows] == ["0", "0", "1", "0", "0", "0"]
    assert rows[1]["readings/last"] == "-0.5"


def test_values_and_arrays_read_back() -> None:
    found = explanation(Prompt.of("x"))
    values = json.loads(files.values(found))
    assert values["scores"] == [0.5, -0.25, 0.125, 0.0, None, None]
    assert values["arrays"] == {"scores": [6], "readings/last": [6]}
    assert values["sequence"]["text"] == "".join(TOKENS)
    arrays = safetensors.numpy.load(files.arrays(found))
    np.testing.assert_array_equal(arrays["scores"], found.arrays["scores"])


PROMPTS = (
    examples.example("capital").prompt,
    examples.example("needle").prompt,
    Prompt.of('it\'s $HOME; `rm` "x"\n--chat'),
    Prompt.of("--json"),
    Prompt.of("hello", chat=True),
    Prompt.of("hello", system="be short", chat=True),
    Prompt(messages=Prompt.of("the key is k").messages, gold=((4, 7),)),
)


@pytest.mark.parametrize("prompt", PROMPTS, ids=range(len(PROMPTS)))
def test_command_gives_the_same_request(prompt: Prompt, tmp_path, monkeypatch) -> None:
    """What a shell makes of the command leads to a request equal in every field."""
    asked = request_for(
        prompt,
        target=Target(ids=(7, 8), span=(1,)).model_dump(mode="json"),
        parameters={"sign": "positive", "layer_to": 2, "exclude_first": True},
        model=ModelRef(source="hub", name="org/name", revision="main", precision="bfloat16"),
    )
    monkeypatch.chdir(tmp_path)
    (tmp_path / files.PROMPT_FILE).write_text(files.prompt_json(prompt), encoding="utf-8")
    words = shlex.split(files.command(asked, prompt))
    assert words[:3] == ["python", "-m", "backend"]
    given = cli.parser().parse_args(words[3:])
    comparison = Comparison(
        family="tokens",
        model=work.model(given.model, given.precision, FAMILY),
        input=arguments.prompt(given, Settings()).digest(),
        target=arguments.target(given).model_dump(mode="json"),
        choices=work.choices(given.explainer, given.set, FAMILY),
        seed=given.seed,
    )
    settled = explanation(prompt)
    settled.values["ids"] = [7, 8]
    assert normalised(plan.requests(comparison, settled)[0]) == asked
