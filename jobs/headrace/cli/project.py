"""Commands that create, read, check and describe a project."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headrace.catalogue.kinds import Catalogue
from headrace.cli.options import Exclude, Json, Select

export_app = typer.Typer(
    help="Write the project in the form of another tool.\n\nExample: headrace export sdp pipeline", no_args_is_help=True
)


def setup(context: typer.Context) -> int:
    """Fetch the jars of Spark and of the embedded broker, and those that the target's object store needs.

    They are checked against locked checksums and kept once per user.

    Example: headrace setup
    """
    from headrace.commands import upkeep

    return upkeep.setup(context.obj)


def init(
    folder: Annotated[Path, typer.Argument(help="The folder of the new project; its name is the project's.")],
) -> int:
    """Create a new project that runs and passes its test.

    Example: headrace init shop
    """
    from headrace.commands import starting

    return starting.init(folder)


def schemas(
    out: Annotated[Path, typer.Option(help="The folder to write to.")] = Path("schemas"),
) -> int:
    """Write JSON schemas of the project's YAML, for editors.

    Example: headrace schemas --out schemas
    """
    from headrace.commands import schemas as shipped

    return shipped.write(out)


def doctor(context: typer.Context, json: Json = False) -> int:
    """Check Java, jars, ports, broker, progress topic, store and disk, and suggest fixes.

    Example: headrace doctor
    """
    from headrace.commands import upkeep

    return upkeep.doctor(context.obj, json)


def list_models(context: typer.Context, select: Select = None, exclude: Exclude = None, json: Json = False) -> int:
    """List sources and models: kind, engine, query, inputs and outputs.

    Example: headrace ls --select +gold.shipment_ready
    """
    from headrace.commands import inspecting

    return inspecting.list_models(context.obj, tuple(select or ()), tuple(exclude or ()), json)


def check(
    context: typer.Context,
    offline: Annotated[bool, typer.Option("--offline", help="Check without Spark: names, headers, order.")] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Check again whenever a file is saved, until Ctrl-C.")] = False,
    json: Json = False,
) -> int:
    """Check every file, and let Spark analyse every model.

    Example: headrace check --offline
    """
    from headrace.commands import checking

    return checking.watch(context.obj, offline, json) if watch else checking.check(context.obj, offline, json)


def plan(
    context: typer.Context,
    select: Select = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show the live and the edited form of what differs.")
    ] = False,
    prove: Annotated[
        str | None,
        typer.Option("--prove", metavar="<model>", help="Try the verdict on the newest batches that have landed."),
    ] = None,
    json: Json = False,
) -> int:
    """Show what an edit does to the running queries, model by model.

    Example: headrace plan --explain
    """
    if prove is not None:
        from headrace.commands.edits import upgrading

        return upgrading.prove(context.obj, prove, json)
    from headrace.commands.edits import planning

    return planning.show(context.obj, tuple(select or ()), explain, json)


def test(
    context: typer.Context,
    select: Select = None,
    exclude: Exclude = None,
    data: Annotated[bool, typer.Option("--data", help="Run the data tests of headers over what is stored.")] = False,
    junit: Annotated[Path | None, typer.Option("--junit", metavar="<file>", help="Write a JUnit report.")] = None,
    record: Annotated[
        tuple[str, int] | None,
        typer.Option("--record", metavar="<model> <n>", help="Write a case of the last n landing batches."),
    ] = None,
    cuts: Annotated[bool, typer.Option("--cuts", help="Only compare several cuts of made-up events.")] = False,
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="<n>", help="Repeat the made-up events of an earlier run.")
    ] = None,
) -> int:
    """Run the model tests, or the data tests, of the selected models.

    Example: headrace test --select shipment_ready
    """
    from headrace.commands import testing

    if record is not None:
        return testing.record(context.obj, *record)
    chosen = tuple(select or ()), tuple(exclude or ())
    if data:
        return testing.run_data_tests(context.obj, *chosen, junit)
    run_tests = testing.run_cuts if cuts else testing.run_all
    return run_tests(context.obj, *chosen, junit, seed)


def lineage(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="A column such as gold.shipment_ready.completed_at, or a table.")],
    down: Annotated[bool, typer.Option("--down", help="Trace what is derived from it instead.")] = False,
    form: Annotated[str, typer.Option("--format", help="text or mermaid.")] = "text",
    json: Json = False,
) -> int:
    """Trace a column back to the Kafka fields that it is derived from.

    Example: headrace lineage gold.shipment_ready.completed_at
    """
    from headrace.commands import documenting

    return documenting.trace(context.obj, name, form, down, json)


def docs(
    context: typer.Context,
    out: Annotated[Path | None, typer.Option(help="The folder to write to. Default: <data_dir>/target.")] = None,
) -> int:
    """Write one page about the project, and manifest.json.

    Example: headrace docs --out public
    """
    from headrace.commands import documenting

    return documenting.document(context.obj, out)


@export_app.command("catalog")
def export_catalog(
    context: typer.Context,
    kind: Annotated[
        Catalogue, typer.Option("--for", help="The catalogue: `hive` (also Trino's), `unity`, or `glue`.")
    ] = "hive",
) -> int:
    """Print CREATE TABLE statements for all stored tables, each at its location.

    Example: headrace -t prod export catalog --for unity
    """
    from headrace.commands import exporting

    return exporting.export_catalog(context.obj, kind)


@export_app.command("sdp")
def export_sdp(
    context: typer.Context, folder: Annotated[Path, typer.Argument(help="A new folder for the pipeline.")]
) -> int:
    """Write a Spark Declarative Pipelines project.

    Models that such a pipeline cannot run are named, with the reason.

    Example: headrace export sdp pipeline
    """
    from headrace.commands import exporting

    return exporting.export_sdp(context.obj, folder)
