"""The Images family on the command line."""

from __future__ import annotations

import argparse
from typing import Any, cast

from backend.commands import work
from backend.commands.desk import Picture
from backend.engine.engine import Engine
from backend.explanation import Comparison, Explanation, Request
from backend.images import arguments, files, plan, studied
from backend.images.explanation import ImageExplanation, Photos
from backend.images.grounds import grounds
from backend.images.image_metrics import METRICS
from backend.images.plan import Grounds
from backend.settings import Settings
from backend.study import Studied


class Desk:
    """A picture and a class of an image classifier."""

    def add_explain(self, parser: argparse.ArgumentParser) -> None:
        arguments.add(parser)
        work.add(parser)

    def add_score(self, parser: argparse.ArgumentParser) -> None:
        self.add_explain(parser)

    def add_study(self, parser: argparse.ArgumentParser) -> None:
        self.add_explain(parser)

    def comparison(self, given: argparse.Namespace, engine: Engine) -> Comparison:
        family = work.family_of(given.family)
        photos = arguments.read(given, engine.settings)
        return Comparison(
            family=family.id,
            model=work.model(given.model, given.precision, family),
            input=engine.put_input(photos, family.id),
            target=arguments.target(given, photos).model_dump(mode="json"),
            choices=work.choices(given.explainer, given.set, family),
            seed=given.seed,
        )

    def requests(self, engine: Engine, comparison: Comparison) -> tuple[Request, ...]:
        return plan.requests(comparison, self._grounds(engine, comparison))

    def files(
        self, explanation: Explanation, comparison: Comparison, engine: Engine, picture: Picture
    ) -> dict[str, bytes]:
        found = cast(ImageExplanation, explanation)
        photos = self._photos(engine, comparison)
        return {
            "explanation.json": files.values(found),
            "arrays.safetensors": files.arrays(found),
            "scores.csv": files.numbers(found),
            "card.html": files.card(found, photos, picture("svg")),
            **files.beside(photos),
        }

    def score(self, given: argparse.Namespace, settings: Settings) -> dict[str, Any]:
        engine = Engine(settings)
        try:
            comparison = self.comparison(given, engine)
            work.check_ranks(work.family_of(comparison.family), comparison.choices)
            ranked = self.requests(engine, comparison)
            work.finish(engine, ranked)
            asked = plan.score_requests(ranked)
            names = [*(request.explainer for request in ranked), work.RANDOM]
            scores = []
            for name, (_, found) in zip(names, work.finish(engine, asked), strict=True):
                told = found.values
                row = {"explainer": name, **told["metrics"], "undefined": told["undefined"]}
                row |= {"seconds": told["seconds"], "forward_passes": told["forward_passes"]}
                scores.append(row | ({"spread": told["spread"]} if told["spread"] else {}))
            return {
                "scores": scores,
                "won_by_control": work.won(scores, METRICS, comparison.family),
            }
        finally:
            engine.close()

    def study(self, given: argparse.Namespace, engine: Engine) -> Studied:
        comparison = self.comparison(given, engine)
        photos = self._photos(engine, comparison)
        work.check_ranks(work.family_of(comparison.family), comparison.choices)
        grounds = self._grounds(engine, comparison)
        return studied.studied(comparison, photos, given.items, given.seeds, grounds)

    def table(self, outcome: dict[str, Any]) -> str:
        return work.score_table(outcome["scores"], METRICS, outcome["won_by_control"])

    def _grounds(self, engine: Engine, comparison: Comparison) -> Grounds | None:
        """What explainers by concepts rest on; the pictures are classified first."""
        if not plan.by_concepts(comparison):
            return None
        [(_, found)] = work.finish(engine, [plan.classify_request(comparison)])
        photos = self._photos(engine, comparison)
        return grounds(engine, comparison, photos, cast(ImageExplanation, found))

    @staticmethod
    def _photos(engine: Engine, comparison: Comparison) -> Photos:
        return cast(Photos, engine.get_input(comparison.family, comparison.input))
