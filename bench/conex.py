"""How well ConEx finds what a class is made of, how faithful its maps are, and what they cost.

Pictures of parts: of each seed a trained CNN, concepts of every class (CLASSES) found in 180
pictures, all measured on others. Beside it the ViT of the first seed, without figures.

- `part_iou`: intersection over union of a defining part's mask and of where its best concept is
  present (above its threshold), a mean over the pictures of the class, then over seeds, classes and
  parts. The best concept is the one with the highest mean on these very pictures.
- `vcm`, `ccm_auroc`: of that concept, as its discovery tells them; means likewise.
- `max_residual_gap`: the largest |logit - base - all contributions|.
- `conex_gap`, `grad_cam_gap`, `ig_gap`, `rise_gap`: area under the insertion curve less that under
  the deletion curve, for the picture's own class; means over pictures and seeds.
- `seconds_over_ig`, `seconds_over_occlusion`: seconds of ConEx after the discovery over those of
  another method for the same picture, the median over pictures.
- `photos_...`: the same of the bundled photos on EfficientNet-Lite0, for the predicted class, whose
  concepts are found in pictures the explained photo is one of. With `--photos`, as it takes long.

Intervals are 95 % bootstrap ones: over seeds, classes and parts of concepts, over pictures of maps.
Pictures of one seed share a model, which the intervals do not know.

Run with: python -m bench.conex [--json] [--seeds 0,1,2] [--classes 0,1] [--pictures N]
    [--photos | --no-photos] [--vit | --no-vit]
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib.util
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from backend.bootstrap import Interval, interval, paired
from backend.engine.run import WorkerRun
from backend.errors import InputError
from backend.explanation import Explanation, ModelRef
from backend.images import FAMILY, carrier, parts, pools
from backend.images.examples import EXAMPLES, photos
from backend.images.explanation import ImageExplanation, ImageTarget, Photos
from backend.images.image_faithfulness import ImageFaithfulnessParameters, tested
from backend.settings import settings
from backend.threads import one_thread
from bench.report import arguments, report

OURS, IG, OCCLUSION = "conex", "integrated_gradients", "occlusion"
METHODS = (OURS, "grad_cam", IG, "rise", OCCLUSION, "random_map", "centre_gaussian")
TIMED = {IG: "ig", OCCLUSION: "occlusion"}
FIGURES = {OURS: "conex", "grad_cam": "grad_cam", IG: "ig", "rise": "rise"}
METRICS = ("insertion", "deletion", "gap")
CONCEPT_METRICS = ("iou", "vcm", "ccm_auroc")
CURVES = ImageFaithfulnessParameters(parts=5, noise_draws=4)
"""Only the curves count here; the other numbers are made as cheap as they can be."""
HELD_OUT = 180
HELD_OUT_SEED = 30_000
PRESET = "efficientnet-lite0"
Row = tuple[object, ...]


@dataclasses.dataclass
class Measured:
    """Of one set of pictures.

    Attributes:
        concepts: metric -> value of every seed, class and part.
        shared: classes whose two parts have the same best concept; classes: how many there are.
        maps: method and metric -> seed and picture -> value.
        seconds: method -> seed and picture -> seconds.
        residuals: |logit - base - all contributions| of every picture.
        discovery: seconds of each discovery.
    """

    title: str
    concepts: dict[str, list[float]] = dataclasses.field(default_factory=lambda: defaultdict(list))
    shared: int = 0
    classes: int = 0
    maps: dict[tuple[str, str], dict[tuple[int, int], float]] = dataclasses.field(
        default_factory=lambda: defaultdict(dict)
    )
    seconds: dict[str, dict[tuple[int, int], float]] = dataclasses.field(
        default_factory=lambda: defaultdict(dict)
    )
    residuals: list[float] = dataclasses.field(default_factory=list)
    discovery: list[float] = dataclasses.field(default_factory=list)


def bare(seed: int, subject: Explanation | None = None) -> WorkerRun:
    """A run outside the engine: nothing is reported, nothing cancels it."""
    return WorkerRun(
        device="cpu",
        dtype="float32",
        seed=seed,
        subject=subject,
        report=lambda *_: None,
        cancelled=lambda: False,
    )


def explained(
    name: str,
    model: Any,
    pictures: Photos,
    target: ImageTarget,
    run: WorkerRun,
    **changed: object,
) -> ImageExplanation:
    """What an explainer or step tells, with its own parameters but for those changed."""
    method: Any = FAMILY.find(name)
    found: ImageExplanation = method.explain(
        model, pictures, target, method.Parameters(**changed), run
    )
    return found


def classifier(kind: Any, seed: int) -> Any:
    """A network trained on the pictures of parts."""
    from backend.images.models import Classifier
    from backend.images.parts_training import PREPROCESSING, trained

    module = trained(kind, seed, lambda *_: None)
    blocks = int(getattr(getattr(module, "config", None), "num_hidden_layers", 0) or 0)
    return Classifier(module, PREPROCESSING, parts.CLASSES, f"Parts {kind}", blocks)


def discovered(
    into: Measured, model: Any, pool: Photos, labels: Sequence[int], seed: int
) -> dict[int, ImageExplanation]:
    """The concepts of each class that has any."""
    probe = explained("mask_bias", model, Photos.none(), ImageTarget(), bare(seed))
    found = {}
    for label in labels:
        started = time.perf_counter()
        try:
            found[label] = explained(
                "discover_concepts", model, pool, ImageTarget(label=label), bare(seed, probe)
            )
        except InputError as error:
            say(f"{into.title}, class {label}: {error}")
            continue
        into.discovery.append(time.perf_counter() - started)
        say(f"{into.title}, seed {seed}, class {label}: concepts in {into.discovery[-1]:.1f} s")
    return found


def overlaps(
    into: Measured, model: Any, held: parts.Drawn, own: Photos, label: int, run: WorkerRun
) -> np.ndarray:
    """[K, parts]: the mean overlap of each concept with each part that defines the class."""
    import torch

    from backend.images.explained import enlarged

    rows = []
    for picture in np.flatnonzero(held.labels == label).tolist():
        target = ImageTarget(image=picture, label=label)
        one = explained(OURS, model, own, target, run, edges=False)
        into.residuals.append(abs(one.values["gap"]))
        row = []
        for level, least in zip(one.arrays["presence"], one.values["thresholds"], strict=True):
            there = enlarged(torch.from_numpy(level), model.shape) > least
            masks = held.masks[picture, list(parts.DEFINING[label])]
            row.append((there & masks).sum(axis=(1, 2)) / (there | masks).sum(axis=(1, 2)))
        rows.append(row)
    return np.asarray(np.mean(rows, axis=0))


def concepts(
    into: Measured,
    model: Any,
    held: parts.Drawn,
    own: Photos,
    found: dict[int, ImageExplanation],
    seed: int,
) -> None:
    """How well concepts are the parts."""
    for label, discovery in found.items():
        mean = overlaps(into, model, held, own, label, bare(seed, discovery))
        best = mean.argmax(axis=0)
        into.classes += 1
        into.shared += int(best[0] == best[1])
        for part, concept in enumerate(best.tolist()):
            told = discovery.values["concepts"][concept]
            values = (mean[concept, part], told["vcm"], told["ccm_auroc"])
            for name, value in zip(CONCEPT_METRICS, values, strict=True):
                if value is not None:
                    into.concepts[name].append(float(value))


def maps(
    into: Measured,
    model: Any,
    own: Photos,
    targets: Sequence[ImageTarget],
    found: dict[int, ImageExplanation],
    seed: int,
) -> None:
    """How faithful the maps of each method are, and their seconds."""
    from backend.images.explained import Decision
    from backend.images.infidelity import shaken

    for number, target in enumerate(targets):
        key = seed, target.image
        decision = Decision(model, own, target, bare(seed))
        known = shaken(decision, CURVES.noise_draws, np.random.default_rng(seed))
        for name in METHODS:
            subject = found[decision.label] if name == OURS else None
            if number == 0:  # what is only imported or planned once is not timed
                explained(name, model, own, target, bare(seed, subject))
            started = time.perf_counter()
            one = explained(name, model, own, target, bare(seed, subject))
            into.seconds[name][key] = time.perf_counter() - started
            scores = one.arrays["scores"].astype(np.float64)
            got = tested(decision, scores, CURVES, np.random.default_rng(seed), known).metrics
            if name == OURS:
                into.residuals.append(abs(one.values["gap"]))
            for metric in METRICS:
                value = got[metric]
                if value is not None:
                    into.maps[name, metric][key] = value
        say(f"{into.title}, seed {seed}: picture {number + 1} of {len(targets)}")


def of_parts(into: Measured, kind: str, seed: int, labels: Sequence[int], count: int) -> None:
    """Everything of one network of the pictures of parts."""
    model = classifier(kind, seed)
    pool = parts.photos(pools.PARTS_COUNT, pools.PARTS_SEED + seed)
    held = parts.pictures(HELD_OUT, HELD_OUT_SEED + seed)
    own = parts.photos(HELD_OUT, HELD_OUT_SEED + seed)
    found = discovered(into, model, pool, labels, seed)
    concepts(into, model, held, own, found, seed)
    inside = [i for i, label in enumerate(held.labels.tolist()) if label in found][:count]
    targets = [ImageTarget(image=i, label=int(held.labels[i])) for i in inside]
    maps(into, model, own, targets, found, seed)


def lite0() -> Any:
    """EfficientNet-Lite0 out of the package that carries it."""
    from backend.images import models

    preset = next(one for one in FAMILY.presets if one.id == PRESET)
    spec = importlib.util.find_spec(preset.package)
    places = (spec.submodule_search_locations or ()) if spec else ()
    file = next(Path(place) / preset.file for place in places)
    with tempfile.TemporaryDirectory() as folder:
        carrier.convert(file, Path(folder), lambda *_: None)
        return models.load(Path(folder), ModelRef(name=PRESET), "cpu")


def of_photos(into: Measured) -> None:
    """The bundled photos."""
    from backend.images.explained import Decision

    model = lite0()
    own = photos(tuple(photo.id for photo in EXAMPLES), settings())
    pool = pools.pool(own, ModelRef(name=PRESET), settings())
    wanted = [Decision(model, own, ImageTarget(image=i), bare(0)).label for i in range(len(own))]
    found = discovered(into, model, pool, list(dict.fromkeys(wanted)), 0)
    targets = [
        ImageTarget(image=i, label=label) for i, label in enumerate(wanted) if label in found
    ]
    maps(into, model, own, targets, found, 0)


def rows(of: Measured) -> list[Row]:
    """Means with their intervals."""
    found = [
        _row(f"{of.title}: {name} of the best concept", interval(of.concepts[name]))
        for name in CONCEPT_METRICS
        if of.concepts
    ]
    for metric in METRICS:
        found += [
            _row(f"{of.title}: {metric}, {name}", interval(list(of.maps[name, metric].values())))
            for name in METHODS
        ]
    for name in METHODS[1:]:
        found.append(_row(f"{of.title}: gap, {OURS} less {name}", difference(of, name)))
    found.append(_row(f"{of.title}: seconds of a discovery", interval(of.discovery)))
    if of.residuals:
        worst = (max(of.residuals), "-", "-", len(of.residuals))
        found.append((f"{of.title}: largest residual gap", *worst))
    for name in METHODS:
        spent = interval(list(of.seconds[name].values()))
        found.append(_row(f"{of.title}: seconds a picture, {name}", spent))
    return found


def _row(what: str, told: Interval) -> Row:
    ends = (told.mean, told.low, told.high)
    return (what, *("-" if end is None else end for end in ends), told.n)


def difference(of: Measured, name: str) -> Interval:
    """ConEx's gap less another's, picture by picture."""
    return paired(of.maps[OURS, "gap"], of.maps[name, "gap"])


def behind(of: Measured) -> list[str]:
    """In words, where ConEx's gap is not above another's."""
    found = []
    for name in METHODS[1:]:
        told = difference(of, name)
        if told.mean is None or told.low is None:
            found.append(f"{of.title}: too few pictures to compare the gap of {name}")
            continue
        if told.low > 0:
            continue
        how = "not above" if told.mean <= 0 else "above, but not clearly,"
        found.append(
            f"{of.title}: the gap of {OURS} is {how} that of {name}: {told.mean:+.3f} "
            f"[{told.low:+.3f}, {told.high:+.3f}] over {told.n} pictures"
        )
    found = found or [f"{of.title}: the gap of {OURS} is above that of every other method"]
    if of.shared:
        found.append(
            f"{of.title}: in {of.shared} of {of.classes} classes both parts have the same best "
            "concept"
        )
    return found


def ratio(of: Measured, name: str) -> float:
    """Median seconds of ConEx over another's, picture by picture."""
    ours, other = of.seconds[OURS], of.seconds[name]
    return median(ours[key] / other[key] for key in ours)


