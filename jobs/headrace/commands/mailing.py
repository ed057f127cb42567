"""The command that notifies customers about their orders."""

from __future__ import annotations

import sys
from collections import Counter
from itertools import islice

from headrace.commands.workspace import Workspace
from headrace.environment.lock import file_lock
from headrace.errors import ExitCode, UsageError
from headrace.mail.ledger import Ledger
from headrace.mail.post import Post, Shown, Smtp
from headrace.mail.sender import Delivery, deliver
from headrace.reading import printing
from headrace.reading.tail import Until, tail_topic


def mail(workspace: Workspace, topic: str, send: bool, limit: int | None, timeout: float | None) -> int:
    """Create letters from a topic's notices; send them only if `send` is set."""
    if not send:
        return _deliver(workspace, topic, Ledger.copy_of(workspace.layout.mail(topic)), Shown(), limit, timeout)
    settings = workspace.declared.target.mail
    if settings is None:
        raise UsageError("--send needs a mail server; add `mail: {host: ..., sender: ...}` to the target's conf")
    path = workspace.layout.mail(topic)
    with file_lock(path.with_suffix(".lock"), f"another process sends the letters of {topic}; stop it first"):
        return _deliver(workspace, topic, Ledger.at(path), Smtp(settings), limit, timeout)


def _deliver(
    workspace: Workspace, topic: str, ledger: Ledger, post: Post, limit: int | None, timeout: float | None
) -> int:
    until = Until(quiet=timeout, stopped=printing.reader_gone)
    kafka, counts = workspace.connected().target.kafka, Counter[str]()
    try:
        notices = tail_topic(kafka, topic, ledger.places(), until)
        for delivery in deliver(islice(notices, limit), ledger, post):
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


def _counted(when: str, counts: dict[str, int]) -> str:
    outcomes = ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items()))
    return f"{when}: {outcomes or 'nothing'}"
