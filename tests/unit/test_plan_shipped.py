"""The shipped systems written in another way, word for word the same: every model may simply go on."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from headrace.planning.comparison import Comparison
from headrace.planning.declared import Declared
from headrace.project import loader

PROJECT = Path(__file__).parents[2]
HEADER = re.compile(r"\s*/\*.*?\*/", re.DOTALL)
QUOTED = re.compile(r"(--[^\n]*|/\*.*?\*/|'[^']*'|`[^`]*`|:\w+)", re.DOTALL)
KEYWORDS = re.compile(
    r"\b(select|from|stream|where|(?:left |inner |cross )?join|on|and|or|not|as|group by|with|case|when|then|else|end"
    r"|coalesce|sum|max|min|count|is|null|in|union all|interval|struct|cast|over|partition by|order by|between)\b"
)
WAYS = {
    "case": lambda code: KEYWORDS.sub(lambda found: found[0].upper(), code),
    "spaces": lambda code: re.sub(r"(\s)", r"\1\1", code),
    "comments": lambda code: re.sub(r"\b(from|where)\b", r"\1 /* as before */", code),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_model_may_go_on(way: str, tmp_path: Path) -> None:
    for name in ("conf", "macros", "sql", "manifest.yml"):
        source = PROJECT / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, tmp_path / name)
    written = [rewritten(path, way) for path in sorted((tmp_path / "sql").rglob("*.sql"))]
    old, new = loader.load(PROJECT, "test"), loader.load(tmp_path, "test")
    stored = [model.table for query in new.queries for model in query.models]
    found = Comparison(Declared.of(old), Declared.of(new)).outcomes(stored)
    assert all(written)
    assert {outcome.verdict.name for outcome in found.values()} == {"SAME"}


def rewritten(path: Path, way: str) -> bool:
    """Write a model's SQL in another way; whether that made a difference."""
    text = path.read_text()
    header = HEADER.match(text)
    start = header.end() if header else 0
    parts = QUOTED.split(text[start:])
    path.write_text(text[:start] + "".join(part if at % 2 else WAYS[way](part) for at, part in enumerate(parts)))
    return path.read_text() != text
