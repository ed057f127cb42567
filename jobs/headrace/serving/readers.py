"""Processes that read tables: the system ends one that takes too long or too much memory, and others go on.

Rules: a process answers one request at a time, is started when it is first needed, and is replaced when it has ended.
Neither DataFusion nor DuckDB can be stopped at any moment from inside a process; a process can.
"""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import sys
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from multiprocessing import forkserver, get_context
from multiprocessing.connection import Connection
from pathlib import Path

from headrace.secrets import hidden
from headrace.serving.orders import Busy
from headrace.serving.replies import Read, Reply, detail, parameter

SECONDS = 10.0
"""How long a read may take, and how long it may wait for a process."""

BYTES = 2**30
"""How much memory a read may take."""

_NICE = 10
"""Behind orders, and behind a runner on the same machine."""

Answer = Callable[[Read], Reply]


class Readers:
    """At most some processes that read tables; `waiting` requests may wait for one."""

    def __init__(self, answer: Answer, most: int, waiting: int, seconds: float = SECONDS, memory: int = BYTES) -> None:
        forkserver.set_forkserver_preload(["headrace.serving.replies"])
        forkserver.ensure_running()  # what it imports takes a second, and nobody waits for it yet
        self._start = partial(_Reader, answer, seconds, memory)
        self._seconds = seconds
        self._memory = memory
        self._most = most + waiting
        self._asked = 0
        self._free = asyncio.Semaphore(most)
        self._threads = ThreadPoolExecutor(most, "tables")
        self._idle: list[_Reader] = []
        self._working: set[_Reader] = set()

    async def read(self, read: Read) -> Reply:
        """Answer a request; Busy if too many wait, or none of the processes became free in time."""
        if self._asked >= self._most:
            raise Busy("too many requests read tables")
        self._asked += 1
        try:
            await asyncio.wait_for(self._free.acquire(), self._seconds)
        except asyncio.TimeoutError:
            raise Busy("other requests read tables") from None
        else:
            try:
                return await asyncio.get_running_loop().run_in_executor(self._threads, self._in_process, read)
            finally:
                self._free.release()
        finally:
            self._asked -= 1

    def close(self) -> None:
        """End all processes."""
        for reader in (*self._idle, *self._working):
            reader.end()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _in_process(self, read: Read) -> Reply:
        reader = self._taken()
        self._working.add(reader)
        try:
            answer = reader.answer(read)
        finally:
            self._working.discard(reader)
        if answer is not None:
            self._idle.append(reader)
            return answer
        if reader.timed_out:
            return detail(504, f"a read may take {self._seconds:g} seconds: ask for less, by `key` or `where`")
        name = "where" if read.asked.where is not None else "limit"
        message = f"a read may take {self._memory >> 20} MiB of memory: ask for less"
        return parameter(422, name, "too_large", message)

    def _taken(self) -> _Reader:
        """An idle process that lives, or a new one."""
        while self._idle:
            with suppress(IndexError):  # another thread took it
                if (reader := self._idle.pop()).alive:
                    return reader
        return self._start()


class _Reader:
    """One process, and the pipe to it."""

    def __init__(self, answer: Answer, seconds: float, memory: int) -> None:
        context = get_context("forkserver")
        self._pipe, other_end = context.Pipe()
        self._process = context.Process(target=_serve, args=(other_end, answer, seconds, memory), daemon=True)
        self._process.start()
        other_end.close()

    @property
    def alive(self) -> bool:
        return self._process.is_alive()

    @property
    def timed_out(self) -> bool:
        """Whether its own alarm has ended it."""
        self._process.join()
        return self._process.exitcode == -signal.SIGALRM

    def answer(self, read: Read) -> Reply | None:
        """The answer; None if the process ended over it."""
        try:
            self._pipe.send(read)
            reply = self._pipe.recv()
        except (EOFError, OSError):
            self._pipe.close()
            return None
        return reply if isinstance(reply, Reply) else None

    def end(self) -> None:
        self._process.kill()


def _serve(pipe: Connection, answer: Answer, seconds: float, memory: int) -> None:
    """Answer requests until nobody is left to ask."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the service, which closes the pipe
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    os.nice(_NICE)
    with suppress(OSError):  # not Linux
        Path("/proc/self/oom_score_adj").write_text("1000", "ascii")  # where memory is short, a read ends first
    with suppress(ValueError, OSError):  # a lower limit holds already
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(EOFError, OSError):
        while True:
            read = pipe.recv()
            signal.setitimer(signal.ITIMER_REAL, seconds)
            try:
                reply = answer(read)
            except MemoryError:
                os._exit(1)
            except Exception:
                print(hidden(traceback.format_exc()), end="", file=sys.stderr, flush=True)
                reply = detail(500, "an error of the service; its stderr has the traceback")
            signal.setitimer(signal.ITIMER_REAL, 0)
            pipe.send(reply)
