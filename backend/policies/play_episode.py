"""An episode as pictures: it is played again in the true environment, every step drawn."""

from __future__ import annotations

import io
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from backend.bundle import Arrays
from backend.errors import InputError
from backend.explainer import Explainer, Run
from backend.explanation import Frozen
from backend.policies.agent import agent_of
from backend.policies.environment import find
from backend.policies.explanation import Experience, PolicyExplanation, PolicyTarget

CLOSE = 1e-4
"""States that are closer than this are the recorded ones."""


class PlayEpisodeParameters(Frozen):
    """How large pictures are."""

    width: Annotated[int, Field(ge=40, le=1200)] = Field(
        360, title="Width", description="Pixels; pictures that are smaller stay as they are."
    )


class PlayEpisode(Explainer):
    """Plays the target's episode again.

    Result: kind "frames". Arrays, N = steps + 1 pictures, the last one after the last action:
        frames: [bytes] uint8, the pictures as PNG files, one after the other.
        offsets: [N + 1] int64, where each begins.
        states: [N, S] float32. actions: [N - 1] int32. rewards: [N - 1] float32.
        probabilities: [N - 1, A] float32 of the agent, where one is known.

    Values: episode; format; width, height in pixels.
    """

    id = "play_episode"
    title = "Play an episode"
    family = "policies"
    role = "preparation"
    how_to_read = "What the agent saw and did, step by step."
    libraries = ("gymnasium", "numpy", "pillow")
    Parameters = PlayEpisodeParameters

    def explain(
        self, model: Any, input: Experience, target: PolicyTarget, parameters: Any, run: Run
    ) -> PolicyExplanation:
        """Draw the episode.

        Raises:
            InputError: the experience comes of no known environment, or has no such episode.
        """
        if not input.environment or "seeds" not in input.origin:
            raise InputError("This experience comes from a table: no environment can draw it.")
        from backend.policies.collecting import replay

        arrays = input.arrays
        episode = int(arrays["episodes"][0]) if target.episode is None else target.episode
        rows = np.flatnonzero(arrays["episodes"] == episode)
        if not len(rows):
            last = int(arrays["episodes"].max())
            raise InputError(f"There is no episode {episode}.", todo=f"Choose from 0 to {last}.")
        run.progress(0, 1, "drawing the episode")
        states, pictures = replay(input, find(input.environment), episode, pictures=True)
        if np.abs(np.stack(states)[:-1] - arrays["states"][rows]).max() > CLOSE:
            raise InputError("The environment did not play this episode again as it was recorded.")
        files = []
        for done, picture in enumerate(pictures):
            run.progress(done, len(pictures), "drawing the episode")
            files.append(_png(picture, parameters.width))
        sizes = np.cumsum([0, *(len(data) for data, _ in files)])
        agent = agent_of(input)
        found: Arrays = {
            "frames": np.frombuffer(b"".join(data for data, _ in files), dtype=np.uint8),
            "offsets": sizes.astype(np.int64),
            "states": np.stack(states).astype(np.float32),
            "actions": arrays["actions"][rows],
            "rewards": arrays["rewards"][rows],
        }
        if agent is not None:
            known = agent.probabilities(arrays["states"][rows])
            found["probabilities"] = known.astype(np.float32)
        width, height = files[0][1]
        values = {"kind": "frames", "episode": episode, "format": "png",
                  "width": width, "height": height}  # fmt: skip
        return PolicyExplanation(arrays=found, values=values)


def frame(found: PolicyExplanation, number: int) -> bytes:
    """One picture of kind "frames" as a PNG file."""
    offsets = found.arrays["offsets"]
    return found.arrays["frames"][offsets[number] : offsets[number + 1]].tobytes()


def _png(picture: np.ndarray, width: int) -> tuple[bytes, tuple[int, int]]:
    from PIL import Image

    drawn = Image.fromarray(picture)
    if drawn.width > width:
        drawn = drawn.resize((width, round(drawn.height * width / drawn.width)))
    out = io.BytesIO()
    drawn.quantize(32).save(out, "PNG")
    return out.getvalue(), drawn.size
