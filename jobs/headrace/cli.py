"""The command line: parses, calls the commands, prints, and turns failures into exit codes."""

from __future__ import annotations

import gc
import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from headrace import faults
from headrace.errors import ExitCode, HeadraceError, InvalidProject, UsageError
from headrace.version import __version__

app = typer.Typer(
    name="headrace",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
broker_app = typer.Typer(
    help="The embedded Kafka broker: start, stop, status.\n\nExample: headrace broker start", no_args_is_help=True
)
app.add_typer(broker_app, name="broker")
produce_app = typer.Typer(
    help="Send made-up events to the source topics.\n\nExample: headrace produce sales --count 100",
    no_args_is_help=True,
)
app.add_typer(produce_app, name="produce")
export_app = typer.Typer(
    help="Write the project in the form of another tool.\n\nExample: headrace export sdp pipeline", no_args_is_help=True
)
app.add_typer(export_app, name="export")
upgrade_app = typer.Typer(
    help="Try what an edit does to the state of a model.\n\nExample: headrace upgrade test gold.calls",
    no_args_is_help=True,
)
app.add_typer(upgrade_app, name="upgrade")
shipping_app = typer.Typer(
    help="Orders, and products made for them.\n\nExample: headrace produce shipping order", no_args_is_help=True
)
produce_app.add_typer(shipping_app, name="shipping")

Json = Annotated[bool, typer.Option("--json", help="Write JSON, one object a row, to stdout.")]
Select = Annotated[
    list[str] | None,
    typer.Option("--select", "-s", metavar="<selector>", help="Which: a name, tag:x, path:x, +x, x+, @x, x*."),
]
Exclude = Annotated[list[str] | None, typer.Option("--exclude", metavar="<selector>", help="Which not, of those.")]
Data = Annotated[
    Path | None, typer.Option("--data", help="Where the broker keeps its data, if not in the target's data directory.")
]
Seed = Annotated[int, typer.Option(help="The same seed gives the same events.")]
Count = Annotated[int | None, typer.Option(help="End after so many; else at Ctrl-C.")]
RunId = Annotated[str | None, typer.Option("--run-id", help="Part of every made-up key; fresh each time if not given.")]

_OBJECTS = 100_000
"""New objects between two garbage collections: reading a project makes very many at once, and keeps them."""


def main(words: list[str] | None = None) -> None:
    """Run one command; every failure of the user's world is one line on stderr, without a traceback."""
    gc.set_threshold(_OBJECTS)
    try:
        code = _run(sys.argv[1:] if words is None else words)
        _write_out()
    except Exception as error:
        code = _unforeseen(error)
    with suppress(OSError):
        _write_out()
    sys.exit(code)


def _run(words: list[str]) -> int:
    """Run one command and tell what it has foreseen to fail."""
    command = typer.main.get_command(app)
    try:
        code = command.main(words, prog_name="headrace", standalone_mode=False)
    except InvalidProject as error:
        from headrace.commands import checking

        code = checking.report(error, _folder(words))
    except HeadraceError as error:
        _tell(f"headrace: {error}")
        code = error.exit_code
    except typer.TyperException as error:
        _tell(_misuse(error.format_message()))
        code = ExitCode.USAGE
    except (KeyboardInterrupt, typer.Abort):
        code = 130
    return int(code) if isinstance(code, int) else ExitCode.OK


def _unforeseen(error: Exception) -> int:
    """Tell a failure of the user's world; one of ours keeps its traceback."""
    if isinstance(error, BrokenPipeError):
        return ExitCode.FAILED  # whoever would read of it has gone
    line = faults.told(error)
    if line is None:
        raise error
    _tell(f"headrace: {line}")
    return ExitCode.ENVIRONMENT


def _tell(line: str) -> None:
    """Say why a command ends; where stderr cannot be written the exit code has to do."""
    with suppress(OSError):
        print(line, file=sys.stderr)


def _write_out() -> None:
    """Write what is printed to stdout, if there is one; that its reader has gone is no failure."""
    try:
        print(end="", flush=True)
    except OSError as error:
        # Python flushes stdout once more at exit, and would fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            raise


def submitted(words: list[str]) -> None:
    """Run as a Spark application: the words are those of `headrace run`, after -C and -t."""
    ours = [word for at, word in enumerate(words) if word in ("-C", "-t") or (at and words[at - 1] in ("-C", "-t"))]
    rest = words[len(ours) :]
    main([*ours, "run", *rest])


def _misuse(message: str) -> str:
    """What is wrong with the words of a command, in one line; a command without words gets its help."""
    return message if message.startswith("Usage:") else f"headrace: {message.rstrip('.')}; see --help"


def _folder(words: list[str]) -> Path:
    """The folder that -C names, else the current one: where findings' files are looked for."""
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if word in ("-C", "--project"):
            return Path(following)
        if word.startswith("--project="):
            return Path(word.removeprefix("--project="))
        if word.startswith("-C"):
            return Path(word.removeprefix("-C"))
    return Path()


def _version(asked: bool) -> None:
    if asked:
        print(f"headrace {__version__}")
        raise typer.Exit


@app.callback()
def settings(
    context: typer.Context,
    project: Annotated[Path, typer.Option("-C", "--project", help="A folder of the project.")] = Path(),
    target: Annotated[str, typer.Option("-t", "--target", help="Which conf/<target>.yml.")] = "local",
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say the version.")
    ] = False,
) -> None:
    """Plain Spark SQL over Kafka and Delta, run as exactly-once streaming queries.

    Example: headrace -C shop -t prod status
    """
    from headrace.commands.workspace import Workspace

    os.environ["TZ"] = "UTC"
    time.tzset()
    context.obj = Workspace(project, target)


