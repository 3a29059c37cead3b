"""Tables of trajectories: what is read of CSV, Parquet and NPZ, and what bad ones are told."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest

from backend.errors import InputError
from backend.policies import files, inputs, trajectories
from backend.policies.columns import Columns, after, guess
from backend.policies.explanation import PolicyTarget
from backend.policies.moment import moment
from backend.policies.transitions import prepare
from backend.settings import Settings

SETTINGS = Settings()
HEAD = "episode,step,x,v,action,reward,done\n"


def frame_of(text, name="t.csv"):
    return inputs.read(name, text.encode(), SETTINGS)


def built(text, **columns):
    frame = frame_of(text)
    return trajectories.build(frame, guess(frame).model_copy(update=columns))


def table(episodes=3, length=4, **changed):
    """A frame of pandas: x counts up by the action's number."""
    rows = []
    for episode in range(episodes):
        x = float(episode)
        for step in range(length):
            action = (episode + step) % 2
            rows.append({"episode": episode, "step": step, "x": x, "v": 0.5 * x, "action": action,
                         "reward": 1.0, "done": int(step == length - 1)})  # fmt: skip
            x += 1 + action
    return pd.DataFrame(rows).assign(**changed)


def read(made):
    return built(made.to_csv(index=False))


def notes(found):
    return " ".join(found.origin["notes"])


# Reading


def test_a_state_after_a_step_is_that_of_the_next_row():
    found = read(table())
    arrays = found.arrays
    assert found.names == ("x", "v")
    assert found.action_names == ("0", "1")
    assert len(found) == 9
    np.testing.assert_allclose(
        arrays["next_states"][:, 0] - arrays["states"][:, 0], 1 + arrays["actions"]
    )
    assert np.bincount(arrays["episodes"]).tolist() == [3, 3, 3]
    assert arrays["steps"].tolist() == [0, 1, 2] * 3
    # The row that ended the episode has no state after it: the one before is where it is cut.
    assert arrays["truncated"].tolist() == [0, 0, 1] * 3
    assert "After 3 last steps no state is known" in notes(found)


def test_columns_named_next_keep_the_last_step():
    made = table()
    made["next_x"], made["next_v"] = made["x"] + 1 + made["action"], 9.0
    found = read(made)
    assert len(found) == 12
    assert found.names == ("x", "v")
    np.testing.assert_allclose(found.arrays["next_states"][3], [made["next_x"][3], 9])
    assert found.arrays["terminated"].tolist() == [0, 0, 0, 1] * 3
    assert found.arrays["truncated"].sum() == 0


def test_parquet_and_npz_say_the_same_as_csv():
    made = table().assign(colour=["red", "blue"] * 6)
    text = read(made)
    out = io.BytesIO()
    made.to_parquet(out)
    frame = inputs.read("t.parquet", out.getvalue(), SETTINGS)
    parquet = trajectories.build(frame, guess(frame))
    for name, array in text.arrays.items():
        np.testing.assert_array_equal(parquet.arrays[name], array)
    assert parquet.variables == text.variables
    assert text.variables[2].levels == ("blue", "red")
    archive = io.BytesIO()
    np.savez(archive, observations=made[["x", "v"]].to_numpy(), actions=made["action"],
             rewards=made["reward"], episode=made["episode"], timestep=made["step"],
             dones=made["done"])  # fmt: skip
    frame = inputs.read("t.npz", archive.getvalue(), SETTINGS)
    npz = trajectories.build(frame, guess(frame))
    assert npz.names == ("state 0", "state 1")
    np.testing.assert_array_equal(npz.arrays["states"], text.arrays["states"][:, :2])
    np.testing.assert_array_equal(npz.arrays["actions"], text.arrays["actions"])


def test_what_is_written_is_read_again_the_same():
    made = table().assign(colour=["red", "blue"] * 6, action=["go", "stay"] * 6)
    first = read(made)
    frame = inputs.read(files.TABLE_FILE, files.experience_npz(first), SETTINGS)
    again = trajectories.build(frame, guess(frame))
    assert again.action_names == first.action_names == ("go", "stay")
    for name in ("actions", "rewards", "terminated", "truncated", "episodes", "steps"):
        np.testing.assert_array_equal(again.arrays[name], first.arrays[name])
    np.testing.assert_array_equal(again.arrays["states"], first.arrays["states"])
    np.testing.assert_array_equal(again.arrays["next_states"], first.arrays["next_states"])


def test_rows_in_any_order_are_put_in_order():
    made = table()
    mixed = read(made.sample(frac=1, random_state=3))
    ordered = read(made)
    episodes = {tuple(mixed.arrays["states"][mixed.arrays["episodes"] == e, 0]) for e in range(3)}
    assert episodes == {
        tuple(ordered.arrays["states"][ordered.arrays["episodes"] == e, 0]) for e in range(3)
    }


def test_episodes_are_told_apart_without_a_column():
    by_steps = built(table().drop(columns="episode").to_csv(index=False))
    by_ends = built(table().drop(columns=["episode", "step"]).to_csv(index=False))
    for found in (by_steps, by_ends):
        assert np.bincount(found.arrays["episodes"]).tolist() == [3, 3, 3]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("ep,t,pos,a,r,terminal", Columns(episode="ep", step="t", action="a", reward="r",
                                          done="terminal", states=("pos",))),
        ("Episode_ID,Time,x,next_x,Act,timeouts", Columns(episode="Episode_ID", step="Time",
                                                         action="Act", truncated="timeouts",
                                                         states=("x",))),
    ],
)  # fmt: skip
def test_columns_are_guessed_by_their_names(names, expected):
    frame = frame_of(names + "\n" + ",".join("1" * (names.count(",") + 1)) + "\n")
    assert guess(frame) == expected


