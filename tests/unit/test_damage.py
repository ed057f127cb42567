"""Data files that are damaged or gone: whoever reads them learns which, of which table, and what to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.errors import PySparkException

from headrace.errors import MissingFile, TornFile
from headrace.reading.show import show
from headrace.reading.sql import sql
from headrace.spark.failures import ModelFailed, is_transient, message_of
from headrace.store import damage
from headrace.store.commits import actions_of, commit_of
from tests.unit.conftest import Store
from tests.unit.test_serving_tables import get

TABLE = "gold.order_checks"


@pytest.fixture
def file(store: Store) -> Path:
    """The data file of a table."""
    store.append(TABLE, *(f"'o{n}' as order_id, 'FRAUD' as check_type, {n} as n, 0 as _batch" for n in range(3)))
    (found,) = (each for each in store.layout.table(TABLE).glob("*.parquet") if isinstance(each, Path))
    return found


def scrambled(file: Path) -> None:
    """Its footer is whole."""
    data = bytearray(file.read_bytes())
    data[8:40] = b"\xff" * 32
    file.write_bytes(bytes(data))


Damage = Callable[[Path], object]
DAMAGES: dict[str, tuple[Damage, str]] = {
    "empty": (lambda file: file.write_bytes(b""), "torn-file: .* is empty"),
    "cut short": (lambda file: file.write_bytes(file.read_bytes()[:-9]), "torn-file: .* is cut short or damaged"),
    "garbage": (lambda file: file.write_bytes(b"garbage" * 99), "torn-file: .* is cut short or damaged"),
    "gone": (lambda file: file.unlink(), "missing-file: .* is gone"),
}
READERS: dict[str, Callable[[Store], object]] = {
    "show": lambda store: [*show(store.project, store.layout, TABLE).rows],
    "show --where": lambda store: [*show(store.project, store.layout, TABLE, where="n > 1").rows],
    "sql": lambda store: [*sql(store.project, store.layout, f"select max(n) from {TABLE}").rows],
    "sql that reads twice": lambda store: [
        *sql(store.project, store.layout, f"select n from {TABLE} where n = (select max(n) from {TABLE})").rows
    ],
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("name", DAMAGES)
def test_reader_without_spark_names_file_and_table(store: Store, file: Path, name: str, reader: str) -> None:
    damage_it, says = DAMAGES[name]
    damage_it(file)
    with pytest.raises(TornFile, match=rf"^{file}: {says}; restore a backup .*headrace reset") as error:
        READERS[reader](store)
    assert f"data file of {TABLE}" in str(error.value)


@pytest.mark.parametrize("name", DAMAGES)
def test_service_names_file_and_table(store: Store, file: Path, name: str) -> None:
    DAMAGES[name][0](file)
    answer = get(store, TABLE)
    assert answer.status_code == 503
    assert f"{TABLE} cannot be read now: {file}: " in answer.json()["detail"]


@pytest.mark.parametrize("name", DAMAGES)
def test_file_that_has_not_its_size_is_refused_before_spark_reads_it(store: Store, file: Path, name: str) -> None:
    table = store.layout.table(TABLE)
    commit = commit_of(0, actions_of(table, 0))
    damage.refuse(table, [commit])
    damage_it, says = DAMAGES[name]
    damage_it(file)
    with pytest.raises(TornFile, match=f"^{file}: {says}"):
        damage.refuse(table, [commit])


FOOTER = "[FAILED_READ_FILE.CANNOT_READ_FILE_FOOTER] Encountered error while reading file file://{}. Could not read."
NO_HINT = "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file file://{}. SQLSTATE: KD001"
ABSENT = "[FAILED_READ_FILE.FILE_NOT_EXIST] Encountered error while reading file file://{}. File does not exist."


@pytest.mark.parametrize("name", DAMAGES)
@pytest.mark.parametrize("says", [FOOTER, NO_HINT, ABSENT, "[PATH_NOT_FOUND] Path does not exist: file:{}. SQLSTATE"])
def test_failure_of_spark_names_file_and_table(file: Path, name: str, says: str) -> None:
    DAMAGES[name][0](file)
    error = ModelFailed(TABLE, "sql/gold/order_checks.sql", PySparkException(says.format(file)))
    assert is_transient(error) is None
    assert str(error).startswith(f"sql/gold/order_checks.sql: {TABLE}: {file}: ")
    assert f"data file of {TABLE}" in message_of(error)


def test_pages_that_are_damaged_are_found(file: Path) -> None:
    scrambled(file)
    assert isinstance(damage.found(NO_HINT.format(file)), TornFile)


def test_bytes_that_are_not_those_written_are_damage(file: Path) -> None:
    text = f"org.apache.hadoop.fs.ChecksumException: Checksum error: file:{file} at 0 exp: 1 got: 2"
    assert isinstance(damage.found(text), TornFile)


def test_disk_that_fails_for_a_moment_is_no_damage(file: Path) -> None:
    error = PySparkException(f"{NO_HINT.format(file)}\nCaused by: java.io.IOException: Input/output error")
    assert is_transient(error) is True
    assert "Encountered error while reading file" in message_of(error)


IN_BUCKET = "s3a://b/p/tables/_landing/shop/batch-1/part-0.parquet"
SAID: list[tuple[str, type[TornFile] | None]] = [
    (f"{ABSENT.replace('file://', '')}", MissingFile),
    ("java.lang.RuntimeException: {} is not a Parquet file. Expected magic number at tail", TornFile),
    ("[FAILED_READ_FILE.NO_HINT] Encountered error while reading file {}. \nCaused by: Read timed out", None),
    ("Spark says nothing of a file", None),
]


@pytest.mark.parametrize(("says", "kind"), SAID)
def test_file_of_a_bucket_is_judged_by_what_is_said(says: str, kind: type[TornFile] | None) -> None:
    found = damage.found(says.format(IN_BUCKET))
    assert type(found) is (kind or type(None))
    assert found is None or str(found).startswith(f"{IN_BUCKET}: {found.code}: this data file of landing shop ")


def test_file_that_was_compacted_and_removed_costs_no_rows(store: Store, file: Path) -> None:
    """Whoever resets the query that has stored the table would lose them."""
    store.append(TABLE, "'p' as order_id, 'FRAUD' as check_type, 4 as n, 0 as _batch")
    table = DeltaTable(file.parent)
    table.optimize.compact()
    table.vacuum(0, dry_run=False, enforce_retention_duration=False)
    found = damage.found(f"Error while reading file file:{file}. File does not exist")
    assert isinstance(found, MissingFile)
    assert "its rows are in other files" in str(found) and "for the query that fails" in str(found)