@app.command()
def setup() -> int:
    """Fetch the jars of Spark and of the embedded broker.

    They are checked against locked checksums and kept once per user.

    Example: headrace setup
    """
    from headrace.commands import upkeep

    return upkeep.setup()


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(help="The folder of the new project; its name is the project's.")],
) -> int:
    """Make a new project that runs and passes its test at once.

    Example: headrace init shop
    """
    from headrace.commands import starting

    return starting.init(folder)


@app.command()
def schemas(
    out: Annotated[Path, typer.Option(help="Where to.")] = Path("schemas"),
) -> int:
    """Write JSON schemas of the project's YAML, for editors.

    Example: headrace schemas --out schemas
    """
    from headrace.commands import schemas as shipped

    return shipped.write(out)


@app.command()
def doctor(context: typer.Context, json: Json = False) -> int:
    """Look at Java, jars, ports, broker and disk; say the fix.

    Example: headrace doctor
    """
    from headrace.commands import upkeep

    return upkeep.doctor(context.obj, json)


@app.command("ls")
def list_models(context: typer.Context, select: Select = None, exclude: Exclude = None, json: Json = False) -> int:
    """List sources and models: kind, engine, query, inputs and outputs.

    Example: headrace ls --select +gold.shipment_ready
    """
    from headrace.commands import inspecting

    return inspecting.list_models(context.obj, tuple(select or ()), tuple(exclude or ()), json)


@app.command()
def check(
    context: typer.Context,
    offline: Annotated[bool, typer.Option("--offline", help="Without Spark: names, headers, order.")] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Check again whenever a file is saved, until Ctrl-C.")] = False,
    json: Json = False,
) -> int:
    """Check every file, and let Spark analyse every model.

    Example: headrace check --offline
    """
    from headrace.commands import checking

    return checking.watch(context.obj, offline, json) if watch else checking.check(context.obj, offline, json)


@app.command()
def plan(
    context: typer.Context,
    select: Select = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show the live and the edited form of what differs.")
    ] = False,
    json: Json = False,
) -> int:
    """Say what an edit does to what is running, model by model.

    Example: headrace plan --explain
    """
    from headrace.commands import planning

    return planning.tell(context.obj, tuple(select or ()), explain, json)


@app.command()
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
) -> int:
    """Run the model tests, or the data tests, of the selected models.

    Example: headrace test --select shipment_ready
    """
    from headrace.commands import testing

    if record is not None:
        return testing.record(context.obj, *record)
    run_tests = testing.run_data_tests if data else testing.run_cases
    return run_tests(context.obj, tuple(select or ()), tuple(exclude or ()), junit)


@app.command()
def run(
    context: typer.Context,
    select: Select = None,
    exclude: Exclude = None,
    available_now: Annotated[
        bool, typer.Option("--available-now", help="End when all that is there now is processed and sent.")
    ] = False,
    fail_fast: Annotated[bool, typer.Option("--fail-fast", help="End at the first query that fails for good.")] = False,
    accept_mix: Annotated[
        str | None,
        typer.Option("--accept-mix", metavar="<why>", help="Go on where the plan says MIX; the reason is kept."),
    ] = None,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Reset first what the plan says cannot go on.")] = False,
) -> int:
    """Run the project's queries until Ctrl-C.

    Example: headrace run --select shipping
    """
    from headrace.commands import running

    flags = {"available_now": available_now, "fail_fast": fail_fast}
    return running.run(context.obj, tuple(select or ()), tuple(exclude or ()), flags, accept_mix, rebuild)


