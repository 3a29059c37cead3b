"""ConEx's discovery: pieces, embeddings, groups, directions, a basis, and their measures.

A reconstruction: the paper is known to us by its abstract; each step is that of its nearest
published relatives (`docs/images.md` has them).

Imports torch: only workers import this module.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from backend.bundle import Arrays
from backend.errors import InputError
from backend.explainer import Run
from backend.images import bases, concept_quality, masking, tail
from backend.images.bases import Basis
from backend.images.cavs import Cav, cav, significance
from backend.images.clusters import clusters
from backend.images.concept_space import ConceptSpace
from backend.images.explanation import ImageExplanation, Photos
from backend.images.regions import regions
from backend.images.views import Views, views

LEAST_AUC = 0.8
"""Of a concept's direction on held-out pieces."""
SHOWN = 8
"""Concepts kept at most, those that move the class most."""
PROTOTYPES = 6
SMALL = 64
"""Longest side of the small views."""
HALF = 0.5
"""Share of a place that has to be in a piece."""
NEARLY = 0.1
"""Largest miss of the logit with which a basis counts as explaining nearly all."""
LINEAR = 1e-3
"""Largest miss, as a share of the logit, with which the tail counts as linear in the maps."""


@dataclasses.dataclass(frozen=True, eq=False)
class Discovered:
    """What a discovery tells, see `DiscoverConcepts`.

    Values: label, name; masking (chosen, rows, reason of the probe); pieces, silhouettes (by
    number of groups), dropped (sentences); by_picture, few, class_pictures, class_views,
    other_views; basis, bases (by kind, what it explains and cancels, see `_basis`), explained;
    origin ("zero" or "mean"); concepts: of each, pieces, views, sources, auc, stability, agreement,
    p, vcm, vcm_auroc, ccm_auroc, ccm_top, contribution, removal, tcav; names (of each view's
    picture).
    """

    arrays: Arrays
    values: dict[str, Any]


@dataclasses.dataclass(frozen=True, eq=False)
class _Pieces:
    """n pieces: their masks, their view, and their embeddings of unit length."""

    masks: list[np.ndarray]
    view: np.ndarray
    e: np.ndarray


@dataclasses.dataclass(frozen=True, eq=False)
class _Grouped:
    """Views, their tensor [V, 3, h, w], their pieces, the concept of each piece, and directions."""

    seen: Views
    x: torch.Tensor
    pieces: _Pieces
    member: np.ndarray
    cavs: list[Cav]


def discover(model: Any, photos: Photos, label: int, parameters: Any, run: Run) -> Discovered:
    """Find the concepts of a class.

    Raises:
        InputError: see `DiscoverConcepts.explain`.
    """
    way, probe = _masking(model, parameters.masking, run)
    seen = views(model, photos, label, parameters.pictures, run)
    x = torch.cat([model.tensor(picture) for picture in seen.pictures])
    pieces = _pieces(model, seen, x, way, parameters.pieces, run)
    mine, learned = seen.of_class[pieces.view], ~seen.held_out[pieces.view]
    train = mine & learned
    if not train.any():
        raise InputError("The pictures of this class fall into no pieces of a fit size.")
    groups = clusters(
        pieces.e[train], pieces.view[train], seen.source[pieces.view[train]],
        parameters.concepts, run.seed,
    )  # fmt: skip
    member = np.full(len(pieces.view), -1)
    member[train] = groups.member
    aside = mine & ~learned
    member[aside] = groups.nearest(pieces.e[aside])
    found, kept, weak = _directions(pieces.e, member, mine, learned, len(groups.centres), run)
    dropped = (*groups.dropped, *weak)
    if not found:
        raise InputError(
            f"No group of pieces of '{model.names[label]}' makes a concept. {' '.join(dropped)}",
            "concept pictures",
            "Bring more pictures of the class, or ask for fewer groups.",
        )
    member = np.array([kept.index(m) if m in kept else -1 for m in member.tolist()])
    grouped = _Grouped(seen, x, pieces, member, found)
    arrays, values = _told(model, photos, label, parameters, grouped, run)
    values["masking"] = {"chosen": way, **probe}
    values["silhouettes"] = {str(k): s for k, s in groups.silhouettes.items()}
    values["dropped"] = list(dropped)
    return Discovered(arrays, values)


