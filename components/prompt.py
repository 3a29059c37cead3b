"""Bring a prompt: an example, typed, or read from a file; and say which answer to explain."""

from __future__ import annotations

from typing import Any, Literal

import streamlit as st

from backend.errors import InputError
from backend.settings import settings
from backend.tokens import inputs
from backend.tokens.examples import EXAMPLES, example
from backend.tokens.explanation import Prompt, Target

Source = Literal["Example", "Write", "Upload"]
_KEEP: dict[str, Any] = {"persist_state": "session"}


def prompt(prefix: str) -> Prompt | None:
    """The prompt as the widgets have it; None while there is none, with the reason shown."""
    source = st.segmented_control(
        "Prompt",
        ("Example", "Write", "Upload"),
        default="Example",
        required=True,
        key=f"{prefix}.source",
        **_KEEP,
    )
    if source == "Example":
        return _example(prefix)
    if source == "Upload":
        return _upload(prefix)
    return _written(prefix)


def seed_prompt(prefix: str, given: Prompt) -> None:
    """Set the widgets of `prompt` before they are drawn, as a permalink asks."""
    known = {entry.prompt.digest(): entry.id for entry in EXAMPLES}
    if given.digest() in known:
        st.session_state[f"{prefix}.source"] = "Example"
        st.session_state[f"{prefix}.example"] = known[given.digest()]
        return
    st.session_state[f"{prefix}.source"] = "Write"
    st.session_state[f"{prefix}.text"] = given.text
    st.session_state[f"{prefix}.system"] = next(
        (message.content for message in given.messages if message.role == "system"), ""
    )
    st.session_state[f"{prefix}.chat"] = given.chat


def target(prefix: str, suggested: Target) -> Target:
    """Which answer to explain: the model's own or a typed one."""
    own = "The model's own"
    kind = st.segmented_control(
        "Answer", (own, "Typed"), default=own, required=True, key=f"{prefix}.answer", **_KEEP
    )
    if kind == own:
        st.session_state.setdefault(f"{prefix}.length", suggested.max_new_tokens)
        length = st.number_input(
            "Longest answer (tokens)",
            min_value=1,
            max_value=settings().max_new_tokens,
            step=1,
            key=f"{prefix}.length",
            help="Greedy decoding; the answer ends earlier where the model ends it.",
            **_KEEP,
        )
        return Target(max_new_tokens=int(length))
    st.session_state.setdefault(f"{prefix}.typed", suggested.text or "")
    typed = st.text_input(
        "Typed answer",
        key=f"{prefix}.typed",
        help="Explain why the model would say this, whatever it says itself. It is used exactly as "
        "typed: most models expect a space in front of a word.",
        **_KEEP,
    )
    return Target(text=typed or None, max_new_tokens=suggested.max_new_tokens)


def seed_target(prefix: str, given: Target) -> None:
    """Set the widgets of `target` before they are drawn."""
    st.session_state[f"{prefix}.answer"] = "Typed" if given.text else "The model's own"
    st.session_state[f"{prefix}.length"] = min(given.max_new_tokens, settings().max_new_tokens)
    st.session_state[f"{prefix}.typed"] = given.text or ""


def suggested(prefix: str) -> Target:
    """The answer the chosen example comes with, or the model's own."""
    if st.session_state.get(f"{prefix}.source", "Example") == "Example":
        return example(st.session_state.get(f"{prefix}.example", EXAMPLES[0].id)).target
    return Target()


def _follow_example(prefix: str) -> None:
    seed_target(prefix, suggested(prefix))


def _example(prefix: str) -> Prompt:
    titles = {entry.id: entry.title for entry in EXAMPLES}
    picked = st.selectbox(
        "Example",
        list(titles),
        format_func=lambda name: titles[name],
        key=f"{prefix}.example",
        on_change=_follow_example,
        args=(prefix,),
        **_KEEP,
    )
    entry = example(picked)
    st.caption(entry.note)
    _show(entry.prompt)
    return entry.prompt


def _show(given: Prompt) -> None:
    """The prompt's messages as plain text, long ones in a scrolling box."""
    for message in given.messages:
        if len(given.messages) > 1:
            st.caption(message.role.capitalize())
        with st.container(height=170 if len(message.content) > 400 else "content", border=False):
            st.text(message.content)


def _written(prefix: str) -> Prompt | None:
    text = st.text_area(
        "Text",
        key=f"{prefix}.text",
        height=140,
        placeholder="Type or paste a prompt",
        **_KEEP,
    )
    chat = st.toggle(
        "Chat template",
        key=f"{prefix}.chat",
        help="Wrap the text in the model's own chat template, as an assistant would see it.",
        **_KEEP,
    )
    system = ""
    if chat:
        system = st.text_input("System message", key=f"{prefix}.system", **_KEEP)
    if not text:
        st.caption("Type a prompt to explain.")
        return None
    return _checked(Prompt.of(text, system=system, chat=chat))


def _upload(prefix: str) -> Prompt | None:
    file = st.file_uploader(
        "A file of prompts",
        type=["txt", "json", "jsonl", "csv"],
        key=f"{prefix}.file",
        max_upload_size=max(1, round(settings().max_upload_mb)),
        help=".txt is one prompt; .json, .jsonl and .csv may hold many.",
    )
    if file is None:
        return None
    data = file.getvalue()
    try:
        column = None
        if file.name.lower().endswith(".csv"):
            column = st.selectbox("Column", inputs.columns(file.name, data), key=f"{prefix}.column")
        prompts = inputs.read(file.name, data, settings(), column)
    except InputError as error:
        st.error(_sentence(error), icon=":material/error:")
        return None
    index = 0
    if len(prompts) > 1:
        index = (
            int(
                st.number_input(
                    f"Prompt (1 to {len(prompts)})", 1, len(prompts), key=f"{prefix}.row"
                )
            )
            - 1
        )
    chosen = prompts[index]
    if all(message.role == "user" for message in chosen.messages):
        chat = st.toggle("Chat template", value=chosen.chat, key=f"{prefix}.filechat")
        chosen = Prompt(messages=chosen.messages, chat=chat, gold=chosen.gold)
    _show(chosen)
    return chosen


def _checked(given: Prompt) -> Prompt | None:
    try:
        inputs.check(given, settings())
    except InputError as error:
        st.error(_sentence(error), icon=":material/error:")
        return None
    return given


def _sentence(error: InputError) -> str:
    return " ".join(part for part in (error.where, error.what, error.todo) if part)
