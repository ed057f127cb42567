"""No secret of a target comes out, whatever succeeds or fails: a canary is in each place that holds one."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from email.headerregistry import Address
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from headrace import logs, secrets
from headrace.cli import entry
from headrace.errors import EnvironmentFault, InvalidProject, UsageError
from headrace.logs import event_logger
from headrace.mail.letter import Letter
from headrace.mail.post import Smtp
from headrace.project import loader, secret_values
from headrace.project.model import Project
from headrace.serving import replies
from headrace.serving.replies import Read
from headrace.serving.tables import Asked
from headrace.spark.failures import message_of
from headrace.store import paths
from headrace.store.paths import ObjectPath
from tests.post_office import open_office

if TYPE_CHECKING:
    from tests.unit.conftest import ProjectFiles

CANARY = "canary-7f3a"
JAAS = 'org.apache.kafka.common.security.scram.ScramLoginModule required username=ana password="{}";'
SECRETS = {
    **{name: f"{CANARY}-{name}+/x=" for name in ("KAFKA", "KEY", "STORE", "SESSION", "SMTP", "TOKEN", "S3A", "SAS")},
    "JAAS": JAAS.format(f"{CANARY}-jaas"),
    "UNUSED": f"{CANARY}-unused",
}
KAFKA = """
  options:
    security.protocol: SASL_PLAINTEXT
    sasl.mechanism: SCRAM-SHA-512
    sasl.username: ana
    sasl.password: env:KAFKA
    sasl.jaas.config: env:JAAS
    ssl.key.password: env:KEY
"""
TARGET = f"""
data_dir: data
kafka:
  bootstrap: 127.0.0.1:9
{KAFKA}
mail: {{host: 127.0.0.1, sender: a@b, port: 1, username: ana, password: env:SMTP, timeout: 1s}}
http: {{token: env:TOKEN}}
spark: {{conf: {{spark.hadoop.fs.s3a.secret.key: env:S3A}}}}
"""
S3 = """
store:
  url: s3://lake/shop
  options: {aws_access_key_id: id, aws_secret_access_key: env:STORE, aws_session_token: env:SESSION,
            aws_endpoint: 'http://127.0.0.1:PORT', aws_allow_http: true}