@app.command()
def demo(context: typer.Context) -> int:
    """Run the project on demo events and show what comes out.

    It starts a broker if none is up. On a terminal it goes on until Ctrl-C.

    Example: headrace demo
    """
    from headrace.commands import demonstrating

    return demonstrating.demo(context.obj)


@app.command()
def serve(
    context: typer.Context,
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes a free one.")] = 8080,
    waiters: Annotated[int, typer.Option(min=1, help="So many requests may wait at a time.")] = 2000,
) -> int:
    """Answer HTTP: orders, and every stored table.

    Example: headrace serve --port 8080
    """
    from headrace.commands import serving

    return serving.serve(context.obj, host, port, waiters)


@app.command()
def tail(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="A topic, or a table such as gold.shipment_ready.")],
    start: Annotated[str, typer.Option("--from", help="Where to begin: beginning or end.")] = "beginning",
    limit: Annotated[int | None, typer.Option(help="End after so many.")] = None,
    timeout: Annotated[float | None, typer.Option(help="End after so many seconds without anything new.")] = None,
    json: Json = False,
) -> int:
    """Follow a topic (committed records only) or a table.

    Example: headrace tail shipping --json
    """
    from headrace.commands import inspecting

    return inspecting.tail(context.obj, name, start, limit, timeout, json)


@app.command()
def show(
    context: typer.Context,
    table: Annotated[str, typer.Argument(help="A table such as silver.open_orders.")],
    key: Annotated[str | None, typer.Option(help="Only rows of this key.")] = None,
    history: Annotated[str | None, typer.Option(help="Every change of this key, oldest first.")] = None,
    where: Annotated[str | None, typer.Option(help="Only rows for which this SQL holds.")] = None,
    limit: Annotated[int | None, typer.Option(help="At most so many rows (text: 100 if not given).")] = None,
    json: Json = False,
) -> int:
    """Show the rows of a table as they are now.

    Example: headrace show silver.open_orders --history order-1
    """
    from headrace.commands import inspecting

    return inspecting.show(context.obj, table, key, history, where, limit, json)


@app.command()
def sql(
    context: typer.Context,
    text: Annotated[str, typer.Argument(help="A SELECT over stored tables and bronze relations.")],
    json: Json = False,
) -> int:
    """Query stored tables, without a JVM.

    Example: headrace sql "select reject_reason, count(*) from bronze.dead_letters group by 1"
    """
    from headrace.commands import inspecting

    return inspecting.sql(context.obj, text, json)


@app.command()
def status(context: typer.Context, json: Json = False) -> int:
    """Say how the runner and each of its queries fare.

    Example: headrace status --json
    """
    from headrace.commands import inspecting

    return inspecting.status(context.obj, json)


@app.command()
def lineage(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="A column such as gold.shipment_ready.completed_at, or a table.")],
    down: Annotated[bool, typer.Option("--down", help="What is made of it, not what it is made of.")] = False,
    form: Annotated[str, typer.Option("--format", help="text or mermaid.")] = "text",
    json: Json = False,
) -> int:
    """Follow a column to the Kafka fields that it is made of.

    Example: headrace lineage gold.shipment_ready.completed_at
    """
    from headrace.commands import documenting

    return documenting.trace(context.obj, name, form, down, json)


@app.command()
def docs(
    context: typer.Context,
    out: Annotated[Path | None, typer.Option(help="Where to, if not <data_dir>/target.")] = None,
) -> int:
    """Write one page about the project, and manifest.json.

    Example: headrace docs --out public
    """
    from headrace.commands import documenting

    return documenting.document(context.obj, out)


@app.command()
def mail(
    context: typer.Context,
    topic: Annotated[str, typer.Argument(help="A topic of notices.")] = "order-emails",
    send: Annotated[bool, typer.Option("--send", help="Send the letters; without this only show them.")] = False,
    limit: Annotated[int | None, typer.Option(help="End after so many notices.")] = None,
    timeout: Annotated[float | None, typer.Option(help="End after so many seconds without anything new.")] = None,
) -> int:
    """Tell customers of their orders: one letter for each order of a topic.

    Example: headrace mail order-emails --timeout 5
    """
    from headrace.commands import mailing

    return mailing.mail(context.obj, topic, send, limit, timeout)