def _masking(model: Any, asked: str, run: Run) -> tuple[masking.Masking, dict[str, Any]]:
    probe: dict[str, Any] = {"rows": [], "reason": ""}
    if isinstance(run.subject, ImageExplanation):
        probe = {name: run.subject.values[name] for name in ("rows", "reason")}
    ways, reason = masking.offered(model)
    if asked == "auto":
        found = run.subject
        return (found.values["chosen"] if isinstance(found, ImageExplanation) else "grey"), probe
    if asked not in ways:
        raise InputError(
            f"Masking by {asked} does not work for this model: "
            f"{reason or 'it is for another kind of network'}.",
            "masking",
            f"Choose {', '.join(ways)}.",
        )
    return asked, probe  # type: ignore[return-value]


def _pieces(
    model: Any, seen: Views, x: torch.Tensor, way: masking.Masking, most: int, run: Run
) -> _Pieces:
    generator = run.numpy_generator()
    found: list[tuple[int, np.ndarray]] = []
    for number, picture in enumerate(seen.pictures):
        run.progress(number, len(seen), "cutting the pictures into pieces")
        cut = regions(picture)
        wanted = most if seen.of_class[number] else most // 2
        chosen = np.sort(generator.permutation(len(cut))[:wanted])
        found += [(number, cut[i]) for i in chosen.tolist()]
    e = masking.embedded(model, x, found, way, run, "looking at each piece by itself")
    e = e.astype(np.float64)
    unit = e / np.maximum(np.linalg.norm(e, axis=1, keepdims=True), 1e-12)
    return _Pieces([mask for _, mask in found], np.array([n for n, _ in found]), unit)


def _directions(
    e: np.ndarray, member: np.ndarray, mine: np.ndarray, learned: np.ndarray, count: int, run: Run
) -> tuple[list[Cav], list[int], list[str]]:
    """The directions of groups that hold on held-out pieces, their numbers, and of others why."""
    generator = run.numpy_generator()
    found, kept, weak = [], [], []
    for number in range(count):
        run.progress(number, count, "learning the concepts' directions")
        own = member == number
        one = cav(
            e[own & learned],
            e[mine & ~own & learned],
            e[~mine & learned],
            (e[own & ~learned], e[~own & ~learned]),
            generator,
        )
        if one.auc is not None and one.auc < LEAST_AUC:
            weak.append(
                f"A group of {int(own.sum())} pieces is no concept: its direction finds held-out "
                f"pieces with an AUC of {one.auc:.2f}."
            )
            continue
        found.append(one)
        kept.append(number)
    return found, kept, weak


