"""The requests to an HDFS cluster, by `hdfs-native`: each of them ends in time, and fails in one line.

The client waits for a NameNode as long as the connection stands, so every request has a deadline here, and a thread of
its own: one that is overdue is left behind, and does not keep the process alive. The client's coroutines could be given
up, but panic where they wait before they try a NameNode again.

hdfs-native is an extra, `headrace[hdfs]`: it is imported where the first cluster is reached.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as Overdue
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from headrace.errors import EnvironmentFault

if TYPE_CHECKING:
    from hdfs_native import Client, FileStatus

_T = TypeVar("_T")

DEADLINE = 60.0
"""Seconds after which a request counts as unanswered."""

_CHUNK = 8 << 20
"""Bytes that are written or read by one request."""

_SAID = re.compile(r'^\w*RPCError\("([\w.$]+)", "(.*)"\)$', re.DOTALL)
_KERBEROS = re.compile(r"^(GSSAPIError|SASLError|NoSASLMechanism)|SIMPLE authentication is not enabled|Kerberos|GSS")
_COLOUR = re.compile(r"\x1b\[\d*m")
_MOST_CHARACTERS = 300


class NameNode:
    """A cluster, or a name service of several NameNodes; the configuration is in Hadoop's names.

    Raises FileNotFoundError and FileExistsError as they are, and an EnvironmentFault for whatever else fails.
    """

    def __init__(self, store: str, address: str, configuration: Mapping[str, str], deadline: float = DEADLINE) -> None:
        """`store` is what messages call it; `address` is a URL without a path. Nothing is asked yet."""
        self._store = store
        self._deadline = deadline
        with reaching(store):
            self._client = _client(address, dict(configuration))

    def status(self, path: str) -> FileStatus:
        """What there is under a path."""
        return self._asked(lambda: self._client.get_file_info(path))

    def listed(self, folder: str) -> list[FileStatus]:
        """What is directly in a folder."""
        return self._asked(lambda: [*self._client.list_status(folder)])

    def read(self, path: str, start: int = 0, length: int | None = None) -> bytes:
        """The bytes of a file from one on; `length` must not reach beyond its end."""
        reader = self._asked(lambda: self._client.read(path))
        end = len(reader) if length is None else start + length
        steps = ((at, min(_CHUNK, end - at)) for at in range(start, end, _CHUNK))
        return b"".join([self._asked(partial(reader.read_range, *step)) for step in steps])

    def write(self, path: str, data: bytes) -> None:
        """Write a file that nobody else writes, with the folders above it; until that is done, it is there in part."""
        from hdfs_native import WriteOptions

        writer = self._asked(lambda: self._client.create(path, WriteOptions(create_parent=True)))
        for at in range(0, len(data), _CHUNK):
            self._asked(partial(writer.write, data[at : at + _CHUNK]))
        self._asked(writer.close)

    def rename(self, path: str, to: str, overwrite: bool = False) -> None:
        """Rename a file or a folder atomically; FileExistsError if the name is taken."""
        self._asked(lambda: self._client.rename(path, to, overwrite))

    def make_folder(self, folder: str) -> None:
        """Make a folder, with those above it, where it is missing."""
        self._asked(lambda: self._client.mkdirs(folder, 0o755, create_parent=True))

    def delete(self, path: str, recursive: bool = False) -> None:
        """Delete a file, or a folder with all that is in it; nothing happens where there is none."""
        self._asked(lambda: self._client.delete(path, recursive))

    def _asked(self, request: Callable[[], _T]) -> _T:
        """The answer to a request."""
        answer = Future[_T]()
        threading.Thread(target=_answer, args=(request, answer), name="hdfs", daemon=True).start()
        with reaching(self._store):
            try:
                return answer.result(self._deadline)
            except Overdue:
                raise TimeoutError(f"no answer within {self._deadline:g} s") from None


def _answer(request: Callable[[], _T], answer: Future[_T]) -> None:
    try:
        answer.set_result(request())
    except Exception as error:
        answer.set_exception(error)
    except BaseException as panic:  # of the client, which calls it no Exception
        answer.set_exception(RuntimeError(f"the client fails: {panic}"))


def _client(address: str, configuration: dict[str, str]) -> Client:
    try:
        from hdfs_native import Client
    except ImportError:
        raise EnvironmentFault(
            f"the store {address} is on HDFS, and the Python package hdfs-native is missing; install `headrace[hdfs]`"
        ) from None
    return Client(address, configuration)


@contextmanager
def reaching(store: str) -> Iterator[None]:
    """Report in one line what a cluster refuses; that a file is missing, or is there, is for the caller."""
    try:
        yield
    except (FileNotFoundError, FileExistsError):
        raise
    except (OSError, RuntimeError) as error:
        raise EnvironmentFault(explained(store, str(error))) from error


def explained(store: str, text: str) -> str:
    """What the text of an error means, and what to do."""
    found = _SAID.search(text)
    name, said = (found[1].rpartition(".")[2], _first_line(found[2])) if found else ("", _first_line(text))
    if _KERBEROS.search(text) or _KERBEROS.search(said):
        return (
            f"the store {store} wants a Kerberos ticket: {said}; look at `klist`, and at core-site.xml in the folder "
            "that HADOOP_CONF_DIR names"
        )
    if name == "SafeModeException" or "safe mode" in said:
        return f"the store {store} can only be read: {said}; wait until its NameNode has left safe mode"
    if name in ("AccessControlException", "AuthorizationException"):
        return (
            f"the store {store} denies access: {said}; look at who owns its folder, and at whom you are there "
            "(HADOOP_USER_NAME, or the Kerberos ticket)"
        )
    if "No NameNode hosts found" in said:
        return (
            f"the store {store} names no NameNode: write its port, or name in HADOOP_CONF_DIR the folder whose "
            "hdfs-site.xml has this name service"
        )
    return f"the store {store} fails: {said}; look at the network, and at `store` in conf/"


def _first_line(text: str) -> str:
    """The first line of what a server says, without the trace that follows; deltalake says the cause last."""
    cause = _COLOUR.sub("", text).rpartition("↳")[2]
    line = re.split(r"\n|\\n", cause.strip(), maxsplit=1)[0]
    return line.strip()[:_MOST_CHARACTERS] or "it says nothing"
