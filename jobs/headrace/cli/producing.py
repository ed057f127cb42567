"""Commands that send made-up events."""

from __future__ import annotations

from typing import Annotated

import typer

from headrace.cli.options import LEAST_RATE, MOST, Count, RunId, Seed

produce_app = typer.Typer(
    help="Send made-up events to the source topics.\n\nExample: headrace produce sales --count 100",
    no_args_is_help=True,
)
shipping_app = typer.Typer(
    help="Orders, and products made for them.\n\nExample: headrace produce shipping order", no_args_is_help=True
)
produce_app.add_typer(shipping_app, name="shipping")


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
    delay: Annotated[float, typer.Option(min=0, help="Seconds that a product takes, on average.")] = 2.0,
    rate: Annotated[float | None, typer.Option(min=LEAST_RATE, help="Products a second at most.")] = None,
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
    orders: Annotated[int, typer.Option(min=1, max=MOST, help="How many orders.")] = 10,
    seed: Seed = 0,
    run_id: RunId = None,
) -> int:
    """Send a number of orders and all their products, in mixed order.

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
    rate: Annotated[float | None, typer.Option(min=LEAST_RATE, help="Halves a second. Default: 5.")] = None,
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
    rate: Annotated[float | None, typer.Option(min=LEAST_RATE, help="Events a second. Default: 5.")] = None,
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
    rate: Annotated[float | None, typer.Option(min=LEAST_RATE, help="Records a second. Default: 5.")] = None,
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
    rate: Annotated[float | None, typer.Option(min=LEAST_RATE, help="Events a second. Default: 5.")] = None,
    count: Count = None,
    seed: Seed = 0,
    run_id: RunId = None,
) -> int:
    """Send one sales event, or a stream of them.

    Example: headrace produce sales event espresso 1500
    """
    from headrace.commands import producing

    return producing.sales(context.obj, tuple(event or ()), rate, count, seed, run_id)
