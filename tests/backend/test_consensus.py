"""The consensus by hand and by scipy's ranks, and in each family that of its members' scores."""

from __future__ import annotations

import html
import re
import shlex

import numpy as np
import pytest
import scipy.stats

from backend.agreement import scaled_ranks
from backend.catalogue import find
from backend.cli import parser
from backend.commands import work
from backend.commands.desk import FAMILIES, desk
from backend.consensus import consensus, joined, needed
from backend.cost import cost
from backend.engine.engine import Engine
from backend.errors import InputError, VitrineError
from backend.explanation import Choice, Explanation, ModelRef, Provenance, Request
from backend.settings import Settings
from tests.fake import FakeRun
from tests.tiny import write

NAN = np.nan
WORDS = {
    "tokens": ("--text", "The code is", "--model", "folder:tiny", "--max-new-tokens", "2"),
    "graphs": ("--example", "mutag", "--epochs", "2", "--graph", "3"),
    "concepts": ("--example", "xor", "--sample", "1"),
    "images": ("--example", "parts", "--model", "parts-cnn", "--image", "1"),
    "policies": ("--example", "cartpole", "--transitions", "1000", "--step", "5"),
}
MEMBERS = {
    "tokens": "attention_mean,gradient_x_input,leave_one_out",
    "graphs": "saliency,edge_occlusion,gnn_explainer",
    "concepts": "linear_contributions,concept_flip,gradient_x_concept",
    "images": "grad_cam,occlusion,saliency",
    "policies": "policy_saliency,policy_integrated_gradients,policy_shap",
}
STEP = {"graphs": "graph_faithfulness", "images": "image_faithfulness",
        "policies": "variable_faithfulness"}  # fmt: skip
SET = {
    "tokens": ("--set", "attention_mean.reading=last", "--set", "gradient_x_input.reading=norm"),
    "graphs": ("--set", "gnn_explainer.epochs=5", "--set", "saliency.absolute=false"),
    "concepts": (
        "--set", "gradient_x_concept.baseline=absent", "--set", "concept_flip.contrast=runner-up",
    ),
    "images": ("--set", "occlusion.window=16", "--set", "grad_cam.signed=true"),
    "policies": (
        "--set", "policy_integrated_gradients.steps=32", "--set", "policy_shap.rows=20",
    ),
}  # fmt: skip


def test_by_hand():
    mean, apart = consensus([np.array([10.0, 30, 20, 20]), np.array([4.0, 1, 2, 3])])
    # scaled ranks: 0 1 1/2 1/2 and 1 0 1/3 2/3
    np.testing.assert_allclose(mean, [1 / 2, 1 / 2, 5 / 12, 7 / 12], rtol=1e-6)
    np.testing.assert_allclose(apart, [1 / 2, 1 / 2, 1 / 12, 1 / 12], rtol=1e-6)
    assert (mean.dtype, apart.dtype) == (np.float32, np.float32)


def test_a_position_is_ranked_by_those_that_have_it():
    rows = [[NAN, 5, 1, 3, NAN], [2, NAN, NAN, 1, NAN], [NAN, NAN, NAN, NAN, NAN]]
    mean, apart = consensus([np.array(row, dtype=np.float32) for row in rows])
    np.testing.assert_array_equal(mean, np.float32([1, 1, 0, 0.25, NAN]))
    np.testing.assert_array_equal(apart, np.float32([0, 0, 0, 0.25, NAN]))


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([7, 7, 7], [0.5, 0.5, 0.5]),
        ([7, NAN, 7], [0.5, NAN, 0.5]),
        ([3], [0.5]),
        ([NAN, -3], [NAN, 0.5]),
        ([1, 2, 2, 3], [0, 0.5, 0.5, 1]),
        ([np.inf, 2, 1, -np.inf], [NAN, 1, 0, NAN]),
        ([NAN, NAN], [NAN, NAN]),
        ([], []),
    ],
)
def test_ranks_go_from_0_to_1_and_equal_scores_share_theirs(scores, expected):
    np.testing.assert_array_equal(scaled_ranks(np.array(scores, dtype=float)), expected)