def _told(
    model: Any, photos: Photos, label: int, parameters: Any, grouped: _Grouped, run: Run
) -> tuple[Arrays, dict[str, Any]]:
    """Arrays and values of the concepts that are left."""
    seen, x, pieces = grouped.seen, grouped.x, grouped.pieces
    member, cavs = grouped.member, grouped.cavs
    maps = np.concatenate(
        [tail.features(model, x[i : i + model.at_once], run).double().cpu().numpy()
         for i in range(0, len(x), model.at_once)]
    )  # fmt: skip
    vectors = np.array([one.vector for one in cavs])
    norms = np.linalg.norm(maps, axis=1, keepdims=True)
    mean = (maps / np.maximum(norms, 1e-12)).mean(axis=(0, 2, 3))
    own = np.flatnonzero(seen.of_class)
    origin = _origin(model, x[own[:2]], maps, label, run)
    slopes = []
    for done, i in enumerate(own.tolist()):
        run.progress(done, len(own), "what each place adds to the class")
        slopes.append(tail.slope(model, x[i : i + 1], label, origin, run))
    where = _where(pieces, member, len(cavs), maps.shape[-2:], len(seen))
    basis, tried = _basis(maps, own, slopes, seen, where, vectors, origin, parameters.basis, run)
    thresholds = _thresholds(maps, where, ~seen.held_out, vectors, mean)
    space = ConceptSpace(vectors, mean, origin, basis, thresholds)
    adds = np.stack([space.contributions(s.maps, s.mean).sum(axis=(1, 2)) for s in slopes])
    removal = _removal(model, x[own], label, slopes, space, run)
    order = np.argsort(-adds[:, :-1].mean(axis=0), kind="stable")[:SHOWN]
    presence = np.stack([space.presence(one) for one in maps])
    rows = _rows(seen, pieces, member, cavs, presence.max(axis=(2, 3)), adds, removal, slopes)
    contributions = np.zeros((len(seen), len(order)))
    contributions[own] = adds[:, order]
    owner = np.array([order.tolist().index(o) if o in order else -1 for o in basis.owner])
    held = seen.held_out[own] if seen.held_out[own].any() else np.ones(len(own), dtype=bool)
    total = np.array([s.whole - s.base for s in slopes])
    prototypes, outlines = _prototypes(seen, pieces, member, vectors, mean, order)
    arrays: Arrays = {
        "cavs": vectors[order].astype(np.float32),
        "mean": mean.astype(np.float32),
        "origin": origin.astype(np.float32),
        "basis": basis.vectors[owner >= 0].astype(np.float32),
        "owner": owner[owner >= 0].astype(np.int32),
        "thresholds": thresholds[order].astype(np.float32),
        "presence": presence.max(axis=(2, 3))[:, order].astype(np.float32),
        "contributions": contributions.astype(np.float32),
        "of_class": seen.of_class.astype(np.uint8),
        "held_out": seen.held_out.astype(np.uint8),
        "source": seen.source.astype(np.int32),
        "views": _small(seen.pictures),
        "prototypes": prototypes,
        "outlines": outlines,
    }
    values = {
        "label": label,
        "name": model.names[label],
        "pieces": len(pieces.view),
        "by_picture": seen.by_picture,
        "few": seen.few,
        "class_pictures": len(np.unique(seen.source[own])),
        "class_views": len(own),
        "other_views": len(seen) - len(own),
        "basis": basis.kind,
        "bases": tried,
        "explained": float(adds[held][:, order].sum() / total[held].sum()),
        "origin": "mean" if origin.any() else "zero",
        "concepts": [rows[c] for c in order.tolist()],
        "names": [photos.names[i] for i in seen.source.tolist()],
    }
    return arrays, values


def _origin(model: Any, x: torch.Tensor, maps: np.ndarray, label: int, run: Run) -> np.ndarray:
    """[C]: zero where the tail is linear in the maps, else the mean place.

    Normalisation of tokens has no gradient that can be summed from zero on.
    """
    zero = np.zeros(maps.shape[1])
    with torch.no_grad():
        raw = tail.features(model, x, run)
        whole, half, none = (
            tail.logits(model, x, share * raw, run)[:, label].double() for share in (1.0, 0.5, 0.0)
        )
    miss = (half - (whole + none) / 2).abs() / (whole - none).abs().clamp_min(1e-6)
    return zero if float(miss.max()) < LINEAR else np.asarray(maps.mean(axis=(0, 2, 3)))


def _where(
    pieces: _Pieces, member: np.ndarray, concepts: int, grid: tuple[int, ...], count: int
) -> np.ndarray:
    """[V, K, gh, gw] bool: the places of each view that lie in a piece of each concept."""
    found = np.zeros((count, concepts, *grid), dtype=bool)
    for mask, view, concept in zip(pieces.masks, pieces.view, member, strict=True):
        if concept >= 0:
            share = functional.adaptive_avg_pool2d(
                torch.from_numpy(mask[None, None].astype(np.float32)), (grid[0], grid[1])
            )
            found[view, concept] |= share[0, 0].numpy() >= HALF
    return found


