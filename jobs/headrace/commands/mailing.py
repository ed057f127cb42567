"""The command that notifies customers about their orders."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice, takewhile

from headrace.commands.workspace import Workspace
from headrace.errors import ExitCode, UsageError
from headrace.mail import ledger as ledgers
from headrace.mail.ledger import Ledger
from headrace.mail.post import Post, Shown, Smtp
from headrace.mail.sender import Delivery, deliver
from headrace.reading import printing
from headrace.reading.tail import Until, tail_topic
from headrace.store import lease
from headrace.store.layout import Layout


def mail(workspace: Workspace, topic: str, send: bool, limit: int | None, timeout: float | None) -> int:
    """Create letters from a topic's notices; send them only if `send` is set."""
    folder, stop = workspace.layout.mail, threading.Event()
    if not send:
        return _deliver(workspace, topic, ledgers.rehearsal(folder, topic), Shown(), Ending(limit, timeout, stop))
    settings = workspace.declared.target.mail
    if settings is None:
        raise UsageError("--send needs a mail server; add `mail: {host: ..., sender: ...}` to the target's conf")
    with lease.exclusive(sending(workspace.layout, topic), stop):
        return _deliver(workspace, topic, ledgers.of(folder, topic), Smtp(settings), Ending(limit, timeout, stop))


def sending(layout: Layout, topic: str) -> lease.Work:
    """The work of sending the letters of a topic."""
    return lease.Work(
        layout.locks / f"mail-{topic}",
        f"the letters of {topic}",
        f"another process sends the letters of {topic}",
        "stop it first",
    )


@dataclass(frozen=True)
class Ending:
    """When to end: after so many notices, after so many seconds without any, or once `stop` is set."""

    limit: int | None
    timeout: float | None
    stop: threading.Event


def _deliver(workspace: Workspace, topic: str, ledger: Ledger, post: Post, ending: Ending) -> int:
    stop = ending.stop.is_set
    until = Until(quiet=ending.timeout, stopped=lambda: stop() or printing.reader_gone())
    kafka, counts = workspace.connected().target.kafka, Counter[str]()
    try:
        notices = takewhile(lambda _: not stop(), tail_topic(kafka, topic, ledger.places(), until))
        for delivery in deliver(islice(notices, ending.limit), ledger, post):
            counts[delivery.outcome or "repeated"] += 1
            _print_failure(delivery)
    finally:
        post.close()
        print(_counted("now", counts), _counted("in all", ledger.counts()), sep="; ", file=sys.stderr)
        ledger.close()
    return ExitCode.OK


def _print_failure(delivery: Delivery) -> None:
    if delivery.reason:
        print(f"{delivery.outcome}: {delivery.order_id}: {delivery.reason}", file=sys.stderr)


def _counted(when: str, counts: Mapping[str, int]) -> str:
    outcomes = ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items()))
    return f"{when}: {outcomes or 'nothing'}"
