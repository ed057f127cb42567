"""The shipped systems written in another way that means the same: every model may simply go on."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from headrace.planning.comparison import Comparison
from headrace.planning.declared import Declared
from headrace.project import loader
from tests.long import long

PROJECT = Path(__file__).parents[2]
HEADER = re.compile(r"\s*/\*.*?\*/", re.DOTALL)
QUOTED = re.compile(r"(--[^\n]*|/\*.*?\*/|'[^']*'|`[^`]*`|:\w+)", re.DOTALL)
KEYWORDS = re.compile(
    r"\b(select|from|stream|where|(?:left |inner |cross )?join|on|and|or|not|as|group by|with|case|when|then|else|end"
    r"|coalesce|sum|max|min|count|is|null|in|union all|interval|struct|cast|over|partition by|order by|between)\b"
)
CTES = re.compile(r"(?:with|,)\s+(\w+) as \(")


def renamed(code: str) -> str:
    """The code with other names of CTEs, but for those that are also names of columns."""
    names = [name for name in CTES.findall(code) if not re.search(rf"(\.{name}\b(?!\.)|\bas {name}\b)", code)]
    return re.sub(rf"(?<![.\w])({'|'.join(names)})\b", r"\1_2", code) if names else code


WAYS = {
    "case": lambda code: KEYWORDS.sub(lambda found: found[0].upper(), code),
    "spaces": lambda code: re.sub(r"(\s)", r"\1\1", code),
    "names": renamed,
    "comments": lambda code: re.sub(r"\b(from|where)\b", r"\1 /* as before */", code),
}


@pytest.mark.parametrize("ways", [[*WAYS], *map(long, ([way] for way in WAYS))], ids="+".join)
def test_every_model_may_go_on(ways: list[str], tmp_path: Path) -> None:
    for name in ("conf", "macros", "sql", "manifest.yml"):
        source = PROJECT / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, tmp_path / name)
    written = [rewritten(path, ways) for path in sorted((tmp_path / "sql").rglob("*.sql"))]
    old, new = loader.load(PROJECT, "test"), loader.load(tmp_path, "test")
    stored = [model.table for query in new.queries for model in query.models]
    found = Comparison(Declared.of(old), Declared.of(new)).outcomes(stored)
    assert sum(written) > len(written) / 2
    assert {outcome.verdict.name for outcome in found.values()} == {"SAME"}


def rewritten(path: Path, ways: list[str]) -> bool:
    """Write a model's SQL in other ways, one after the other; whether that made a difference."""
    text = path.read_text()
    header = HEADER.match(text)
    start = header.end() if header else 0
    quoted: list[str] = []

    def put_aside(found: re.Match[str]) -> str:
        quoted.append(found[0])
        return f"${len(quoted) - 1}$"

    code = QUOTED.sub(put_aside, text[start:])
    for way in ways:
        code = WAYS[way](code)
    path.write_text(text[:start] + re.sub(r"\$(\d+)\$", lambda found: quoted[int(found[1])], code))
    return path.read_text() != text
