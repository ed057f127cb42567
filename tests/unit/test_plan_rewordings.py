"""Models written in another way that means the same, as analysts do: how often a plan is needlessly careful."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from headrace.planning.declared import Declared
from tests.plan import corpus

REWORDINGS: Mapping[str, Mapping[str, Any]] = YAML(typ="safe").load(Path(corpus.__file__).parent / "rewordings.yml")
MOST = 0.08
"""The share of needless care that is allowed."""

ARRIVAL = "struct<landing_batch:bigint,topic:string,partition:int,offset:bigint>"
TYPES = {
    "silver.rates": {"k": "string", "rate": "bigint", "_arrival": ARRIVAL},
    "silver.names": {"k": "string", "name": "string", "_arrival": ARRIVAL},
}
TABLES = {
    "sql/silver/s/rates.sql": "/*\nRates: one row per k.\n\nmaterialized: upsert\nunique_key: k\n*/\n"
    "select k, x as rate, _arrival from stream silver.b\n",
    "sql/silver/s/names.sql": "/*\nNames: one row per record.\n\nmaterialized: append\n*/\n"
    "select k, id as name, _arrival from stream silver.b\n",
}
ALLOWED = "allow: {cut-dependent: each batch is looked at alone here}\n"


def test_little_is_treated_with_needless_care() -> None:
    careful = [name for name, each in REWORDINGS.items() if "verdict" in each]
    assert len(careful) <= MOST * len(REWORDINGS)


@pytest.mark.parametrize("name", [*REWORDINGS])
def test_what_means_the_same_may_go_on(name: str, tmp_path: Path) -> None:
    each = REWORDINGS[name]
    header = f"materialized: append\n{ALLOWED if each.get('is_of_batches') else ''}"
    old, new = (
        corpus.project(
            {**corpus.BASE, **TABLES, "sql/gold/s/t.sql": f"/*\nRows: one row per row.\n\n{header}*/\n{each[text]}\n"},
            tmp_path / text,
        )
        for text in ("one", "other")
    )
    found = corpus.outcomes(Declared.of(old, TYPES), new)["gold.t"]
    assert found.verdict.name == each.get("verdict", "SAME"), found.reasons
