"""Reading prompts: every format, every kind of fault, and anything at all."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backend.errors import InputError
from backend.settings import Settings
from backend.tokens import inputs
from backend.tokens.explanation import Prompt

OPTIONS = Settings(max_prompts=5, max_upload_mb=0.1)


def texts(name: str, data: bytes, column: str | None = None) -> list[str]:
    return [prompt.text for prompt in inputs.read(name, data, OPTIONS, column)]


def test_text_is_one_prompt_and_keeps_its_spaces() -> None:
    assert texts("a.TXT", b" two\n\nlines \n") == [" two\n\nlines "]


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings(codec: str) -> None:
    assert texts("a.txt", "naïve مرحبا 👩‍👩‍👧".encode(codec)) == ["naïve مرحبا 👩‍👩‍👧"]


def test_json_forms() -> None:
    messages = [{"role": "system", "content": "s"}, {"role": "user", "content": "the key is k"}]
    entries = ["a", {"prompt": "b", "chat": True}, {"messages": messages, "gold": ["key", [0, 3]]}]
    found = inputs.read("a.json", json.dumps(entries).encode(), OPTIONS)
    assert [p.text for p in found] == ["a", "b", "the key is k"]
    assert [p.chat for p in found] == [False, True, True]
    assert found[2].gold == ((4, 7), (0, 3))
    assert texts("a.jsonl", b'"x"\n\n{"prompt": "y"}\n') == ["x", "y"]


def test_table_with_quotes_newlines_and_another_delimiter() -> None:
    data = b'id;prompt\n1;"a; ""b""\nc"\n2;d\n'
    assert texts("a.csv", data) == ['a; "b"\nc', "d"]
    assert inputs.columns("a.csv", data) == ("prompt", "id")
    assert texts("a.csv", data, "id") == ["1", "2"]


@pytest.mark.parametrize(
    "data",
    [b'"a, b, c";prompt\n1;x\n', b'"two\nlines, here";prompt\n1;x\n', b"prompt\r\nx\r\n"],
)
def test_delimiter_is_looked_for_outside_quotes(data: bytes) -> None:
    assert texts("a.csv", data) == ["x"]


def test_mixed_case_ending_and_windows_line_ends() -> None:
    assert texts("a.JSONL", b'"x"\r\n"y"\r\n') == ["x", "y"]


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("a.txt", b"", "empty"),
        ("a.txt", b" \n ", "empty"),
        ("a.txt", b"\xff\xfa\x00", "not UTF-8"),
        ("a.txt", b"a\x00b", "not a text file"),
        ("a.pkl", b"\x80\x04}\x94.", "pickle, not text: nothing in it was run"),
        ("a.json", b"PK\x03\x04....", "zip"),
        ("a.docx", b"words", "'.docx' are not read"),
        ("a.json", b'{"prompt": }', "line 1, column 12"),
        ("a.json", b"[" * 50_000, "nested too deeply"),
        ("a.json", b"9" * 5000, "too long"),
        ("a.json", b"[1]", "entry 1"),
        ("a.json", b'[{"prompt": 3}]', "prompt: Input should be a valid string"),
        ("a.json", b'[{"prompt": "a", "messages": []}]', "either"),
        ("a.json", b'[{"prompt": " "}]', "prompt is empty"),
        ("a.json", b'[{"prompt": "a", "gold": ["z"]}]', "'z' is not in"),
        ("a.json", b'[{"prompt": "a", "gold": [[0, 9]]}]', "[0, 9] is not"),
        ("a.json", b'["\\ud800"]', "surrogate"),
        ("a.json", b'{"messages": [{"role": "tool", "content": "x"}]}', "role"),
        ("a.json", b'{"messages": [{"role": "system", "content": "x"}]}', "no user message"),
        ("a.jsonl", b'"ok"\n{broken\n', "line 2"),
        ("a.csv", b"a,b\n1,2\n", "Which column"),
        ("a.csv", b'prompt,b\n"open,2\n', "quotes"),
        ("a.csv", b"id,prompt\n1\n", "row 2"),
        ("a.json", json.dumps(["x"] * 6).encode(), "more than 5"),
        ("a.txt", b"x" * 200_001, "more than 0.1 MB"),
        ("a.txt", b"\xff\xfe\x00\xd8", "not UTF-16 (byte 2)"),
    ],
)
def test_faults_say_what_and_what_to_do(name: str, data: bytes, said: str) -> None:
    with pytest.raises(InputError) as caught:
        inputs.read(name, data, OPTIONS)
    assert said in str(caught.value)
    assert caught.value.todo
    assert caught.value.where.startswith(name)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", json.dumps({"prompt": "a", "gold": ["\ud800"]})),
        ("a.json", json.dumps({"prompt": "a", "gold": ["z" * 90_000]})),
        ("a.json", json.dumps({"prompt": "a", "gold": [[7] * 30_000]})),
        ("a.csv", ",".join(f"column {i}" for i in range(8_000)) + "\n1\n"),
        ("a.csv", "x" * 90_000 + ",b\n1,2\n"),
        ("a.csv", "a\x1b[31m,b\n1,2\n"),
        ("a" * 500 + "\x1b.csv", "a,b\n1,2\n"),
        ("a." + "b" * 90_000, "x"),
    ],
    ids=range(8),
)
def test_message_stays_short_and_printable(name: str, content: str) -> None:
    """What is told of a file's content can be written in any encoding and to any terminal."""
    with pytest.raises(InputError) as caught:
        inputs.read(name, content.encode(), OPTIONS)
    said = f"{caught.value.what} {caught.value.todo}"
    assert said.isprintable()
    assert len(said) < 600