def figures(of: Measured, prefix: str = "") -> dict[str, float]:
    """The numbers the claim is about; none where no concepts were found."""
    if not of.residuals:
        return {}
    found = {
        f"{prefix}{'part_iou' if name == 'iou' else name}": float(np.mean(of.concepts[name]))
        for name in CONCEPT_METRICS
        if of.concepts
    }
    for name, short in FIGURES.items():
        found[f"{prefix}{short}_gap"] = float(np.mean(list(of.maps[name, "gap"].values())))
    for name, short in TIMED.items():
        found[f"{prefix}seconds_over_{short}"] = ratio(of, name)
    found[f"{prefix}max_residual_gap"] = max(of.residuals)
    return found


def say(what: str) -> None:
    """Progress, beside the table."""
    print(what, file=sys.stderr, flush=True)


def numbers(text: str) -> list[int]:
    """Numbers between commas."""
    return [int(one) for one in text.split(",")]


def main() -> None:
    """Measure and print."""
    parser = arguments(str(__doc__).splitlines()[0])
    parser.add_argument("--seeds", type=numbers, default=[0, 1, 2], help="of the CNNs")
    parser.add_argument(
        "--classes", type=numbers, default=list(range(8)), help="of two parts, 0 to 7"
    )
    parser.add_argument("--pictures", type=int, default=24, help="a seed, whose maps are tested")
    for name, default, what in (
        ("photos", False, "the bundled photos on EfficientNet-Lite0 too"),
        ("vit", True, "the ViT of the first seed too"),
    ):
        parser.add_argument(
            f"--{name}", action=argparse.BooleanOptionalAction, default=default, help=what
        )
    given = parser.parse_args()
    if not set(given.classes) <= set(range(8)):
        parser.error("classes are 0 to 7")
    cnn = Measured("CNN of parts")
    all_of = [cnn]
    with one_thread():
        for seed in given.seeds:
            of_parts(cnn, "cnn", seed, given.classes, given.pictures)
        told = figures(cnn)
        if given.vit:
            all_of.append(Measured("ViT of parts"))
            of_parts(all_of[-1], "vit", given.seeds[0], given.classes, given.pictures)
        if given.photos:
            all_of.append(Measured("Photos"))
            of_photos(all_of[-1])
            told |= figures(all_of[-1], "photos_")
    for line in (line for of in all_of for line in behind(of)):
        print(line)
    report(
        ("what", "mean", "low", "high", "n"),
        [row for of in all_of for row in rows(of)],
        told,
        as_json=given.json,
        libraries=("torch", "numpy", "scikit-learn", "scikit-image"),
    )


if __name__ == "__main__":
    main()