def test_a_column_of_what_comes_after():
    assert [after(name) for name in ("next_x", "Next pole angle", "nextx", "x")] == [
        "x", "pole angle", "", "",
    ]  # fmt: skip


# Missing steps, constant columns, single actions, few rows


def test_where_a_step_is_missing_the_episode_is_cut():
    made = table(episodes=2, length=8)
    found = read(made[~((made.episode == 0) & made.step.isin([3, 4]))])
    # Steps 0 to 2 and 5 to 7 of the first, all of the second, each less its last.
    assert np.bincount(found.arrays["episodes"]).tolist() == [2, 2, 7]
    assert "Steps are missing in 1 places: the episode is cut there." in notes(found)
    assert found.arrays["truncated"].sum() == 3
    apart = found.arrays["next_states"][:, 0] - found.arrays["states"][:, 0]
    np.testing.assert_allclose(apart, 1 + found.arrays["actions"])


def test_rows_with_an_empty_cell_are_left_out_and_cut_too():
    text = table(episodes=2, length=6).astype({"x": object})
    text.loc[2, "x"] = ""
    found = read(text)
    assert np.bincount(found.arrays["episodes"]).tolist() == [1, 2, 5]
    assert "1 rows with an empty cell are left out" in notes(found)


def test_a_constant_column_is_read_and_told():
    made = table(episodes=30, length=6).assign(flat=7.0)
    transitions = prepare(read(made), 0)
    assert transitions.still.tolist() == [False, False, True, False]
    assert any("Flat hardly ever takes another value" in note for note in transitions.notes)


def test_a_single_action_is_read_and_told():
    found = read(table(episodes=30, length=6).assign(action=1))
    assert found.action_names == ("1",)
    transitions = prepare(found, 0)
    assert transitions.still[-1]
    assert any("The action hardly ever takes another value" in n for n in transitions.notes)
    at = moment(found, PolicyTarget(episode=0, step=1))
    assert (at.action, at.instead) == (0, 0)


def test_ten_rows_are_read_and_too_few_to_learn_from():
    found = read(table(episodes=2, length=5))
    assert len(found) == 8
    with pytest.raises(InputError, match="There are 8 transitions, too few"):
        prepare(found, 0)


# Refusals


@pytest.mark.parametrize(
    ("text", "columns", "said"),
    [
        ("x,v\n1,2\n", {}, "No column is the action"),
        ("action,reward\n1,2\n", {}, "No column is a state"),
        (HEAD + "0,0,1,1,0.5,1,0\n0,1,1,1,0.25,1,0\n", {}, "continuous range"),
        (HEAD + "0,0,1,1,0,1,0\n0,0,1,1,0,1,0\n", {}, "Step 0 is there twice"),
        (HEAD + "0,0.5,1,1,0,1,0\n0,1,1,1,0,1,0\n", {}, "no count of steps"),
        (HEAD + "0,0,inf,1,0,1,0\n0,1,1,1,0,1,0\n", {}, "infinity"),
        (HEAD + "0,0,1,1,0,good,0\n0,1,1,1,0,bad,0\n", {}, "holds words, no numbers"),
        (HEAD + "0,0,1,1,0,1,0\n1,0,1,1,0,1,0\n", {}, "No two steps follow one another"),
        (HEAD + "0,0,1,1,0,1,0\n", {"action": "gone"}, "There is no column 'gone'"),
        (HEAD + "0,0,1,1,0,1,0\n", {"step": "episode"}, "has two roles"),
        (HEAD + "0,0,1,1,,1,0\n0,1,1,1,,1,0\n", {}, "0 different actions"),
    ],
)
def test_a_table_that_cannot_be_read_is_told_what_to_do(text, columns, said):
    with pytest.raises(InputError, match=said):
        built(text, **columns)


def test_too_many_words_and_variables_are_refused():
    made = table(episodes=20, length=6)
    with pytest.raises(InputError, match="120 different words"):
        read(made.assign(word=[f"w{i}" for i in range(len(made))]))
    with pytest.raises(InputError, match="different actions"):
        read(made.assign(action=[f"a{i}" for i in range(len(made))]))
    with pytest.raises(InputError, match="at most 60"):
        read(made.assign(**{f"s{i}": 1.0 for i in range(70)}))


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"actions": np.zeros(3)}, "no array 'states'"),
        ({"states": np.zeros((3, 2, 2)), "action": np.zeros(3)}, "shape"),
        ({"states": np.zeros((3, 2)), "state_names": np.array(["x"])}, "1 names for 2"),
        ({"states": np.zeros((3, 2)), "next_states": np.zeros((2, 2))}, "shape"),
    ],
)
def test_archives_that_do_not_fit_are_refused(arrays, said):
    out = io.BytesIO()
    np.savez(out, **arrays)
    with pytest.raises(InputError, match=said):
        inputs.read("t.npz", out.getvalue(), SETTINGS)
