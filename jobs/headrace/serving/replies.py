"""What HTTP answers to a request for rows of a table: decided and written in a reader's process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlencode

from headrace import faults
from headrace.errors import HeadraceError, UsageError
from headrace.project import secret_values
from headrace.project.model import Project
from headrace.reading.rows import to_json
from headrace.secrets import hidden, remember
from headrace.serving import tables
from headrace.serving.tables import Asked, BadParameter, LeftOut, Page
from headrace.store.layout import Layout

RETRY = {"Retry-After": "1"}


@dataclass(frozen=True)
class Read:
    """A request for rows: the table, which of its rows, the versions that the client has, and how it asked."""

    table: str
    asked: Asked
    known: tuple[str, ...] = ()
    path: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Reply:
    """A response: its status, its body as JSON text, and its headers."""

    status: int
    body: str
    headers: Mapping[str, str] = field(default_factory=dict)


def reply(project: Project, layout: Layout, read: Read) -> Reply:
    """Read a page; whatever is wrong with the request or the store is a reply, too."""
    remember(secret_values.of(project.target))  # in this process, too
    try:
        page = tables.page(project, layout, read.table, read.asked, read.known)
    except LeftOut as error:
        return parameter(400, error.name, "not_known_to_agree", str(error))
    except BadParameter as error:
        return parameter(422, error.name, "bad_parameter", str(error))
    except UsageError as error:
        return detail(404, str(error))
    except HeadraceError as error:
        return detail(503, str(error), RETRY)
    except Exception as error:
        if (line := faults.describe(error)) is None:
            raise
        return detail(503, hidden(line), RETRY)
    return Reply(304, "", {"ETag": f'"{page}"'}) if isinstance(page, str) else _rows(read, page)


def detail(status: int, message: str, headers: Mapping[str, str] | None = None) -> Reply:
    """A response that says in words what is wrong."""
    return Reply(status, to_json({"detail": message}), headers or {})


def parameter(status: int, name: str, kind: str, message: str) -> Reply:
    """A response that names the parameter that is wrong."""
    return Reply(status, to_json({"detail": [{"loc": ["query", name], "type": kind, "msg": message}]}))


def _rows(read: Read, page: Page) -> Reply:
    headers = {"ETag": f'"{page.version}"'}
    if page.after is not None:
        headers["Link"] = f'<{read.path}?{urlencode({**read.parameters, "after": page.after})}>; rel="next"'
    body = {"table": page.table, "version": page.version, "rows": page.rows, "next": page.after}
    return Reply(200, to_json(body), headers)