def test_only_the_order_of_a_members_scores_counts():
    generator = np.random.default_rng(0)
    a, b = generator.normal(size=(2, 30))
    one = consensus([a, b])
    np.testing.assert_array_equal(consensus([np.exp(a), 1000 * b - 3]), one)
    np.testing.assert_array_equal(consensus([b, a]), one)
    np.testing.assert_allclose(scaled_ranks(-a), 1 - scaled_ranks(a))
    assert np.abs(consensus([-a, b])[0] - one[0]).max() > 0.1


def test_against_scipys_ranks():
    generator = np.random.default_rng(1)
    rows = generator.integers(-4, 5, size=(5, 40)).astype(float)
    rows[generator.random(rows.shape) < 0.2] = NAN
    rows[:4, 7] = NAN
    scaled = np.full(rows.shape, NAN)
    for row, into in zip(rows, scaled, strict=True):
        there = ~np.isnan(row)
        into[there] = (scipy.stats.rankdata(row[there]) - 1) / (there.sum() - 1)
    mean, apart = consensus(list(rows))
    np.testing.assert_allclose(mean, np.nanmean(scaled, axis=0), rtol=1e-6)
    np.testing.assert_allclose(apart, np.nanstd(scaled, axis=0), atol=1e-7)


def test_disagreement_goes_from_0_to_a_half():
    scores = np.random.default_rng(2).permutation(21).astype(float)
    mean, apart = consensus([scores, 5 * scores, scores**3])
    np.testing.assert_allclose(apart, 0, atol=1e-12)
    np.testing.assert_allclose(mean, scores / 20, rtol=1e-6)
    mean, apart = consensus([scores, -scores])
    np.testing.assert_allclose(mean, 0.5)
    np.testing.assert_allclose(apart, np.abs(scores / 20 - 0.5), atol=1e-7)
    assert apart[scores.argmax()] == apart[scores.argmin()] == 0.5


def asked_of(family: str, explainer: str, **parameters) -> Request:
    return Request(
        family=family, explainer=explainer, model=ModelRef(name="m"), input="0" * 64,
        parameters=parameters,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("family", "explainers", "members"),
    [
        ("tokens", "attention_mean,logit_lens,consensus,leave_one_out",
         ["attention_mean", "leave_one_out"]),
        ("graphs", "consensus,saliency,random_edges,edge_occlusion",
         ["saliency", "edge_occlusion"]),
        ("concepts", "kmeans,concept_flip,mcbe,linear_contributions,consensus",
         ["concept_flip", "linear_contributions"]),
        ("graphs", "random_edges,consensus", []),
    ],
)  # fmt: skip
def test_the_members_are_the_other_attributions_without_controls_and_views(
    family, explainers, members
):
    given = [asked_of(family, name, about=name) for name in explainers.split(",")]
    for before, after in zip(given, joined(given), strict=True):
        if before.explainer == "consensus":
            assert [one.explainer for one in after.members] == members
            assert all(one in given for one in after.members)
            assert after.model_copy(update={"members": ()}) == before
        else:
            assert after == before


def test_a_consensus_cannot_be_made_again_without_the_other_choices():
    names = ("saliency", "edge_occlusion", "consensus")
    choices = tuple(Choice(explainer=name) for name in names)
    assert needed(choices, "consensus") == choices
    assert needed(choices, "edge_occlusion") == choices[1:2]


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_has_one_that_needs_two_alike(family):
    explainer = find(asked_of(family, "consensus"))
    assert explainer.role == "attribution"
    assert not explainer.control
    several = [Explanation(arrays={"scores": np.zeros(size)}) for size in (3, 4)]
    for members in ([], several[:1]):
        with pytest.raises(InputError, match="Choose at least two further explainers"):
            explainer.explain(None, None, None, None, FakeRun(members=members))
    with pytest.raises(InputError, match="rank different things"):
        explainer.explain(None, None, None, None, FakeRun(members=several))


