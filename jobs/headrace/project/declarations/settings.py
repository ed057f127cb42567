"""How a model runs, as its header and the folders of manifest.yml declare it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field

from headrace.project.declarations.documents import Shape, refuse
from headrace.project.declarations.shapes import Expression, History, Keep, Name, Texts
from headrace.project.model import Kind

_DBT_KINDS = {
    "incremental": "`append` adds the rows of each batch, `upsert` keeps one current row per `unique_key`",
    "table": "`append` or `upsert` fills a table from a stream, `snapshot` writes the whole result every few seconds",
    "ephemeral": "`view` is inlined where it is read",
}


def _materialized(value: Any) -> Any:
    if isinstance(value, str) and value in _DBT_KINDS:
        raise refuse("dbt-word", f"`materialized: {value}` is dbt's; here {_DBT_KINDS[value]}")
    return value


class Settings(Shape):
    """What a header, or a folder in manifest.yml, may declare about how models run."""

    materialized: Annotated[Kind | None, BeforeValidator(_materialized, json_schema_input_type=Kind | None)] = None
    query: Name | None = None
    run: Literal["streaming", "micro_batch"] | None = None
    output_mode: Literal["append", "update"] = "append"
    log: Expression | None = None
    on_error: Literal["stop", "dead_letter"] = "stop"
    extra_columns: Literal["allow", "refuse"] = "allow"
    max_state_bytes: Annotated[int, Field(ge=1_000)] = 1 << 20
    keep: Keep | None = None
    keep_history: History | None = None
    owner: str | None = None
    tags: Texts = ()
    meta: dict[str, Any] = Field(default_factory=dict)

    def over(self, wider: Settings) -> Settings:
        """Return these settings completed by wider ones; tags and meta add up, others replace."""
        own = {name: getattr(self, name) for name in Settings.model_fields if name in self.model_fields_set}
        sums = {"tags": tuple(dict.fromkeys((*wider.tags, *self.tags))), "meta": {**wider.meta, **self.meta}}
        return wider.model_copy(update={**own, **sums})


class FolderSettings(Settings):
    """Settings as manifest.yml writes them: each key with a plus sign before it."""

    model_config = ConfigDict(alias_generator=lambda name: f"+{name}")
