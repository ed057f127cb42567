"""Commands that show what is stored and sent, and those that rebuild it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from headrace.cli.options import MOST, MOST_DAYS, Json, Timeout
from headrace.errors import UsageError

OnSpark = Annotated[bool, typer.Option("--spark", help="Run it on Spark: slower to start, but all of its SQL works.")]

upgrade_app = typer.Typer(
    help="Try what an edit does to the state of a model.\n\nExample: headrace upgrade test gold.calls",
    no_args_is_help=True,
)


def tail(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="A topic, or a table such as gold.shipment_ready.")],
    start: Annotated[str, typer.Option("--from", help="Where to start: beginning or end.")] = "beginning",
    limit: Annotated[int | None, typer.Option(min=1, max=MOST, help="Stop after this many rows.")] = None,
    timeout: Timeout = None,
    json: Json = False,
) -> int:
    """Follow a topic (committed records only) or a table.

    Example: headrace tail shipping --json
    """
    from headrace.commands import inspecting

    return inspecting.tail(context.obj, name, start, limit, timeout, json)


def show(
    context: typer.Context,
    table: Annotated[str, typer.Argument(help="A table such as silver.open_orders.")],
    key: Annotated[str | None, typer.Option(help="Only rows of this key.")] = None,
    history: Annotated[str | None, typer.Option(help="Every change of this key, oldest first.")] = None,
    where: Annotated[str | None, typer.Option(help="Only rows for which this Spark SQL holds.")] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, max=MOST, help="At most this many rows. Default as text: 100.")
    ] = None,
    spark: OnSpark = False,
    json: Json = False,
) -> int:
    """Show the rows of a table as they are now.

    Example: headrace show silver.open_orders --history order-1
    """
    from headrace.commands import inspecting
    from headrace.reading.show import Wanted

    return inspecting.show(context.obj, table, Wanted(key, history, where, limit), spark, json)


def sql(
    context: typer.Context,
    text: Annotated[str, typer.Argument(help="A SELECT over stored tables and bronze relations.")],
    spark: OnSpark = False,
    json: Json = False,
) -> int:
    """Query stored tables in Spark SQL without a JVM; what only Spark can run is refused, and runs with --spark.

    Example: headrace sql "select reject_reason, count(*) from bronze.dead_letters group by 1"
    """
    from headrace.commands import inspecting

    return inspecting.sql(context.obj, text, spark, json)


def status(context: typer.Context, json: Json = False) -> int:
    """Show the status of the runner and its queries.

    Example: headrace status --json
    """
    from headrace.commands import inspecting

    return inspecting.status(context.obj, json)


def dead_letters(
    context: typer.Context,
    action: Annotated[str, typer.Argument(help="list, or replay.")] = "list",
    reason: Annotated[str | None, typer.Option(help="Only those of this reason.")] = None,
    source: Annotated[str | None, typer.Option(help="Only those of this source, or of this model.")] = None,
    json: Json = False,
) -> int:
    """Show what was refused; replay lands records again that have become usable, each once.

    Example: headrace dead-letters replay --reason missing_field
    """
    from headrace.commands import refusals
    from headrace.reading.dead_letters import Chosen

    if action not in ("list", "replay"):
        raise UsageError(f"dead-letters takes list or replay, not {action}")
    verb = refusals.show if action == "list" else refusals.replay
    return verb(context.obj, Chosen(reason, source), json)


def mail(
    context: typer.Context,
    topic: Annotated[str, typer.Argument(help="A topic of notices.")] = "order-emails",
    send: Annotated[bool, typer.Option("--send", help="Send the letters; without this only show them.")] = False,
    limit: Annotated[int | None, typer.Option(min=1, max=MOST, help="Stop after this many notices.")] = None,
    timeout: Timeout = None,
) -> int:
    """Notify customers about their orders: one letter for each order of a topic.

    Example: headrace mail order-emails --timeout 5
    """
    from headrace.commands import mailing

    return mailing.mail(context.obj, topic, send, limit, timeout)


def maintain(
    context: typer.Context,
    table: Annotated[str | None, typer.Argument(help="A stored table. Default: all of them.")] = None,
    json: Json = False,
) -> int:
    """Compact small files, and shorten the logs of tables.

    A runner does this itself; the command is for a project that is not running.

    Example: headrace maintain gold.shipment_ready
    """
    from headrace.commands import upkeep

    return upkeep.maintain(context.obj, table, json)


def backup(
    context: typer.Context,
    to: Annotated[str, typer.Argument(help="An empty folder, or the URL of an empty prefix.")],
) -> int:
    """Copy tables, checkpoints and notes as one consistent set.

    The runner must be stopped, and the broker must be up if anything is published.

    Example: headrace backup /backup/monday
    """
    from headrace.commands.edits import backups

    return backups.take(context.obj, to)


def restore(
    context: typer.Context,
    source: Annotated[
        str | None, typer.Argument(metavar="FROM", help="A backup. Leave it out if the data are already in place.")
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace what is stored now.")] = False,
    publish: Annotated[
        Literal["again", "skip"] | None,
        typer.Option(help="Rows that were sent since the backup: send them again, or skip them."),
    ] = None,
) -> int:
    """Replace what is stored with a backup, and show what was sent to Kafka since.

    The runner must be stopped, and the broker must be up if anything is published.

    Example: headrace restore /backup/monday --replace --publish skip
    """
    from headrace.commands.edits import backups

    return backups.put_back(context.obj, source, replace, publish)


def reset(
    context: typer.Context,
    query: Annotated[
        str, typer.Argument(help="A query: its `query:`, else its model; ingest_<landing> for a landing.")
    ],
    yes: Annotated[bool, typer.Option("--yes", help="Do it. Without this, only show what would be removed.")] = False,
    start: Annotated[
        str | None, typer.Option("--from", help='For a landing: earliest, latest or {"topic": {"0": 120}}.')
    ] = None,
    republish: Annotated[bool, typer.Option("--republish", help="Send rows again that were sent before.")] = False,
) -> int:
    """Remove a query's progress and output together.

    At the next run it starts again from bronze; a landing starts again from Kafka.

    Example: headrace reset shipping --yes
    """
    from headrace.commands import upkeep

    return upkeep.reset(context.obj, query, yes, start, republish)


def skip(
    context: typer.Context,
    query: Annotated[str, typer.Argument(help="A query of micro-batches: its `query:`, else its model.")],
    batch: Annotated[int, typer.Option("--batch", min=0, metavar="<number>", help="The batch that cannot run.")],
) -> int:
    """Step over a batch that cannot run.

    Fix the model instead if you can: the rows of a skipped batch are missing from every table downstream.

    Example: headrace skip shipping --batch 12
    """
    from headrace.commands.edits import skipping

    return skipping.skip(context.obj, query, batch)


def rebuild(
    context: typer.Context,
    model: Annotated[str, typer.Argument(help="A model or a query; the query is rebuilt as a whole.")],
    swap: Annotated[
        bool, typer.Option("--swap", help="Replace the live tables with the rebuilt ones; the runner must be stopped.")
    ] = False,
    keep: Annotated[
        float,
        typer.Option(min=0, max=MOST_DAYS, metavar="<days>", help="With --swap: how long the old tables are kept."),
    ] = 7,
    drop: Annotated[bool, typer.Option("--drop", help="Remove the rebuilt tables.")] = False,
) -> int:
    """Rebuild a model next to the running one, from the files as they are now.

    The runner may keep running. Nobody sees the new rows until `--swap`.

    Example: headrace rebuild silver.sales_totals
    """
    from headrace.commands.edits import rebuilding

    if swap and drop:
        raise UsageError("--swap and --drop are two things; say one of them")
    if swap:
        return rebuilding.swap(context.obj, model, keep)
    return rebuilding.drop(context.obj, model) if drop else rebuilding.fill(context.obj, model)


def diff(
    context: typer.Context,
    model: Annotated[str, typer.Argument(help="A model that was rebuilt.")],
    examples: Annotated[int, typer.Option(min=0, max=MOST, help="Show at most this many differing rows.")] = 20,
    json: Json = False,
) -> int:
    """Compare a model's live rows with the rebuilt ones.

    Example: headrace diff silver.sales_totals
    """
    from headrace.commands.edits import rebuilding

    return rebuilding.diff(context.obj, model, examples, json)


@upgrade_app.command("test")
def upgrade_test(
    context: typer.Context,
    model: Annotated[str, typer.Argument(help="A model with state or rows of its own.")],
    batches: Annotated[int, typer.Option(min=2, max=MOST, help="How many of the newest landing batches to use.")] = 20,
    after: Annotated[
        int | None, typer.Option(min=1, help="After how many batches the new text takes over. Default: half.")
    ] = None,
    case: Annotated[
        Path | None, typer.Option("--case", metavar="<file>", help="Use the batches of a case, not those that landed.")
    ] = None,
    examples: Annotated[int, typer.Option(min=0, max=MOST, help="Show at most this many differing rows.")] = 20,
    json: Json = False,
) -> int:
    """Prove that an edit keeps the state right, or show where it does not.

    The text that the query was started with processes the first batches, the files as they are now the others, in
    separate folders.

    Example: headrace upgrade test silver.sales_totals --batches 10
    """
    from headrace.commands.edits import upgrading

    return upgrading.test(context.obj, model, batches, after, case, examples, json)
