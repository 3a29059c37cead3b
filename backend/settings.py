"""Every setting of Vitrine, read from environment variables that start with `VITRINE_`."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

import platformdirs
from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict


class Settings(BaseSettings):
    """One typed place for configuration; docs/configuration.md is drawn from it."""

    model_config = SettingsConfigDict(
        env_prefix="VITRINE_", frozen=True, extra="ignore", allow_inf_nan=False
    )

    store: Path = Field(
        default_factory=lambda: platformdirs.user_data_path("vitrine", appauthor=False),
        description="Folder of stored explanations, inputs and converted models.",
    )
    store_max_gb: float = Field(
        10.0, gt=0, description="Size above which the least recently used results go (GB)."
    )
    device: str = Field(
        "auto",
        pattern=r"^(auto|cpu|mps|cuda(:\d{1,3})?)$",
        description="`auto`, `cpu`, `cuda:0`, ...: where workers compute.",
    )
    threads: int = Field(
        0, ge=0, description="CPU threads of a worker; 0 takes all cores the process may use."
    )
    model_folders: Annotated[tuple[Path, ...], NoDecode] = Field(
        (),
        description="Folders of models a page may offer, separated by the path separator; "
        "each is one model or holds one model a subfolder.",
    )
    hub: Annotated[Literal["on", "off"] | tuple[str, ...], NoDecode] = Field(
        "on", description="`on`, `off`, or a comma-separated allow list of hub ids."
    )
    model_memory_gb: float = Field(
        8.0,
        gt=0,
        description="Memory for models a worker keeps loaded; least recently used go first.",
    )
    pass_memory_gb: float = Field(
        2.0,
        ge=0,
        description="Memory a loaded model may use for forward passes it remembers, so that "
        "another span of the same answer needs none.",
    )
    worker_memory_gb: float | None = Field(
        None, gt=0, description="Address-space limit of a CPU worker (GB); unset means none."
    )
    queue_limit: int = Field(64, ge=1, description="Jobs that may wait; one more is refused.")
    job_deadline_s: float = Field(3600.0, gt=0, description="Seconds after which a job is stopped.")
    cancel_grace_s: float = Field(
        5.0,
        ge=0,
        description="Seconds a cancelled job may take to stop before its worker is replaced.",
    )
    warm: bool = Field(
        True, description="Whether opening a page starts to load its first bundled model."
    )
    max_tokens: int = Field(4096, ge=2, description="Longest prompt with answer, in tokens.")
    max_new_tokens: int = Field(256, ge=1, description="Longest generated answer, in tokens.")
    max_upload_mb: float = Field(10.0, gt=0, description="Largest uploaded prompt file (MB).")
    max_prompts: int = Field(1000, ge=1, description="Most prompts read from one file.")
    max_table_mb: float = Field(
        50.0, gt=0, description="Largest uploaded table, label head or zip of pictures (MB)."
    )
    max_unpacked_mb: float = Field(
        1000.0, gt=0, description="Most that an uploaded archive may unpack to (MB)."
    )
    max_samples: int = Field(100_000, ge=1, description="Most samples of an uploaded table.")
    max_columns: int = Field(5000, ge=2, description="Most columns of an uploaded table.")
    max_pictures: int = Field(10_000, ge=1, description="Most samples that may have pictures.")
    max_image_mb: float = Field(20.0, gt=0, description="Largest uploaded picture file (MB).")
    max_images: int = Field(500, ge=1, description="Most pictures brought at once.")
    max_total_megapixels: float = Field(
        500.0, gt=0, description="Most pixels of all pictures brought at once (millions)."
    )
    max_megapixels: float = Field(
        50.0, gt=0, description="Largest uploaded picture (millions of pixels)."
    )
    max_graph_mb: float = Field(
        20.0, gt=0, description="Largest uploaded file of graphs, or of a network's weights (MB)."
    )
    max_graphs: int = Field(5000, ge=1, description="Most graphs read from one file.")
    max_nodes: int = Field(100_000, ge=1, description="Most nodes read from one file of graphs.")
    max_edges: int = Field(250_000, ge=1, description="Most edges read from one file of graphs.")
    export_timeout_s: float = Field(
        60.0, gt=0, description="Seconds the browser may take for one exported figure."
    )

    @field_validator("model_folders", mode="before")
    @classmethod
    def _split_folders(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(Path(part) for part in value.split(os.pathsep) if part)
        return value

    @field_validator("store", "model_folders")
    @classmethod
    def _absolute(cls, value: Path | tuple[Path, ...]) -> Path | tuple[Path, ...]:
        # A worker's working folder is not the app's.
        if isinstance(value, tuple):
            return tuple(path.expanduser().absolute() for path in value)
        return value.expanduser().absolute()

    @field_validator("hub", mode="before")
    @classmethod
    def _split_hub(cls, value: object) -> object:
        if isinstance(value, str) and value not in ("on", "off"):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value

    def environment(self) -> dict[str, str]:
        """These settings as environment variables, for a process that shall have the same."""
        found = {}
        for name, value in self:
            if isinstance(value, tuple):
                separator = os.pathsep if name == "model_folders" else ","
                value = separator.join(map(str, value))
            if value is not None:
                found[f"VITRINE_{name.upper()}"] = str(value)
        return found


@cache
def settings() -> Settings:
    """The settings of this process, read once."""
    return Settings()