@app.command()
def reset(
    context: typer.Context,
    query: Annotated[
        str, typer.Argument(help="A query: its `query:`, else its model; ingest_<landing> for a landing.")
    ],
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without this only say what would go.")] = False,
    start: Annotated[
        str | None, typer.Option("--from", help='For a landing: earliest, latest or {"topic": {"0": 120}}.')
    ] = None,
    republish: Annotated[bool, typer.Option("--republish", help="Send again what was sent before.")] = False,
) -> int:
    """Forget a query's progress and output together.

    At the next run it starts again from bronze; a landing starts again from Kafka.

    Example: headrace reset shipping --yes
    """
    from headrace.commands import upkeep

    return upkeep.reset(context.obj, query, yes, start, republish)


@app.command()
def rebuild(
    context: typer.Context,
    model: Annotated[str, typer.Argument(help="A model, or a query; it is made anew with all that belongs to it.")],
    swap: Annotated[
        bool, typer.Option("--swap", help="Put what stands beside to its place; no runner may run.")
    ] = False,
    keep: Annotated[float, typer.Option(min=0, metavar="<days>", help="With --swap: how long the old is kept.")] = 7,
    drop: Annotated[bool, typer.Option("--drop", help="Remove what stands beside.")] = False,
) -> int:
    """Make a model anew beside the running one, by the files as they are now.

    The runner may go on meanwhile. Nobody sees the new rows until `--swap`.

    Example: headrace rebuild silver.sales_totals
    """
    from headrace.commands import rebuilding

    if swap and drop:
        raise UsageError("--swap and --drop are two things; say one of them")
    if swap:
        return rebuilding.swap(context.obj, model, keep)
    return rebuilding.drop(context.obj, model) if drop else rebuilding.fill(context.obj, model)


@app.command()
def diff(
    context: typer.Context,
    model: Annotated[str, typer.Argument(help="A model that stands beside.")],
    examples: Annotated[int, typer.Option(min=0, help="At most so many rows that differ.")] = 20,
    json: Json = False,
) -> int:
    """Compare the rows of a model with those that stand beside.

    Example: headrace diff silver.sales_totals
    """
    from headrace.commands import rebuilding

    return rebuilding.diff(context.obj, model, examples, json)


@upgrade_app.command("test")
def upgrade_test(
    context: typer.Context,
    model: Annotated[str, typer.Argument(help="A model with state or rows of its own.")],
    batches: Annotated[int, typer.Option(min=2, help="So many of the newest landing batches.")] = 20,
    after: Annotated[
        int | None, typer.Option(help="After how many the new text takes over; half if not given.")
    ] = None,
    case: Annotated[
        Path | None, typer.Option("--case", metavar="<file>", help="The batches of a case, not those that landed.")
    ] = None,
    examples: Annotated[int, typer.Option(min=0, help="At most so many rows that differ.")] = 20,
    json: Json = False,
) -> int:
    """Prove that an edit keeps the state right, or show where it does not.

    The text that the query was started with processes the first batches, the files as they are now the others, in
    folders of their own.

    Example: headrace upgrade test silver.sales_totals --batches 10
    """
    from headrace.commands import upgrading

    return upgrading.test(context.obj, model, batches, after, case, examples, json)


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


@broker_app.command("start")
def broker_start(context: typer.Context, data: Data = None, json: Json = False) -> int:
    """Start the broker as a daemon, or say where it runs already.

    Example: headrace broker start --json
    """
    from headrace.commands import upkeep

    return upkeep.broker(context.obj, "start", data, json)


@broker_app.command("stop")
def broker_stop(context: typer.Context, data: Data = None, json: Json = False) -> int:
    """Stop the broker; its data stays.

    Example: headrace broker stop
    """
    from headrace.commands import upkeep

    return upkeep.broker(context.obj, "stop", data, json)


@broker_app.command("status")
def broker_status(context: typer.Context, data: Data = None, json: Json = False) -> int:
    """Say whether the broker runs, and where.

    Example: headrace broker status --json
    """
    from headrace.commands import upkeep

    return upkeep.broker(context.obj, "status", data, json)


