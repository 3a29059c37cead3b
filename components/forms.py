"""A form drawn from an explainer's declared parameters."""

from __future__ import annotations

import types
from typing import Any, Literal, Union, get_args, get_origin

import annotated_types
import streamlit as st
from pydantic import BaseModel
from pydantic.fields import FieldInfo

Values = dict[str, Any]


def form(parameters: type[BaseModel], prefix: str) -> Values:
    """Draw one widget a parameter and return the chosen values.

    Args:
        parameters: the explainer's `Parameters`; type, default, bounds and help of each field
            become the widget's.
        prefix: makes the widgets' keys unique, e.g. "tokens.alti".
    """
    if not parameters.model_fields:
        st.caption("This explainer has no parameters.")
    return {
        name: _widget(name, field, f"{prefix}.{name}")
        for name, field in parameters.model_fields.items()
    }


def defaults(parameters: type[BaseModel]) -> Values:
    """Every parameter at its default."""
    return parameters().model_dump(mode="json")


def seed_form(parameters: type[BaseModel], prefix: str, values: Values) -> None:
    """Set the widgets of `form` before they are drawn, as a permalink asks."""
    for name, value in (defaults(parameters) | values).items():
        st.session_state[f"{prefix}.{name}"] = value


def _widget(name: str, field: FieldInfo, key: str) -> Any:
    label = (field.title or name.replace("_", " ")).capitalize()
    kind, optional = _kind(field.annotation)
    keep: dict[str, Any] = {"key": key, "help": field.description, "persist_state": "session"}
    st.session_state.setdefault(key, field.get_default(call_default_factory=True))
    if get_origin(kind) is Literal:
        return st.selectbox(
            label, get_args(kind), format_func=lambda v: str(v).replace("_", " "), **keep
        )
    if kind is bool:
        return st.toggle(label, **keep)
    if kind in (int, float):
        low, high = _bounds(field)
        step = kind(1) if kind is int else None
        return st.number_input(
            label,
            min_value=None if low is None else kind(low),
            max_value=None if high is None else kind(high),
            step=step,
            placeholder="automatic" if optional else None,
            **keep,
        )
    return st.text_input(label, **keep)


def _kind(annotation: Any) -> tuple[Any, bool]:
    """The type without `| None`, and whether None is allowed."""
    if get_origin(annotation) in (Union, types.UnionType):
        inner = [arg for arg in get_args(annotation) if arg is not type(None)]
        return _bare(inner[0]), True
    return _bare(annotation), False


def _bare(annotation: Any) -> Any:
    return get_args(annotation)[0] if hasattr(annotation, "__metadata__") else annotation


def _bounds(field: FieldInfo) -> tuple[float | None, float | None]:
    metadata = list(field.metadata)
    for part in get_args(field.annotation):
        metadata += getattr(part, "__metadata__", ())
    low = high = None
    for entry in _flat(metadata):
        low = getattr(entry, "ge", getattr(entry, "gt", low))
        high = getattr(entry, "le", getattr(entry, "lt", high))
    return low, high


def _flat(metadata: list[Any]) -> list[Any]:
    flat: list[Any] = []
    for entry in metadata:
        if isinstance(entry, FieldInfo):
            flat += _flat(list(entry.metadata))
        elif isinstance(entry, annotated_types.GroupedMetadata):
            flat += list(entry)
        else:
            flat.append(entry)
    return flat
