"""The bundled models of the Policies family: environments, two of them with an agent."""

from __future__ import annotations

from backend.explainer import Preset
from backend.policies.environment import ENVIRONMENTS, OWN, Environment


def _preset(environment: Environment) -> Preset:
    file = f"agents/{environment.id}.safetensors" if environment.agent else "environment.py"
    kind = "trained agent" if environment.agent else "agent trained here"
    return Preset(
        id=environment.id,
        title=f"{environment.title} ({kind})",
        package="backend",
        file=f"policies/{file}",
        distribution="vitrine",
        licence="Apache-2.0; environment MIT" if environment.id != "minigrid" else "Apache-2.0",
        note=environment.note,
    )


PRESETS = (
    *(_preset(environment) for environment in ENVIRONMENTS),
    Preset(
        id=OWN,
        title="Trajectories of your own",
        package="backend",
        file="policies/environment.py",
        distribution="vitrine",
        licence="",
    ),
)
