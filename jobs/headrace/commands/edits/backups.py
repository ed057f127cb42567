"""Backup and restore: one consistent set of tables, checkpoints and notes, and what Kafka was sent since."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path

from headrace.commands.edits.rebuilding import rebuilding
from headrace.commands.workspace import Workspace
from headrace.environment import backup, owner
from headrace.errors import ExitCode, InvalidProject, UsageError
from headrace.project.model import Project
from headrace.publishing import settling
from headrace.publishing.positions import Choice, Standing, counted
from headrace.publishing.progress import Recorded
from headrace.publishing.settling import Unrecorded
from headrace.store import lease
from headrace.store.layout import Layout
from headrace.store.paths import ObjectPath, StorePath, path_of


def take(workspace: Workspace, to: str) -> int:
    """Copy what is stored to an empty folder or prefix; no runner may run, and no query may be rebuilt."""
    layout, place = workspace.layout, _place(workspace, to)
    with _alone(workspace, layout), _connected(workspace) as project:
        found = settling.recorded(project)
        names = (project.name, project.target.identity)
        made = backup.take(layout, place, names, {table: _fields(each) for table, each in found.items()})
    print(f"{len(made.tables)} tables with their checkpoints and notes are in {place}", file=sys.stderr)
    return ExitCode.OK


def put_back(workspace: Workspace, source: str | None, replace: bool, choice: Choice | None) -> int:
    """Replace what is stored by a backup, and let publishers go on as chosen; no runner may run, nor a rebuild.

    Without a source, the data were put in place by other means, and only publishers are set.
    """
    if source is None and choice is None:
        raise UsageError(
            "name the folder of a backup, or `--publish again` or `--publish skip` for data that are in place"
        )
    layout = workspace.declared.target.layout
    owner.refuse(layout, workspace.declared.name)
    place = None if source is None else _place(workspace, source)
    if place is None:
        backup.refuse_half(layout)
    else:
        _refuse(workspace, place, replace)
    with _alone(workspace, layout), _connected(workspace) as project:
        found, put = settling.recorded(project), layout if place is None else layout.within(place)
        standings = [*settling.unfit(project, put, found, is_backup=place is not None)]
        missing = [*settling.without_table(project, put, found)]
        unknown = [*settling.unrecorded(project, put, found, {} if place is None else backup.manifest(place).sent)]
        if standings and choice is None:
            raise InvalidProject(finding for each in standings if (finding := each.finding()))
        if choice is not None:
            settling.refuse_unknown(standings, choice)
        if place is not None:
            backup.put_back(layout, place)
        if choice is not None:
            settling.settle(project, [*standings, *unknown], choice)
    lines = [*map(_missing, missing), *(_unrecorded(each, choice) for each in unknown)]
    for line in (*lines, *(_lines(standings, choice) if standings or not lines else ())):
        print(line, file=sys.stderr)
    return ExitCode.OK


def _refuse(workspace: Workspace, place: StorePath, replace: bool) -> None:
    """Refuse a backup of another project, and data that would be lost unless they are to be replaced."""
    layout, found = workspace.declared.target.layout, backup.manifest(place)
    if found.project != workspace.declared.name:
        raise UsageError(f"{place} is a backup of the project {found.project}, and this is {workspace.declared.name}")
    if not replace and (there := backup.stored(layout)):
        raise UsageError(f"{layout.root} is not empty: it has {', '.join(there)}; `--replace` removes them")


@contextmanager
def _alone(workspace: Workspace, layout: Layout) -> Iterator[None]:
    """Hold the lease of the runner and those of all rebuilds, which write to what is copied or replaced, too."""
    queries = {query.name for query in workspace.declared.queries}
    queries |= {file.parent.name for file in layout.rebuilds.glob("*/rebuild.json")}
    with ExitStack() as held:
        held.enter_context(lease.held(layout))
        for query in sorted(queries):
            held.enter_context(lease.exclusive(rebuilding(layout, query)))
        yield


def _connected(workspace: Workspace) -> AbstractContextManager[Project]:
    """The project with its broker, if anything of it is published."""
    has_publishers = any(model.publish for model in workspace.declared.models)
    return workspace.with_broker() if has_publishers else nullcontext(workspace.declared)


def _place(workspace: Workspace, text: str) -> StorePath:
    """The folder or prefix that is named; a bucket is reached by the options of the project's store.

    It is absolute: a restore that is interrupted names it to commands that are called elsewhere.
    """
    store = workspace.declared.target.store
    found = path_of(text, store.bucket.options if isinstance(store, ObjectPath) else None)
    return found.absolute() if isinstance(found, Path) else found


def _fields(record: Recorded) -> Mapping[str, object]:
    fields: Mapping[str, object] = json.loads(record.progress.to_json(record.by))
    return fields


def _lines(standings: list[Standing], choice: Choice | None) -> list[str]:
    """What becomes of rows that were sent since."""
    if not standings:
        return ["nothing that is published was sent beyond what the tables hold"]
    return [_line(standing, choice) for standing in standings]


def _line(standing: Standing, choice: Choice | None) -> str:
    table = standing.model.table
    if standing.is_elsewhere or standing.is_of_copy:
        behind = "from now on" if standing.sent is None else f"after the first {counted(standing.sent)}"
        return f"{table}: {'all rows' if choice == 'again' else f'only rows {behind}'} are sent"
    what = f"{table}: {_were_sent(standing.lost)} that it does not hold"
    return f"{what}; sent again" if choice == "again" else f"{what}; as many of the next rows are not sent"


def _missing(standing: Standing) -> str:
    """What is to be done about rows of a table that is not there any more."""
    return (
        f"{standing.model.table}: {_were_sent(standing.lost)}, and its table is not there; the next run makes it, "
        "and is refused until `headrace restore --publish` says whether they are sent again"
    )


def _unrecorded(found: Unrecorded, choice: Choice | None) -> str:
    """What becomes of rows of which Kafka does not know whether they were sent."""
    table, since = (
        found.model.table,
        "from now on" if found.noted is None else "that were not sent when the backup was taken",
    )
    if choice is not None:
        return f"{table}: {'all rows' if choice == 'again' else f'only rows {since}'} are sent"
    return (
        f"{table}: this Kafka does not know how far it was sent; the next run is refused until `headrace restore` with "
        f"`--publish again` sends all rows, or with `--publish skip` only those {since}"
    )


def _were_sent(rows: int | None) -> str:
    return "rows were sent" if rows is None else f"{counted(rows)} {'was' if rows == 1 else 'were'} sent"