def _basis(
    maps: np.ndarray,
    own: np.ndarray,
    slopes: list[tail.Slope],
    seen: Views,
    where: np.ndarray,
    vectors: np.ndarray,
    origin: np.ndarray,
    asked: str,
    run: Run,
) -> tuple[Basis, dict[str, dict[str, float]]]:
    """The basis that was asked for, or the best one, and what each does on held-out views.

    Explained: the share of the logit's change that is not left as the rest. Cancelled: how much
    larger the contributions are, their signs left out, than their sum; 0 where none cancel.
    """
    run.progress(0, 1, "putting maps together from concepts")
    learned = own[~seen.held_out[own]]
    places = maps[learned].transpose(0, 2, 3, 1).reshape(-1, maps.shape[1]) - origin
    inside = where[learned].transpose(1, 0, 2, 3).reshape(len(vectors), -1)
    offered = [bases.cav_basis(vectors)]
    if inside.any():
        offered.append(bases.subspace_basis(places, inside))
        if places.min() >= 0:
            offered.append(bases.nmf_basis(places, inside, run.seed))
    held = [s for i, s in zip(own, slopes, strict=True) if seen.held_out[i]] or slopes
    total = np.sum([s.whole - s.base for s in held])
    tried: dict[str, dict[str, float]] = {}
    for basis in offered:
        adds = np.array(
            [
                basis.contributions(s.maps - origin[:, None, None], s.mean, len(vectors)).sum(
                    (1, 2)
                )
                for s in held
            ]
        )[:, :-1]
        tried[basis.kind] = {
            "explained": float(adds.sum() / total),
            "cancelled": float(np.abs(adds).sum() / max(abs(adds.sum()), 1e-9)) - 1,
        }
    if asked != "auto" and asked not in tried:
        raise InputError(
            f"A basis by {asked} does not fit: it is for maps without negative numbers.",
            "basis",
            f"Choose {', '.join(tried)}.",
        )
    best = _best(tried) if asked == "auto" else asked
    return next(basis for basis in offered if basis.kind == best), tried


def _best(tried: dict[str, dict[str, float]]) -> str:
    """Of the bases that explain nearly all the one that cancels least; else the one nearest to it.

    Contributions that undo each other explain nothing, however well they sum.
    """
    misses = {kind: abs(1 - one["explained"]) for kind, one in tried.items()}
    near = [kind for kind, miss in misses.items() if miss <= NEARLY]
    if near:
        return min(near, key=lambda kind: tried[kind]["cancelled"])
    return min(misses, key=misses.__getitem__)


def _thresholds(
    maps: np.ndarray, where: np.ndarray, learned: np.ndarray, vectors: np.ndarray, mean: np.ndarray
) -> np.ndarray:
    """[K]: the presence above which places overlap best with the pieces that made the concept."""
    unit = maps[learned] / np.maximum(np.linalg.norm(maps[learned], axis=1, keepdims=True), 1e-12)
    level = np.einsum("kc,vchw->kvhw", vectors, unit - mean[:, None, None])
    found = np.zeros(len(vectors))
    for c, (values, true) in enumerate(
        zip(level.reshape(len(vectors), -1), where[learned].transpose(1, 0, 2, 3), strict=True)
    ):
        order = np.argsort(-values)
        hits = np.cumsum(true.ravel()[order])
        over = hits / (np.arange(1, len(order) + 1) + hits[-1] - hits)
        found[c] = max(float(values[order[int(over.argmax())]]), 1e-6)
    return found


def _removal(
    model: Any, x: torch.Tensor, label: int, slopes: list[tail.Slope], space: ConceptSpace, run: Run
) -> np.ndarray:
    """[K]: the mean fall of the class's probability when a concept is taken out of the maps."""
    found = np.zeros((len(slopes), len(space.cavs)))
    for i, one in enumerate(slopes):
        run.progress(i, len(slopes), "taking concepts out")
        changed = [one.maps, *(space.without(one.maps, c) for c in range(len(space.cavs)))]
        with torch.no_grad():
            rows = torch.from_numpy(np.stack(changed)).to(x)
            logits = torch.cat(
                [tail.logits(model, x[i : i + 1].expand(len(part), -1, -1, -1), part, run)
                 for part in torch.split(rows, model.at_once)]
            )  # fmt: skip
        chance = logits.double().softmax(dim=1)[:, label].cpu().numpy()
        found[i] = chance[0] - chance[1:]
    return np.asarray(found.mean(axis=0))


