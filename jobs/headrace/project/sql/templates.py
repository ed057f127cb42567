"""Jinja in the text of a model: the text of the file is what runs, so a template is a finding."""

from __future__ import annotations

import re
from collections.abc import Iterator

from headrace.errors import Finding
from headrace.project.files import place_at

_OPAQUE = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`|--[^\n]*|/\*.*?\*/", re.DOTALL)
"""Texts, quoted names and comments; braces in them mean nothing."""

_TEMPLATE = re.compile(r"\{\{-?\s*(\w*)|\{%|\{#")

_QUOTED = re.compile(r"\{\{-?\s*(ref|source|config|var|this|env_var|target)\b")
"""In quoted texts only what is clearly a template: dbt's users put `'{{ var("name") }}'` in quotes."""

_INSTEAD = {
    "ref": "write the table itself: `stream silver.orders`, or `silver.orders` to look it up",
    "source": "write the source itself: `stream bronze.orders`",
    "config": "settings are YAML keys in the first comment: `materialized: append`",
    "var": "write `:name` for a variable of manifest.yml or conf",
    "this": "write the model's own table: `gold.orders`",
}


def jinja(text: str, path: str) -> Iterator[Finding]:
    """Find the templates of a text, each with what to write instead."""
    bare = _OPAQUE.sub(_blank, text)
    found = {match.start(): match for match in (*_QUOTED.finditer(_without_comments(text)), *_TEMPLATE.finditer(bare))}
    for _, match in sorted(found.items()):
        instead = _INSTEAD.get(match[1] or "", "repeated SQL goes into a SQL function in macros/")
        yield Finding(place_at(path, text, match.start()), "jinja", f"there are no templates here; {instead}")


def _without_comments(text: str) -> str:
    return _OPAQUE.sub(lambda match: _blank(match) if match[0][0] in "-/" else match[0], text)


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])