def test_it_took_what_its_members_took():
    source = Provenance(
        key="k", request=asked_of("graphs", "consensus"), model_fingerprint="f", versions={},
        device="cpu", dtype="float32", seconds=0.5, peak_memory_bytes=0, forward_passes=0,
        backward_passes=0, batch_size=None, warnings=(), created="",
    )  # fmt: skip
    assert cost(Explanation(arrays={}, provenance=source))["seconds"] == 0.5
    joint = Explanation(arrays={}, values={"members_cost": {"seconds": 2.25}}, provenance=source)
    assert cost(joint)["seconds"] == 2.75


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    folder = tmp_path_factory.mktemp("consensus")
    model = write(folder / "tiny", "llama")
    options = Settings(
        store=folder / "store", model_folders=(model,), device="cpu", threads=1, hub="off"
    )
    made = Engine(options)
    yield made
    made.close()


def asked(engine, family, explainers, *more):
    """The comparison of a command, and its requests."""
    words = ["explain", family, *WORDS[family], "--explainer", explainers, "--out", "o", *more]
    comparison = desk(family).comparison(parser().parse_args(words), engine)
    return comparison, desk(family).requests(engine, comparison)


def joint(engine, family, *more, members=None):
    _, requests = asked(engine, family, f"{members or MEMBERS[family]},consensus", *more)
    return requests[-1]


@pytest.mark.parametrize("family", FAMILIES)
def test_its_scores_are_the_consensus_of_its_members_scores(engine, family):
    _, requests = asked(engine, family, f"{MEMBERS[family]},consensus", *SET[family])
    # First itself: its members are computed with it.
    [(_, found)] = work.finish(engine, requests[-1:])
    assert all(engine.submit(request).cached for request in requests[:-1])
    members = [one for _, one in work.finish(engine, requests[:-1])]
    scores, apart = consensus([one.arrays["scores"] for one in members])
    assert np.isfinite(scores).sum() > 3
    assert np.nanmax(apart) > 0
    np.testing.assert_array_equal(found.arrays["scores"], scores)
    np.testing.assert_array_equal(found.arrays["disagreement"], apart)
    assert found.values["members"] == MEMBERS[family].split(",")
    spent = [one.source().seconds for one in members]
    assert found.values["members_cost"]["seconds"] == pytest.approx(sum(spent))
    assert cost(found)["seconds"] > sum(spent)
    assert "mean rank" in (getattr(found, "unit", None), found.values.get("unit"))


def test_the_nodes_of_a_graph_have_a_consensus_of_their_own(engine):
    _, requests = asked(engine, "graphs", f"{MEMBERS['graphs']},consensus", *SET["graphs"])
    *members, found = (one for _, one in work.finish(engine, requests))
    nodes, _ = consensus([one.arrays["node_scores"] for one in members])
    np.testing.assert_array_equal(found.arrays["node_scores"], nodes)
    np.testing.assert_array_equal(found.arrays["edges"], members[0].arrays["edges"])
    assert found.values["signed"] is False


def test_the_tokens_and_the_answer_are_those_of_its_members(engine):
    _, requests = asked(engine, "tokens", f"{MEMBERS['tokens']},consensus", *SET["tokens"])
    first, *_, found = (one for _, one in work.finish(engine, requests))
    assert (found.sequence, found.explained) == (first.sequence, first.explained)
    assert (found.signed, first.unit != found.unit) == (False, True)
    assert set(found.arrays) == {"scores", "disagreement"}


