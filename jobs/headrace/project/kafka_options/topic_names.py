"""Names of Kafka's topics: which Kafka accepts, and which the files of a project may not use."""

from __future__ import annotations

import re
from collections.abc import Mapping

from headrace.project.model import TICK_TOPIC, Target

PROGRESS_TOPIC = "headrace-progress"
"""The topic that holds how far models are published; a target may add a suffix."""

PROGRESS_SETTINGS: Mapping[str, str] = {
    "cleanup.policy": "compact",
    "segment.bytes": "1048576",
    "segment.ms": "3600000",
    "min.cleanable.dirty.ratio": "0.1",
    "delete.retention.ms": "600000",
}
"""Its configuration: the broker must keep the newest record of each publisher, and need not keep the others.

A segment that is still written to is not compacted, and the ends of transactions stay for `delete.retention.ms`; by the
defaults of Kafka the one grows to 1 GiB and the others stay for a day.
"""


def progress_topic(target: Target) -> str:
    """Return the topic that holds how far a target's models are published."""
    return f"{PROGRESS_TOPIC}{target.suffix}"


def is_topic_name(name: str) -> bool:
    """Return whether Kafka accepts a name for a topic."""
    return re.fullmatch(r"[a-zA-Z0-9._-]{1,249}", name) is not None and name not in (".", "..")


def fault(name: str) -> str | None:
    """Return why a file of the project may not name a topic so, if it may not."""
    if not is_topic_name(name):
        return "a topic's name is 1 to 249 letters, digits, `.`, `_` and `-`, and neither `.` nor `..`"
    if name == TICK_TOPIC:
        return f"rows of `{TICK_TOPIC}` are headrace's own and only make time pass; name another topic"
    if name.startswith("__"):
        return "topics that start with `__` are Kafka's own; name another topic"
    if name.startswith(PROGRESS_TOPIC):
        return f"`{PROGRESS_TOPIC}`, with any suffix, is headrace's own and holds what was sent; name another topic"
    return None
