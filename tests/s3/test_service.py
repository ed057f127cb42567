"""The REST service and the commands that need no JVM, on tables of a bucket that deltalake wrote."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from headrace import cli
from headrace.errors import ExitCode
from headrace.mail import ledger
from headrace.mail.outcome import Place
from headrace.project.model import Model
from headrace.serving import mail
from headrace.serving.history import TABLE, History
from headrace.store.layout import Layout
from headrace.store.paths import path_of
from tests.s3.faulty import Choice, always, faulty, on
from tests.s3.server import S3Server, serving
from tests.unit.conftest import SMALL_PROJECT, Store, store_at
from tests.unit.test_serving_history import store_states
from tests.unit.test_serving_tables import get, pages
from tests.waiting import PATIENCE


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with serving(tmp_path_factory.mktemp("s3")) as found:
        yield found


@pytest.fixture(scope="module")
def stored(server: S3Server, tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A project with some rows in each kind of table."""
    layout = Layout(tmp_path_factory.mktemp("data"), path_of(f"{server.url}/shop", server.options))
    found = store_at(layout)
    found.land("shipping", 0, ("orders", 0, "a", None), ("orders", 1, "bad", "not_json"))
    found.land("shipping", 1, ("manufactured", 0, "a", None))
    found.append(
        "gold.shipment_ready", *(f"'o{number}' as order_id, {number} as n, 0 as _batch" for number in range(5))
    )
    found.change(0, ("a", 0, 1, False), ("b", 1, 1, False))
    found.fold(0, ("a", 0, 1, False), ("b", 1, 1, False))
    found.change(1, ("a", 2, 2, False), ("b", 3, 1, True))
    return found


def test_tables_of_each_kind_are_served(stored: Store) -> None:
    assert [len(rows) for rows in pages(stored, "gold.shipment_ready", 2)] == [2, 2, 1]
    assert [row["key"] for rows in pages(stored, "bronze.orders", 1) for row in rows] == ["a", "bad"]
    (rows,) = pages(stored, "silver.open_orders", 9)
    assert [(row["order_id"], row["made"]) for row in rows] == [("a", 2)]


def test_condition_and_key_select(stored: Store) -> None:
    found = get(stored, "gold.shipment_ready", where="n > 2").json()["rows"]
    assert sorted(row["n"] for row in found) == [3, 4]
    assert [row["n"] for row in get(stored, "gold.shipment_ready", key="o3").json()["rows"]] == [3]


def test_version_that_is_known_is_not_read_again(stored: Store, server: S3Server) -> None:
    first = get(stored, "gold.shipment_ready")
    before = len(server.requests())
    again = get(stored, "gold.shipment_ready", known=first.headers["etag"])
    assert again.status_code == 304
    assert [line for line in server.requests()[before:] if "batch" in line or ".parquet" in line] == []


def test_table_without_rows_yet_is_empty(stored: Store) -> None:
    answer = get(stored, "gold.order_checks")
    assert (answer.status_code, answer.json()["rows"]) == (200, [])


def test_states_of_orders_come_from_the_store(stored: Store) -> None:
    model = Model("silver", "orders_by_id", "shop", "x.sql", "", "", "upsert", "micro_batch", None, ())
    known = replace(stored.project, models=(*stored.project.models, replace(model, unique_key=("order_id",))))
    store_states(stored.layout.changes(TABLE), ("a", "CREATED", 0, 0, 0), ("a", "VALIDATED", 1, 0, 4))

    async def ask() -> tuple[Any, list[str]]:
        history = History(known, stored.layout, "shop-orders")
        positions = await history.reopen()
        states = [event.state for event in await history.of("a")]
        history.close()
        return dict(positions), states

    assert asyncio.run(ask()) == ({0: 5}, ["CREATED", "VALIDATED"])


def test_letters_are_counted(stored: Store) -> None:
    sent = ledger.of(stored.layout.mail, "order-emails")
    for number, outcome in enumerate(("sent", "sent", "refused")):
        sent.write(f"o{number}", Place(0, number), outcome)  # type: ignore[arg-type]
        sent.mark_read(Place(0, number))
    assert mail.counts(stored.layout) == {"sent": 2, "dry_run": 0, "failed": 1}


@pytest.fixture(scope="module")
def project(stored: Store, server: S3Server, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a project whose data are those."""
    return project_on(tmp_path_factory.mktemp("project"), f"{server.url}/shop", server.options)


def project_on(root: Path, url: str, options: Mapping[str, str]) -> Path:
    """The files of a project on a store."""
    for path, text in SMALL_PROJECT.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    store = json.dumps({"url": url, "options": dict(options)})
    (root / "conf" / "local.yml").write_text(f"data_dir: data\nkafka: {{bootstrap: '127.0.0.1:1'}}\nstore: {store}\n")
    return root


@pytest.mark.parametrize(
    ("words", "about"),
    [
        (("show", "gold.shipment_ready", "--limit", "1", "--json"), '"order_id": "o0"'),
        (("show", "silver.open_orders", "--history", "b", "--json"), '"_deleted": true'),
        (("sql", "select count(*) as n from bronze.orders", "--json"), '{"n": 2}'),
        (("dead-letters", "--json"), '"reason": "not_json", "rows": 1, "replayed": 0'),
        (("tail", "bronze.orders", "--timeout", "1"), "reject_reason=not_json"),
        (("status", "--json"), '"state":"stopped"'),
        (("export", "catalog", "--for", "unity"), "LOCATION 's3://lake/shop/tables/gold/shipment_ready'"),
        (("docs",), "index.html"),
    ],
)
def test_command_reads_the_bucket(
    project: Path, capfd: pytest.CaptureFixture[str], words: tuple[str, ...], about: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["-C", str(project), *words])
    said = capfd.readouterr()
    assert (ended.value.code or 0, about in said.out) == (0, True), said


def test_page_of_the_documentation_says_when_rows_came(
    stored: Store, project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        cli.main(["-C", str(project), "docs"])
    page = Path(capfd.readouterr().out.strip()).read_text()
    written = stored.layout.table("gold.shipment_ready") / "_delta_log" / f"{0:020}.json"
    info = next(json.loads(line)["commitInfo"] for line in written.read_text().splitlines() if "commitInfo" in line)
    at = datetime.fromtimestamp(info["timestamp"] / 1000, timezone.utc)
    assert f"{at:%Y-%m-%d %H:%M}" in page


@pytest.mark.parametrize(
    ("fault", "words", "about"),
    [
        (on("PUT", "denied"), ("maintain",), "headrace: the store s3://lake/shop denies access: AccessDenied"),
        (always("denied"), ("status",), "headrace: the store s3://lake/shop denies access: "),
        (always("failed"), ("show", "gold.shipment_ready"), "headrace: the store s3://lake/shop fails: "),
        (on("GET", "half"), ("plan",), "headrace: the store s3://lake/shop fails: "),
        (on("PUT", "denied"), ("show", "gold.shipment_ready"), None),
    ],
)
def test_store_that_fails_is_told_in_a_line(
    server: S3Server, stored: Store, tmp_path: Path, fault: Choice, words: tuple[str, ...], about: str | None
) -> None:
    """In a process of its own: deltalake lets no other thread of its process run while it waits for an answer."""
    with faulty(server) as store, store.choosing(fault):
        root = project_on(tmp_path, f"{server.url}/shop", store.options)
        command = [sys.executable, "-m", "headrace", "-C", str(root), *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    said = done.stderr.splitlines()
    assert (done.returncode, len(said)) == ((ExitCode.ENVIRONMENT, 1) if about else (0, 0)), said
    assert about is None or said[0].startswith(about)
