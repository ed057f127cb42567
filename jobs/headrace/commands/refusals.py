"""The command that shows what was refused, lands records again, and requests failed rows again."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

from rich.console import Console

from headrace.commands.workspace import Workspace
from headrace.errors import ExitCode
from headrace.reading import printing
from headrace.reading.dead_letters import Chosen, Refused, refuse_unknown, refused
from headrace.reading.rows import to_json, to_text
from headrace.store import lease
from headrace.write_errors import naming


def show(workspace: Workspace, chosen: Chosen, as_json: bool) -> int:
    """List what was refused."""
    groups = [*refused(workspace.declared, workspace.layout, chosen)]
    if as_json:
        printing.write_lines(to_json(asdict(group)) for group in groups)
        return ExitCode.OK
    if not groups:
        print("nothing was refused", file=sys.stderr)
    printing.print_lines([_line(group) for group in groups], Console())
    for group in groups:
        for example in group.examples:
            fields = "  ".join(f"{name} {to_text(value)}" for name, value in example.items())
            print(f"{group.source} {group.reason}: {fields}")
    return ExitCode.OK


def replay(workspace: Workspace, chosen: Chosen, as_json: bool) -> int:
    """Check refused records again, and request failed rows again; no runner may be active."""
    project, layout = workspace.declared, workspace.layout
    refuse_unknown(project, chosen)
    with lease.held(layout), naming(layout.data_dir):
        from headrace.landing import replaying
        from headrace.queries.failing import replaying_rows
        from headrace.spark import jvm_lock, session

        with session.start(project.target, layout.spark_log()) as spark, jvm_lock.beside_lease(spark, layout.locks):
            found = replaying.total(replaying.run(spark, layout, project.landings, chosen))
            asked = replaying_rows.request(spark, project, layout, chosen)
    if as_json:
        said = {"replayed": found.landed, "refused": dict(found.refused), "next_run": dict(asked.rows)}
        print(json.dumps(said | ({"gone": dict(asked.gone)} if asked.gone else {})))
        return ExitCode.OK
    print(_summary(found.landed, dict(found.refused)))
    for table, rows in sorted(asked.rows.items()):
        print(f"{table} is given {_rows(rows)} again in the next run of its query")
    for table, rows in sorted(asked.gone.items()):
        message = f"{table} is not given {_rows(rows)} again: what it read then may have left by its `keep`"
        print(message, file=sys.stderr)
    return ExitCode.OK


def _rows(number: int) -> str:
    return f"{number} {'row' if number == 1 else 'rows'}"


def _summary(landed: int, still: dict[str, int]) -> str:
    reasons = ", ".join(name if len(still) == 1 else f"{name} {number}" for name, number in sorted(still.items()))
    return f"replayed {landed}, still refused {sum(still.values())}" + (f" ({reasons})" if still else "")


def _line(group: Refused) -> dict[str, str]:
    return {
        "source": group.source,
        "reason": group.reason,
        "rows": str(group.rows),
        "replayed": str(group.replayed),
    }
