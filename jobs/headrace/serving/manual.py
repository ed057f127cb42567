"""The page at /docs: the service's operations, read from its OpenAPI description, without external resources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

_STYLE = "body{font:16px/1.5 sans-serif;max-width:50em;margin:2em auto;padding:0 1em}dt{margin-top:.5em}"


def page(openapi: Mapping[str, Any]) -> str:
    """One HTML page for all operations."""
    title = f"{openapi['info']['title']} {openapi['info']['version']}"
    operations = "".join(
        _operation(method, path, operation)
        for path, methods in openapi["paths"].items()
        for method, operation in methods.items()
    )
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{escape(title)}</title><style>{_STYLE}</style>"
        f"<h1>{escape(title)}</h1><p>For programs: <a href=/openapi.json>/openapi.json</a></p>{operations}</html>"
    )


def _operation(method: str, path: str, operation: Mapping[str, Any]) -> str:
    about = escape(operation.get("description", ""))
    return f"<h2><code>{method.upper()} {escape(path)}</code></h2><p>{about}</p><dl>{''.join(_terms(operation))}</dl>"


def _terms(operation: Mapping[str, Any]) -> Iterator[str]:
    for parameter in operation.get("parameters", ()):
        about = parameter.get("description", "") or f"In the {parameter['in']}."
        yield f"<dt><code>{escape(parameter['name'])}</code></dt><dd>{escape(about)}</dd>"
    for status, response in operation["responses"].items():
        yield f"<dt>{escape(status)}</dt><dd>{escape(response['description'])}</dd>"