def _rows(
    seen: Views,
    pieces: _Pieces,
    member: np.ndarray,
    cavs: list[Cav],
    presence: np.ndarray,
    adds: np.ndarray,
    removal: np.ndarray,
    slopes: list[tail.Slope],
) -> list[dict[str, Any]]:
    """What was measured of each concept."""
    vectors = np.array([one.vector for one in cavs])
    held = seen.held_out[pieces.view]
    centred = pieces.e - pieces.e[~held].mean(axis=0)
    known = held & (member >= 0)
    match = concept_quality.vcm(centred[known], member[known], vectors)
    tells = concept_quality.vcm_auroc(centred[held], member[held], vectors)
    aside = seen.held_out
    classes = concept_quality.ccm_auroc(presence[aside], seen.of_class[aside])
    tops = concept_quality.ccm_top(presence[aside], seen.of_class[aside])
    gradients = np.array([s.gradient.sum(axis=(1, 2)) for s in slopes])
    rows = []
    for c, one in enumerate(cavs):
        own = member == c
        along = gradients @ one.vector
        rows.append(
            {
                "pieces": int(own.sum()),
                "views": len(np.unique(pieces.view[own])),
                "sources": len(np.unique(seen.source[pieces.view[own]])),
                "auc": one.auc,
                "stability": one.stability,
                "agreement": one.agreement,
                "p": significance(
                    (gradients @ one.refits.T).mean(axis=0),
                    (gradients @ one.chance.T).mean(axis=0),
                    len(cavs),
                ),
                "vcm": match[c],
                "vcm_auroc": tells[c],
                "ccm_auroc": classes[c],
                "ccm_top": tops[c],
                "contribution": float(adds[:, c].mean()),
                "removal": float(removal[c]),
                "tcav": float((along > 0).mean()),
            }
        )
    return rows


def _prototypes(
    seen: Views,
    pieces: _Pieces,
    member: np.ndarray,
    vectors: np.ndarray,
    mean: np.ndarray,
    order: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """[K, P, h, w, 3] views and [K, P, h, w] the piece in each: the nearest of as many pictures."""
    shape = seen.pictures.shape[1:3]
    pictures = np.zeros((len(order), PROTOTYPES, *shape, 3), dtype=np.uint8)
    outlines = np.zeros((len(order), PROTOTYPES, *shape), dtype=np.uint8)
    for row, concept in enumerate(order.tolist()):
        own = np.flatnonzero(member == concept)
        near = own[np.argsort(-((pieces.e[own] - mean) @ vectors[concept]), kind="stable")]
        chosen: list[int] = []
        for by in (seen.source, np.arange(len(seen))):  # one a picture, then one a view
            for piece in near.tolist():
                taken = {int(by[pieces.view[other]]) for other in chosen}
                full = len(chosen) == PROTOTYPES
                if not full and piece not in chosen and int(by[pieces.view[piece]]) not in taken:
                    chosen.append(piece)
        for column, piece in enumerate(chosen):
            pictures[row, column] = seen.pictures[pieces.view[piece]]
            outlines[row, column] = pieces.masks[piece]
    return pictures, outlines


def _small(pictures: np.ndarray) -> np.ndarray:
    """[V, s, s', 3] uint8: pictures no longer than SMALL on a side."""
    from PIL import Image

    tall, wide = pictures.shape[1:3]
    share = min(1.0, SMALL / max(tall, wide))
    size = max(1, round(wide * share)), max(1, round(tall * share))
    return np.stack([np.asarray(Image.fromarray(p).resize(size)) for p in pictures])
