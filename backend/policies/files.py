"""The files an explanation of a policy is taken away as; page and command line write the same."""

from __future__ import annotations

import io
import shlex

import numpy as np
from pydantic import JsonValue

from backend import card as cards
from backend import files
from backend.explanation import Request
from backend.files import arrays, values
from backend.policies.explained import value_words
from backend.policies.explanation import (
    Collecting,
    Experience,
    PolicyExplanation,
    PolicyTarget,
    Training,
)

__all__ = ["arrays", "beside", "card", "command", "experience_npz", "numbers", "values"]

TABLE_FILE, AGENT_FILE = "trajectories.npz", "agent.safetensors"
TERM_COLUMNS = ("action", "instead", "difference", "low", "high")
_ALT = {
    "variables": "How much each state variable speaks for the action, as bars",
    "terms": "How much more of each term of the reward the action brings, as bars",
}
_ATTACHED = "# {} goes along, a file of its own beside this card.\n"


def numbers(explanation: PolicyExplanation) -> bytes:
    """CSV: a row a state variable, with its value at the moment and its score; or one a term of
    the reward.

    Raises:
        ValueError: it is of another kind.
    """
    told = explanation.values
    if told.get("kind") == "terms":
        return files.table(("term", *TERM_COLUMNS), _terms(explanation))
    if told.get("kind") != "variables":
        raise ValueError(f"no numbers are written of an explanation of kind {told.get('kind')!r}")
    scores = explanation.arrays["scores"].astype(np.float64)
    order = np.argsort(np.argsort(-np.where(np.isnan(scores), -np.inf, scores), kind="stable"))
    each = zip(told["variable_names"], told["units"], told["state"], scores, order, strict=True)
    rows = [
        [files.cell(name), files.cell(unit), files.number(state), files.number(score), int(at) + 1]
        for name, unit, state, score, at in each
    ]
    return files.table(("variable", "unit", "state", "score", "rank"), rows)


def card(explanation: PolicyExplanation, experience: Experience, picture: bytes) -> bytes:
    """The explanation card as HTML; `picture` is the figure as SVG."""
    line = command(explanation.source().request, experience)
    along = [name for name in (TABLE_FILE, AGENT_FILE) if name in line]
    text = cards.card(
        explanation,
        picture=picture,
        alt=_ALT[explanation.values["kind"]],
        tables=_tables(explanation),
        command="".join(_ATTACHED.format(name) for name in along) + line,
        prompt=_about(experience),
    )
    return text.encode("utf-8")


def command(request: Request, experience: Experience, out: str = "out") -> str:
    """The command line that makes this request again, quoted for a shell."""
    target = PolicyTarget.model_validate(request.target)
    words = ["python", "-m", "backend", "explain", "policies", *files.explainer_words(request)]
    words += experience_words(experience)
    for name in ("episode", "step", "action", "instead"):
        if (value := getattr(target, name)) is not None:
            words += [f"--{name}", str(value)]
    if target.state is not None:
        words.append("--state=" + ",".join(repr(value) for value in target.state))
    words += files.parameter_words(request)
    return shlex.join([*words, "--seed", str(request.seed), "--out", out])


def experience_words(experience: Experience) -> list[str]:
    """The words of a command line that make an experience again."""
    origin = experience.origin
    if "collecting" not in origin:
        return ["--input", TABLE_FILE]
    asked = Collecting.model_validate(origin["collecting"])
    words = ["--example", experience.environment, "--actions", asked.mode]
    words += ["--transitions", str(asked.transitions), "--collect-seed", str(asked.seed)]
    agent = origin.get("agent")
    if isinstance(agent, dict) and "file" in agent:
        words += ["--agent", AGENT_FILE]
    elif isinstance(agent, dict) and isinstance(agent.get("training"), dict):
        training = Training.model_validate(agent["training"])
        words += ["--train-share", repr(training.share), "--train-seed", str(training.seed)]
    return words


def beside(experience: Experience) -> dict[str, bytes]:
    """The file that the command needs, by name."""
    words = experience_words(experience)
    if TABLE_FILE in words:
        return {TABLE_FILE: experience_npz(experience)}
    return {AGENT_FILE: agent_file(experience)} if AGENT_FILE in words else {}


def experience_npz(experience: Experience) -> bytes:
    """The transitions as an .npz that the reader of uploads takes back."""
    arrays = experience.arrays
    found = {
        "states": arrays["states"],
        "next_states": arrays["next_states"],
        "state_names": np.array(experience.names, dtype=np.str_),
        "action": np.array([experience.action_names[a] for a in arrays["actions"]], dtype=np.str_),
        "reward": arrays["rewards"],
        "terminated": arrays["terminated"],
        "truncated": arrays["truncated"],
        "episode": arrays["episodes"],
        "step": arrays["steps"],
    }
    out = io.BytesIO()
    np.savez_compressed(out, allow_pickle=False, **found)  # type: ignore[arg-type]
    return out.getvalue()


def agent_file(experience: Experience) -> bytes:
    """The agent's weights as safetensors, with what network they are of."""
    import safetensors.numpy

    network = experience.network
    told = "{}" if network is None else network.model_dump_json()
    return safetensors.numpy.save(experience.weights(), {"network": told})


def _terms(explanation: PolicyExplanation) -> list[list[object]]:
    names, arrays = explanation.values["term_names"], explanation.arrays
    columns = [arrays[f"terms/{name}"].astype(np.float64) for name in TERM_COLUMNS]
    return [
        [files.cell(name), *(files.number(float(column[i])) for column in columns)]
        for i, name in enumerate(names)
    ]


def _about(experience: Experience) -> str:
    told: JsonValue = experience.origin.get("file") or experience.title
    return f"{told}: {len(experience):,} transitions of {len(experience.variables)} state variables"


def _tables(explanation: PolicyExplanation) -> list[cards.Table]:
    told = explanation.values
    if told.get("kind") not in ("variables", "terms"):
        return []
    actions = told["action_names"]
    rows: list[tuple[str, object]] = [
        ("action", actions[told["action"]]),
        ("set against", actions[told["instead"]]),
    ]
    if told["episode"] is not None:
        rows += [("episode", told["episode"]), ("step", told["step"])]
    tables = [cards.Table("Moment", ("", ""), rows)]
    if told["kind"] == "terms":
        tables.append(cards.Table("Terms", ("term", *TERM_COLUMNS), _terms(explanation)))
    else:
        tables.append(_state_table(explanation))
    said = [(text,) for part in told["sentences"].values() for text in part]
    return [*tables, cards.Table("In words", ("",), said)] if said else tables


def _state_table(explanation: PolicyExplanation) -> cards.Table:
    told, scores = explanation.values, explanation.arrays["scores"]
    each = zip(told["variable_names"], told["state"], scores, strict=True)
    rows = [
        (name, value_words(told, i, state), f"{score:.4g}")
        for i, (name, state, score) in enumerate(each)
    ]
    return cards.Table(
        "State variables", ("variable", "state", f"score {told['unit']}".strip()), rows
    )
