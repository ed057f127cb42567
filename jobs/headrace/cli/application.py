"""The application: all commands in the order of the help, and the options that come before them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated

import typer

from headrace.cli import data, producing, project, running
from headrace.version import __version__

app = typer.Typer(
    name="headrace",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_COMMANDS: Mapping[str, Callable[..., int]] = {
    "setup": project.setup,
    "init": project.init,
    "schemas": project.schemas,
    "doctor": project.doctor,
    "ls": project.list_models,
    "check": project.check,
    "plan": project.plan,
    "test": project.test,
    "run": running.run,
    "submit": running.submit,
    "demo": running.demo,
    "serve": running.serve,
    "tail": data.tail,
    "show": data.show,
    "sql": data.sql,
    "status": data.status,
    "maintain": data.maintain,
    "backup": data.backup,
    "restore": data.restore,
    "dead-letters": data.dead_letters,
    "lineage": project.lineage,
    "docs": project.docs,
    "mail": data.mail,
    "reset": data.reset,
    "skip": data.skip,
    "rebuild": data.rebuild,
    "diff": data.diff,
}
_GROUPS: Mapping[str, typer.Typer] = {
    "broker": running.broker_app,
    "produce": producing.produce_app,
    "export": project.export_app,
    "upgrade": data.upgrade_app,
}

for name, command in _COMMANDS.items():
    app.command(name)(command)
for name, group in _GROUPS.items():
    app.add_typer(group, name=name)


def _version(asked: bool) -> None:
    if asked:
        print(f"headrace {__version__}")
        raise typer.Exit


@app.callback()
def settings(
    context: typer.Context,
    project: Annotated[
        Path,
        typer.Option("-C", "--project", help="A folder of the project; the manifest is looked for there and above."),
    ] = Path(),
    target: Annotated[str, typer.Option("-t", "--target", help="The target: conf/<target>.yml.")] = "local",
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Plain Spark SQL over Kafka and Delta, run as exactly-once streaming queries.

    Example: headrace -C shop -t prod status
    """
    from headrace.commands.workspace import Workspace

    os.environ["TZ"] = "UTC"
    time.tzset()
    context.obj = Workspace(project, target)
