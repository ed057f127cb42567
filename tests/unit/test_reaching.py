"""Object stores that refuse, are missing or are slow: one line each, and nothing is lost."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from obstore.exceptions import GenericError

from headrace.cli.entry import main
from headrace.commands import starting
from headrace.errors import EnvironmentFault, ExitCode
from headrace.store import durable
from headrace.store.buckets import namenode
from headrace.store.delta_tables import is_table, open_table
from headrace.store.paths import ObjectPath, check, path_of
from headrace.store.reaching import reaching
from tests.s3.server import options

DENIED = "<Error><Code>{}</Code><Message>no</Message></Error>"


@dataclass
class Answers:
    """What a server says to each request: its status by the method; it keeps what was put."""

    status: Callable[[str], int]
    code: str = "AccessDenied"
    pause: float = 0.0
    kept: dict[str, bytes] = field(default_factory=dict)


@contextmanager
def answering(answers: Answers) -> Iterator[ObjectPath]:
    """A store on this machine that answers so."""

    class Handler(BaseHTTPRequestHandler):
        def do(self) -> None:
            data = self.rfile.read(int(self.headers.get("content-length") or 0))
            time.sleep(answers.pause)
            status, body = answers.status(self.command), b""
            if status != 200:
                body = DENIED.format(answers.code).encode()
            elif self.command == "PUT":
                if self.headers.get("if-none-match") and self.path in answers.kept:
                    status = 412
                else:
                    answers.kept[self.path] = data
            elif "list-type" in self.path:
                body = b"<ListBucketResult></ListBucketResult>"
            elif self.command == "GET":
                body = answers.kept[self.path]
            elif self.command == "POST":
                body = b"<DeleteResult><Deleted><Key>x</Key></Deleted></DeleteResult>"
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.send_header("last-modified", "Thu, 01 Jan 2026 00:00:00 GMT")
            self.send_header("etag", '"1"')
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        do_GET = do_PUT = do_HEAD = do_POST = do_DELETE = do

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            found = path_of("s3://lake/shop", options(server.server_port))
            assert isinstance(found, ObjectPath)
            yield found
        finally:
            server.shutdown()
            thread.join()


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(EnvironmentFault) as caught:
        call()
    assert caught.value.exit_code == ExitCode.ENVIRONMENT
    assert "\n" not in str(caught.value)
    return str(caught.value)


WRONG = "SignatureDoesNotMatch"
CALLS: list[Callable[[ObjectPath], object]] = [
    check,
    lambda root: (root / "note").read_text(),
    lambda root: (root / "note").is_file(),
    lambda root: (root / "note").is_dir(),
    lambda root: (root / "note").write_text("x"),
    lambda root: (root / "note").unlink(),
    lambda root: [*root.glob("*")],
    lambda root: [*root.files()],
    lambda root: durable.write_new(root / "note", "x"),
    is_table,
    open_table,
]


@pytest.mark.parametrize("call", CALLS)
def test_wrong_credentials_are_one_line(call: Callable[[ObjectPath], object]) -> None:
    with answering(Answers(lambda _: 403, WRONG)) as root:
        said = refused(lambda: call(root))
    assert said.startswith("the store s3://lake/shop denies access: "), said
    assert "look at the credentials" in said


@pytest.mark.parametrize("call", [check, *CALLS[4:6], *CALLS[8:9]])
def test_missing_bucket_is_one_line(call: Callable[[ObjectPath], object]) -> None:
    with answering(Answers(lambda _: 404, "NoSuchBucket")) as root:
        assert "there is no such bucket" in refused(lambda: call(root))


AZURE = """Object at location shop/note not found: Bulk delete request failed for key shop/note: The specified container
does not exist. (code: 404)"""


@pytest.mark.parametrize("said", ["NoSuchBucket", "ContainerNotFound", AZURE.replace("\n", " ")])
def test_missing_bucket_is_no_missing_object(said: str) -> None:
    def ask() -> None:
        with reaching("az://lake/shop"):
            raise FileNotFoundError(said)

    assert "there is no such bucket" in refused(ask)


def test_message_of_several_lines_is_one_line() -> None:
    said = "<Error><Code>AuthorizationFailure</Code><Message>Wrong key.\nRequestId:1\nTime:2</Message>"

    def ask() -> None:
        with reaching("az://lake/shop"):
            raise GenericError(f"Server returned non-2xx status code: 403 Forbidden: {said}")

    assert "denies access: AuthorizationFailure (Wrong key.); look" in refused(ask)


def test_denied_put_is_known_before_anything_else() -> None:
    with answering(Answers(lambda method: 403 if method == "PUT" else 200)) as root:
        assert "denies access: AccessDenied (no)" in refused(lambda: check(root))


def test_store_that_is_down_is_one_line() -> None:
    down = path_of("s3://lake/shop", options(1))
    assert "the store s3://lake/shop fails: " in refused(lambda: check(down))


def test_store_without_conditional_puts_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = Answers(lambda _: 200)
    monkeypatch.setattr(answers, "kept", Forgetful())
    with answering(answers) as root:
        assert "If-None-Match" in refused(lambda: check(root))


class Forgetful(dict[str, bytes]):
    """What is put is never there."""

    def __contains__(self, _: object) -> bool:
        return False


@pytest.mark.long
def test_slow_store_loses_nothing() -> None:
    with answering(Answers(lambda _: 200, pause=2.0)) as root:
        check(root)
        durable.write_new(root / "entry", "first")
        with pytest.raises(FileExistsError):
            durable.write_new(root / "entry", "second")
        assert (root / "entry").read_text() == "first"


def test_object_that_is_missing_is_no_fault() -> None:
    with answering(Answers(lambda _: 404, "NoSuchKey")) as root:
        assert not (root / "note").is_file()
        with pytest.raises(FileNotFoundError):
            (root / "note").read_text()


def test_run_on_a_store_that_refuses_ends_before_it_begins(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "shop"
    starting.init(folder)
    with answering(Answers(lambda method: 403 if method == "PUT" else 200)) as root:
        store = {"url": str(root), "options": {**root.bucket.options}}
        (folder / "conf" / "local.yml").write_text(json.dumps({"store": store}))
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(["-C", str(folder), "run"])
    said = capsys.readouterr().err.splitlines()
    assert (ended.value.code, len(said)) == (ExitCode.ENVIRONMENT, 1)
    assert said[0].startswith("headrace: the store s3://lake/shop denies access: AccessDenied (no); look at")
    assert not (folder / ".headrace").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            'RPCError("org.apache.hadoop.security.AccessControlException", "Permission denied: user=nobody\\n\\tat")',
            "denies access: Permission denied: user=nobody; look at who owns",
        ),
        (
            'RPCError("org.apache.hadoop.ipc.RetriableException", "Still not started: safe mode is on\\n\\tat")',
            "can only be read: Still not started: safe mode is on; wait",
        ),
        (
            'FatalRPCError("org.apache.hadoop.x.AccessControlException", "SIMPLE authentication is not enabled")',
            "wants a Kerberos ticket: SIMPLE authentication is not enabled; look at `klist`",
        ),
        ('GSSAPIError(GSS_S_FAILURE, 0, "No credentials")', "wants a Kerberos ticket"),
        ('RPCError("java.io.IOException", "File /x could only be written to 0 of the 1\\n\\tat")', "0 of the 1; look"),
        (
            "Kernel error\n \x1b[31m↳\x1b[0m Connection refused (os error 111)\n",
            "fails: Connection refused (os error 111);",
        ),
        ("", "fails: it says nothing; look at the network"),
    ],
)
def test_refusal_of_hdfs_is_one_line(text: str, said: str) -> None:
    line = namenode.explained("hdfs://lake:8020/shop", text)
    assert said in line and "\n" not in line and "\\tat" not in line


def test_failure_of_the_client_of_hdfs_is_a_fault() -> None:
    with pytest.raises(EnvironmentFault, match="fails: no answer"), namenode.reaching("hdfs://lake"):
        raise TimeoutError("no answer")
    with pytest.raises(FileExistsError), namenode.reaching("hdfs://lake"):
        raise FileExistsError("x")
