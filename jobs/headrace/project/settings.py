"""How a model runs, as its header and the folders of manifest.yml say it."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field

from headrace.project.documents import Shape
from headrace.project.model import Kind
from headrace.project.shapes import Expression, Name, Texts


class Settings(Shape):
    """What a header, or a folder in manifest.yml, may say of how models run."""

    materialized: Kind | None = None
    query: Name | None = None
    run: Literal["streaming", "micro_batch"] | None = None
    output_mode: Literal["append", "update"] = "append"
    log: Expression | None = None
    extra_columns: Literal["allow", "refuse"] = "allow"
    owner: str | None = None
    tags: Texts = ()
    meta: dict[str, Any] = Field(default_factory=dict)

    def over(self, wider: Settings) -> Settings:
        """Return these settings completed by wider ones; tags and meta add up, others replace."""
        given = {name: getattr(self, name) for name in Settings.model_fields if name in self.model_fields_set}
        sums = {"tags": tuple(dict.fromkeys((*wider.tags, *self.tags))), "meta": {**wider.meta, **self.meta}}
        return wider.model_copy(update={**given, **sums})


class FolderSettings(Settings):
    """Settings as manifest.yml writes them: each key with a plus sign before it."""

    model_config = ConfigDict(alias_generator=lambda name: f"+{name}")