@shipping_app.command("order")
def produce_order(
    context: typer.Context,
    id: Annotated[str | None, typer.Option("--id", help="The order's id; fresh if not given.")] = None,  # noqa: A002
    items: Annotated[str | None, typer.Option(help="Products, as 1:Iphone,2:Samsung.")] = None,
) -> int:
    """Send one order.

    Example: headrace produce shipping order --id a --items "1:Iphone,2:Samsung"
    """
    from headrace.commands import producing

    return producing.order(context.obj, id, items)


@shipping_app.command("manufactured")
def produce_manufactured(
    context: typer.Context,
    order_id: Annotated[str, typer.Argument(help="The order that it was made for.")],
    product_id: Annotated[int, typer.Argument(help="The product's number, as in the order's items.")],
) -> int:
    """Send one product made for an order.

    Example: headrace produce shipping manufactured a 1
    """
    from headrace.commands import producing

    return producing.manufactured(context.obj, order_id, product_id)


@shipping_app.command("manufacturer")
def produce_manufacturer(
    context: typer.Context,
    delay: Annotated[float, typer.Option(help="Seconds that a product takes, on average.")] = 2.0,
    rate: Annotated[float | None, typer.Option(help="Products a second at most.")] = None,
    seed: Seed = 0,
) -> int:
    """Follow the orders and make each product after a while.

    It goes on until Ctrl-C.

    Example: headrace produce shipping manufacturer --delay 1
    """
    from headrace.commands import producing

    return producing.manufacturer(context.obj, delay, rate, seed)


@shipping_app.command("demo")
def produce_shipping_demo(
    context: typer.Context,
    orders: Annotated[int, typer.Option(help="How many orders.")] = 10,
    seed: Seed = 0,
    run_id: RunId = None,
) -> int:
    """Send so many orders and all their products, in mixed order.

    Example: headrace produce shipping demo --orders 100 --seed 7
    """
    from headrace.commands import producing

    return producing.shipping(context.obj, orders, seed, run_id)


@produce_app.command("calls")
def produce_calls(
    context: typer.Context,
    half: Annotated[
        list[str] | None,
        typer.Argument(help="`analytics <user1> <user2> <text>` or `metrics ...`; none: a stream of halves."),
    ] = None,
    rate: Annotated[float | None, typer.Option(help="Halves a second; 5 if not given.")] = None,
    count: Count = None,
    seed: Seed = 0,
    run_id: RunId = None,
) -> int:
    """Send one half of a call, or a stream of halves.

    Example: headrace produce calls metrics anna bela "340 s"
    """
    from headrace.commands import producing

    return producing.calls(context.obj, tuple(half or ()), rate, count, seed, run_id)


@produce_app.command("clicks")
def produce_clicks(
    context: typer.Context,
    event: Annotated[
        list[str] | None,
        typer.Argument(
            help="`view <browser> <product>`, `verified <browser>` or `name <product> [<name>]`; none: visits."
        ),
    ] = None,
    rate: Annotated[float | None, typer.Option(help="Events a second; 5 if not given.")] = None,
    count: Count = None,
    seed: Seed = 0,
    run_id: RunId = None,
) -> int:
    """Send one event of a browser, or a stream of visits.

    Example: headrace produce clicks view b1 7
    """
    from headrace.commands import producing

    return producing.clicks(context.obj, tuple(event or ()), rate, count, seed, run_id)


@produce_app.command("shop")
def produce_shop(
    context: typer.Context,
    words: Annotated[list[str] | None, typer.Argument(help="`ship <id>`; none: a stream of trade.")] = None,
    rate: Annotated[float | None, typer.Option(help="Records a second; 5 if not given.")] = None,
    count: Count = None,
    seed: Seed = 0,
    run_id: RunId = None,
) -> int:
    """Send customers, stock, orders and payments, or ship an order.

    Example: headrace produce shop --rate 5
    """
    from headrace.commands import producing

    return producing.shop(context.obj, tuple(words or ()), rate, count, seed, run_id)


@produce_app.command("sales")
def produce_sales(
    context: typer.Context,
    event: Annotated[
        list[str] | None, typer.Argument(help="`event <product> <value>`; none: a stream of sales.")
    ] = None,
    rate: Annotated[float | None, typer.Option(help="Events a second; 5 if not given.")] = None,
    count: Count = None,
    seed: Seed = 0,
    run_id: RunId = None,
) -> int:
    """Send one sales event, or a stream of them.

    Example: headrace produce sales event espresso 1500
    """
    from headrace.commands import producing

    return producing.sales(context.obj, tuple(event or ()), rate, count, seed, run_id)