"""
READING = ("check --offline", "status", "status --json", "ls --json", "plan", "docs", "export catalog --for hive",
           "lineage gold.shipment_ready.order_id", "show gold.shipment_ready", "dead-letters", "broker status --json",
           "submit --target yarn --print")  # fmt: skip


@dataclass
class World:
    """A project whose target is full of canaries, and all that came out of it so far."""

    files: ProjectFiles
    capfd: pytest.CaptureFixture[str]

    def project(self) -> Project:
        return loader.load(self.files.root, "local")

    def run(self, *words: str) -> int:
        """The exit code of a command."""
        with pytest.raises(SystemExit) as ended:
            entry.main(["-C", str(self.files.root), *words])
        return int(ended.value.code or 0)

    def out(self) -> str:
        """What has been printed, and the names and contents of all files."""
        printed = self.capfd.readouterr()
        files = [file for file in self.files.root.rglob("*") if file.is_file()]
        return printed.out + printed.err + "".join(f"{file}\n{file.read_bytes()!r}\n" for file in files)


@pytest.fixture
def world(
    project_files: ProjectFiles, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[World]:
    made: list[logs._File] = []

    def file(*words: Any, **options: Any) -> logs._File:
        made.append(real(*words, **options))
        return made[-1]

    real = logs._File
    monkeypatch.setattr(logs, "_File", file)
    monkeypatch.setattr(secrets, "_memory", secrets._Memory())
    for name, secret in SECRETS.items():
        monkeypatch.setenv(name, secret)
    project_files.write("conf/local.yml", TARGET)
    yield World(project_files, capfd)
    for each in made:
        each.close()


@contextmanager
def store_that_quotes() -> Iterator[int]:
    """The port of an object store that denies everything, and quotes the whole request as the reason."""

    class Handler(BaseHTTPRequestHandler):
        def do(self) -> None:
            sent = f"{self.path} {self.headers}".replace("\n", " ").replace("<", "").replace("&", " ")
            body = f"<Error><Code>AccessDenied</Code><Message>{sent}</Message></Error>".encode()
            self.send_response(403)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        do_GET = do_PUT = do_HEAD = do_POST = do_DELETE = do

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


def test_commands_that_read_show_none(world: World) -> None:
    codes = {words: world.run(*words.split()) for words in READING}
    assert set(codes.values()) == {0}, codes
    assert CANARY not in world.out()


def test_project_shows_none(world: World) -> None:
    assert CANARY not in repr(world.project()) + str(world.project())


def test_every_secret_is_known(world: World) -> None:
    found = secret_values.of(world.project().target)
    expected = {SECRETS[name] for name in ("KAFKA", "KEY", "SMTP", "TOKEN", "S3A", "JAAS")} | {f"{CANARY}-jaas"}
    assert found == expected


def test_unreachable_broker_shows_none(world: World) -> None:
    assert world.run("tail", "orders", "--limit", "1") == 4
    assert CANARY not in world.out()


def test_service_without_a_broker_shows_none(world: World) -> None:
    stop = threading.Timer(2.0, os.kill, (os.getpid(), signal.SIGTERM))
    stop.start()
    assert world.run("serve", "--port", "0") == 143
    out = world.out()
    assert "serving" in out and CANARY not in out


def test_service_for_others_without_a_token_shows_none(world: World) -> None:
    world.files.write("conf/local.yml", TARGET.replace("http: {token: env:TOKEN}", ""))
    assert world.run("serve", "--host", "0.0.0.0") == 2
    assert CANARY not in world.out()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("SASL_PLAINTEXT", "env:KAFKA"),  # a reference at the wrong place
        ("SCRAM-SHA-512", "env:KAFKA"),
        ("127.0.0.1:9", "env:KAFKA"),
        ("a@b, port: 1", "a@b, port: env:SMTP"),
        ("timeout: 1s", "timeout: env:SMTP"),
        ("{conf:", "{compiler: env:S3A, conf:"),
        ("{conf:", "{small_batches: env:S3A, conf:"),
        ("data_dir: data", "store: {url: 's3://lake', options: {aws_endpoint: env:STORE, aws_session: env:STORE}}"),
        ("data_dir: data", "store: {url: 's3://lake', options: {aws_server_side_encryption: env:STORE}}"),
        ("data_dir: data", "like: env:KAFKA"),
        ("data_dir: data", "suffix: env:KAFKA"),
        ("data_dir: data", "keep_history: env:KAFKA"),
        ("data_dir: data", "kafka.topics: env:KAFKA"),
        ("env:JAAS", "env:MISSING"),
        ("env:JAAS", "file:/no/such/file"),
        ("env:JAAS", f"'{JAAS.format(CANARY)[:-1]}'"),  # no semicolon
        ("env:JAAS", f"'{JAAS.format(CANARY).replace('ScramLogin', 'Other')}'"),
        ("sasl.username: ana", "sasl.passwort: env:KAFKA"),
    ],
)  # fmt: skip
def test_finding_shows_none(world: World, old: str, new: str) -> None:
    world.files.edit("conf/local.yml", old, new)
    with pytest.raises((InvalidProject, UsageError)) as caught:
        world.project()
    assert CANARY not in str(caught.value) + repr(caught.value)


def test_finding_shows_the_reference(world: World) -> None:
    world.files.edit("conf/local.yml", "SASL_PLAINTEXT", "env:KAFKA")
    with pytest.raises(InvalidProject, match="`env:KAFKA` is none of"):
        world.project()


@pytest.mark.long
def test_store_that_quotes_the_request_shows_none(world: World) -> None:
    with store_that_quotes() as port:
        world.files.write("conf/local.yml", TARGET + S3.replace("PORT", str(port)))
        assert [
            world.run(*words.split()) for words in ("doctor", "status", "maintain", "show gold.shipment_ready")
        ] == [4] * 4
        reply = replies.reply(world.project(), world.project().target.layout, Read("gold.shipment_ready", Asked()))
    out = world.out()
    assert "x-amz-security-token: [hidden]" in out and reply.status == 503
    assert CANARY not in out + reply.body


def test_signature_in_a_url_shows_none(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    secrets.remember([SECRETS["SAS"]])
    options = {"azure_storage_account_name": "a", "azure_storage_sas_key": f"sv=1&sig={SECRETS['SAS']}"}
    with store_that_quotes() as port:
        monkeypatch.setenv("AZURE_STORAGE_USE_EMULATOR", "true")
        monkeypatch.setenv("AZURITE_BLOB_STORAGE_URL", f"http://127.0.0.1:{port}")
        found = paths.path_of("az://lake/shop", options)
        assert isinstance(found, ObjectPath)
        with pytest.raises(EnvironmentFault) as caught:
            (found / "note").read_text()
    assert CANARY not in str(caught.value)


def test_mail_server_that_quotes_the_password_shows_none(world: World) -> None:
    mail = world.project().target.mail
    assert mail is not None
    with open_office() as office, pytest.raises(EnvironmentFault, match="does not let us in") as caught:
        office.answers = {"ehlo": "250-here\r\n250 AUTH PLAIN", "AUTH": f"535 not {mail.password}"}
        Smtp(replace(mail, port=office.port), wait=0).send(Letter("o", Address("A", "a", "b"), "s", "x"), "orders")
    assert "[hidden]" in str(caught.value) and CANARY not in str(caught.value)


def test_fault_of_ours_shows_none_in_its_traceback(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError(f"with {world.project().target.http.token}")

    monkeypatch.setattr("headrace.commands.inspecting.list_models", fail)
    assert world.run("ls") == 1
    out = world.out()
    assert "Traceback" in out and "with [hidden]" in out and CANARY not in out


def test_log_shows_none(world: World, tmp_path: Path) -> None:
    world.project()
    log = event_logger(tmp_path / "logs")
    log("failed", query="shipping", cause=f"refused {SECRETS['KAFKA']}", nested=[SECRETS["KAFKA"], SECRETS["JAAS"]])
    out = world.out()
    assert "[hidden]" in out and CANARY not in out


def test_failure_in_a_query_shows_none(world: World) -> None:
    world.project()
    assert message_of(RuntimeError(f"with {SECRETS['KAFKA']}")) == "with [hidden]"


@pytest.mark.parametrize("secret", ['with "quotes"', "with\nlines", "with/slash+", "with ünicode", "with'quote'\\"])
def test_secret_is_hidden_in_each_form(world: World, secret: str) -> None:
    secrets.remember([secret])
    forms = (secret, quote(secret, safe=""), json.dumps({"x": secret}), repr([secret]))
    assert all("with" not in secrets.hidden(form) for form in forms)


def test_short_secret_hides_no_words(world: World) -> None:
    secrets.remember(["admin"])
    assert secrets.hidden("administration") == "administration"