@pytest.mark.parametrize("family", FAMILIES)
def test_it_is_scored_like_its_members(engine, family):
    _, requests = asked(engine, family, f"{MEMBERS[family]},consensus", *SET[family])
    changes = {"explainer": STEP.get(family, "faithfulness"), "parameters": {}, "members": ()}
    scores = [one.model_copy(update={**changes, "subject": one}) for one in requests]
    found = [one for _, one in work.finish(engine, scores)]
    *of_members, of_all = (known(one.values["metrics"]) for one in found)
    assert of_all
    assert np.isfinite(list(of_all.values())).all()
    assert all(set(one) == set(of_all) for one in of_members)
    assert any(one != of_all for one in of_members)
    about = found[-1].source().request.subject
    assert (about.explainer, len(about.members)) == ("consensus", 3)


def known(metrics):
    """The metrics that are defined, also where they are by the way something is taken away."""
    found = {}
    for name, value in metrics.items():
        parts = value.items() if isinstance(value, dict) else [("", value)]
        found |= {f"{name}/{part}": number for part, number in parts if number is not None}
    return found


@pytest.mark.parametrize(
    ("family", "explainers"),
    [
        ("graphs", "consensus"),
        ("graphs", "saliency,random_edges,consensus"),
        ("tokens", "attention_mean,logit_lens,consensus"),
        ("concepts", "concept_flip,consensus"),
    ],
)
def test_one_opinion_is_none(engine, family, explainers):
    with pytest.raises(InputError, match="Choose at least two further explainers that rank"):
        asked(engine, family, explainers)


def test_a_page_that_asks_for_a_consensus_of_one_is_told_so(engine):
    alone = joint(engine, "concepts")
    with pytest.raises(VitrineError, match="Choose at least two further explainers that rank"):
        work.finish(engine, [alone.model_copy(update={"members": alone.members[:1]})])


def test_the_key_is_that_of_its_members_parameters_and_seeds(engine):
    def key(*more, members="saliency,gnn_explainer"):
        return engine.key(joint(engine, "graphs", *more, members=members))

    keys = [
        key(),
        key("--set", "saliency.absolute=false"),
        key("--set", "gnn_explainer.epochs=5"),
        key("--seed", "1"),
        key(members="saliency,edge_occlusion"),
        key(members="saliency,edge_occlusion,gnn_explainer"),
        key("--graph", "4"),
    ]
    assert len(set(keys)) == len(keys)
    assert key("--set", "saliency.absolute=true", "--seed", "0") == keys[0], "the defaults"


def test_a_seed_counts_only_where_a_member_draws(engine):
    def key(members, seed):
        return engine.key(joint(engine, "graphs", "--seed", seed, members=members))

    assert key("saliency,edge_occlusion", "1") == key("saliency,edge_occlusion", "0")
    assert key("saliency,gnn_explainer", "1") != key("saliency,gnn_explainer", "0")


def test_another_process_has_nothing_left_to_compute(engine):
    request = joint(engine, "concepts")
    [(job, found)] = work.finish(engine, [request])
    other = Engine(engine.settings)
    again = other.submit(request)
    assert (again.key, again.cached, again.state) == (job.key, True, "done")
    assert other.result(again.key).digest() == found.digest()
    assert other.workers() == []


@pytest.mark.parametrize("family", FAMILIES)
def test_the_command_on_its_card_makes_the_same_key(engine, family):
    more = (*SET[family], "--seed", "3")
    comparison, requests = asked(engine, family, f"consensus,{MEMBERS[family]}", *more)
    [(job, found)] = work.finish(engine, requests[:1])
    card = desk(family).files(found, comparison, engine, lambda _: b"<svg/>")["card.html"].decode()
    line = re.search("python -m backend (explain .*? --out out)", html.unescape(card))[1]
    words = shlex.split(line)
    assert f"{MEMBERS[family]},consensus" in words
    assert set(SET[family]) <= set(words)
    given = parser().parse_args(words)
    again = desk(family).requests(engine, desk(family).comparison(given, engine))
    assert engine.key(again[-1]) == job.key
    assert again[-1].explainer == "consensus"