def test_cell_longer_than_a_table_may_hold_says_so() -> None:
    data = b"prompt\n" + b"x" * 140_000 + b"\n"
    with pytest.raises(InputError, match=r"line 2: A cell has more than 131,072 characters"):
        inputs.read("a.csv", data, Settings())


def test_missing_column_lists_the_columns() -> None:
    with pytest.raises(InputError, match=r"Choose one of: a, b"):
        inputs.read("t.csv", b"a,b\n1,2\n", OPTIONS, "c")


@pytest.mark.parametrize("text", ["", "  \n"])
def test_typed_prompt_is_checked_too(text: str) -> None:
    with pytest.raises(InputError, match="empty"):
        inputs.check(Prompt.of(text), OPTIONS)
    inputs.check(Prompt.of("!?"), OPTIONS)


SEEDS = (b'[{"prompt": "a", "gold": ["a"]}]', b"id,prompt\n1,x\n", '"é"\n'.encode(), b"plain")


@settings(max_examples=300, deadline=None)
@given(
    ending=st.sampled_from([*inputs.ENDINGS, ".bin", ""]),
    data=st.one_of(
        st.binary(max_size=200),
        st.builds(
            lambda seed, at, piece: seed[:at] + piece + seed[at:],
            st.sampled_from(SEEDS),
            st.integers(0, 40),
            st.binary(max_size=8),
        ),
    ),
)
def test_anything_gives_prompts_or_a_message(ending: str, data: bytes) -> None:
    try:
        found = inputs.read(f"f{ending}", data, OPTIONS)
    except InputError:
        return
    assert all(isinstance(prompt, Prompt) and prompt.text.strip() for prompt in found)


def test_answers_of_a_file() -> None:
    entries = ["a", {"prompt": "b", "answer": " yes"}, {"prompt": "c", "answer": None}]
    found = inputs.brought("a.json", json.dumps(entries).encode(), OPTIONS)
    assert [one.answer for one in found] == [None, " yes", None]
    table = inputs.brought("a.csv", b"Answer,prompt\n yes,a\n,b\n", OPTIONS)
    assert [(one.prompt.text, one.answer) for one in table] == [("a", " yes"), ("b", None)]
    [asked] = inputs.brought("a.csv", b"answer\nx\n", OPTIONS)
    assert (asked.prompt.text, asked.answer) == ("x", None)


@pytest.mark.parametrize(
    ("answer", "said"),
    [("", "answer: It is empty"), ("x" * 20_001, "at most 20000"), (7, "answer: Input should be")],
)
def test_answer_that_cannot_be_explained_is_refused(answer: object, said: str) -> None:
    data = json.dumps([{"prompt": "b", "answer": answer}]).encode()
    with pytest.raises(InputError, match=said):
        inputs.brought("a.json", data, OPTIONS)
