"""A process that dies at the k-th call that reaches beyond it: to the disk, or to Kafka."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from confluent_kafka import Producer

from headrace.publishing import outlet
from tests.kafka.crash import Crash
from tests.waiting import PATIENCE

FILE_CALLS = ("link", "rename", "replace", "unlink", "mkdir", "rmdir", "utime")
"""Each of them is what makes a write, or the end of one, seen by others; `utime` ends the copy of a file."""


@dataclass(frozen=True)
class Halt:
    """A moment at which a process stands still, until it is let go on."""

    begun: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)

    def wait(self) -> None:
        """Stand still."""
        self.begun.set()
        assert self.over.wait(PATIENCE)


@dataclass
class Fuse:
    """Counts calls down to the one at which the process dies, or halts; `None` while it is not to die.

    Calls of the disk count if they are about files in a folder, that of the data.
    """

    folder: str = "/"
    left: int | None = None
    is_blown: bool = False
    place: str = ""
    """The file, or the call to Kafka, at which the process died or halted."""
    halt: Halt | None = None
    """What happens instead of the death, once."""

    def burn(self, place: str = "") -> None:
        """Pass a call, halt there, or die."""
        if self.left == 0 and self.halt is not None:
            halt, self.left, self.halt, self.place = self.halt, None, None, place
            halt.wait()
        if self.left is not None and not self.is_blown:
            self.left -= 1
            self.is_blown, self.place = self.left < 0, place
        if self.is_blown:
            raise Crash

    def renew(self) -> None:
        """Another process begins."""
        self.left, self.is_blown, self.halt = None, False, None

    def install(self, patch: pytest.MonkeyPatch) -> Fuse:
        """Stand between the runner and what it calls."""
        for name in FILE_CALLS:
            patch.setattr(os, name, self.fused(getattr(os, name), lambda path: str(path).startswith(self.folder)))
        patch.setattr(outlet, "Producer", self._producer())
        return self

    def fused(self, call: Callable[..., Any], counts: Callable[[Any], bool] = lambda _: True) -> Callable[..., Any]:
        """A call at which the process may die, before it or after it, if it `counts`."""

        def fused(first: Any, *words: Any, **named: Any) -> Any:
            if not counts(first):
                return call(first, *words, **named)
            place = str(first) if isinstance(first, str | os.PathLike) else call.__name__
            self.burn(place)
            done = call(first, *words, **named)
            self.burn(place)
            return done

        return fused

    def _producer(self) -> type[Producer]:
        class Fused(Producer):
            """Dies before or after what the broker notices."""

        for name in ("init_transactions", "begin_transaction", "produce", "commit_transaction"):
            setattr(Fused, name, self.fused(getattr(Producer, name)))
        return Fused
