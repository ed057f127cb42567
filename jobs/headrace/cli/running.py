"""Commands that run until they are stopped, and the broker that they need."""

from __future__ import annotations

from typing import Annotated

import typer

from headrace.cli.options import Data, Exclude, Json, Select

broker_app = typer.Typer(
    help="The embedded Kafka broker: start, stop, status.\n\nExample: headrace broker start", no_args_is_help=True
)


def run(
    context: typer.Context,
    select: Select = None,
    exclude: Exclude = None,
    available_now: Annotated[
        bool, typer.Option("--available-now", help="Stop once all that is there now is processed and sent.")
    ] = False,
    fail_fast: Annotated[
        bool, typer.Option("--fail-fast", help="Stop at the first query that fails permanently.")
    ] = False,
    accept_mix: Annotated[
        str | None,
        typer.Option("--accept-mix", metavar="<why>", help="Start although the plan says MIX; the reason is recorded."),
    ] = None,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="First reset the queries that the plan says cannot go on.")
    ] = False,
    standby: Annotated[
        bool, typer.Option("--standby", help="Wait while another runner is active, and take over when it ends.")
    ] = False,
) -> int:
    """Run the project's queries until Ctrl-C.

    Example: headrace run --select shipping
    """
    from headrace.commands import running

    flags = {"available_now": available_now, "fail_fast": fail_fast}
    return running.run(context.obj, tuple(select or ()), tuple(exclude or ()), flags, accept_mix, rebuild, standby)


def submit(
    context: typer.Context,
    platform: Annotated[
        str, typer.Option("--target", metavar="<platform>", help="standalone, yarn, k8s, databricks or emr.")
    ],
    shown: Annotated[bool, typer.Option("--print", help="Print what to submit, and submit nothing.")] = False,
    options: Annotated[list[str] | None, typer.Argument(help="Options of `headrace run`, after `--`.")] = None,
) -> int:
    """Run the project on a cluster, or print what its platform needs for that.

    Standalone and YARN clusters are submitted to; for the others, pass what is printed to the platform's own client.

    Example: headrace -t prod submit --target k8s --print
    """
    from headrace.commands import submitting

    return submitting.submit(context.obj, platform, shown, tuple(options or ()))


def demo(context: typer.Context) -> int:
    """Run the project on demo events and show what comes out.

    It starts a broker if none is up. On a terminal it goes on until Ctrl-C.

    Example: headrace demo
    """
    from headrace.commands import demonstrating

    return demonstrating.demo(context.obj)


def serve(
    context: typer.Context,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 picks a free one.")] = 8080,
    waiters: Annotated[int, typer.Option(min=1, help="How many requests may wait at a time.")] = 2000,
) -> int:
    """Answer HTTP: orders, and every stored table.

    Example: headrace serve --port 8080
    """
    from headrace.commands import serving

    return serving.serve(context.obj, host, port, waiters)


@broker_app.command("start")
def broker_start(context: typer.Context, data: Data = None, json: Json = False) -> int:
    """Start the broker as a daemon, or show where it already runs.

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
    """Show whether the broker is running, and where.

    Example: headrace broker status --json
    """
    from headrace.commands import upkeep

    return upkeep.broker(context.obj, "status", data, json)
