"""What the commands around a rebuild refuse before anything starts."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import Schema

from headrace import cli
from headrace.commands.edits import rebuilding as rebuilding_commands
from headrace.commands.edits.rebuilding import rebuilding
from headrace.errors import ExitCode, Locked
from headrace.project import rebuilds
from headrace.project.declarations.targets.references import DATA_DIR_VARIABLE
from headrace.project.rebuilds import Rebuild
from headrace.project.resets import ResetNote, read_note
from headrace.queries.inputs import InputLog, Inputs
from headrace.store import lease, trees
from headrace.store.delta_tables import create_table
from headrace.store.layout import Beside, Layout
from headrace.store.leases import object_store as object_lease
from headrace.store.maintenance import retention
from headrace.store.maintenance.retention import Ages, Mark
from headrace.store.paths import StorePath
from tests import buckets

ROOT = Path(__file__).parents[2]


@pytest.fixture
def layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Layout:
    monkeypatch.setenv(DATA_DIR_VARIABLE, str(tmp_path))
    return Layout(tmp_path)


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    """The exit code of a command on the project of the checkout, and what it says."""
    with pytest.raises(SystemExit) as caught:
        cli.main(["-C", str(ROOT), "-t", "test", *words])
    return int(caught.value.code or 0), capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "about"),
    [
        (("rebuild", "silver.orders"), "is a view"),
        (("rebuild", "silver.nope"), "nope"),
        (("rebuild", "gold.view_counters"), "is a snapshot"),
        (("rebuild", "gold.shipment_ready"), "nothing has been stored for bronze."),
        (("rebuild", "sales", "--swap"), "is not rebuilt yet"),
        (("rebuild", "sales", "--drop"), "is not rebuilt yet"),
        (("rebuild", "sales", "--drop", "--swap"), "say one of them"),
        (("diff", "sales_totals"), "is not rebuilt yet"),
        (("upgrade", "test", "sales_totals"), "has not been started yet"),
        (("upgrade", "test", "silver.orders"), "is a view"),
    ],
)
def test_misuse_is_code_2(
    layout: Layout, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], about: str
) -> None:
    code, said = run(capsys, *words)
    assert (code, about in said) == (ExitCode.USAGE, True), said


def test_query_is_rebuilt_by_one_process(layout: Layout, capsys: pytest.CaptureFixture[str]) -> None:
    Rebuild(("sales",), "2026-01-01T10:00:00+00:00").write(layout)
    with lease.exclusive(rebuilding(layout, "sales")):
        code, said = run(capsys, "rebuild", "sales", "--drop")
    assert (code, "another process rebuilds sales" in said) == (ExitCode.INVALID, True)


def test_query_is_rebuilt_by_one_of_two_machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "POLL", 0.01)
    monkeypatch.setattr(object_lease, "RENEW", 0.02)
    store = buckets.in_memory()
    one, other = (rebuilding(Layout(tmp_path / name, store), "sales") for name in ("one", "other"))
    with lease.exclusive(one), pytest.raises(Locked, match="another process rebuilds sales: pid "):
        lease.exclusive(other).__enter__()
    with lease.exclusive(other):
        pass


def lost_rows(table: StorePath) -> None:
    """Let a table have lost rows to its `keep`."""
    retention.write(table, Ages(gone=Mark(1_800_000_000.0, 7)))


def test_rebuild_says_from_when_on_rows_are_there(layout: Layout, capsys: pytest.CaptureFixture[str]) -> None:
    create_table(layout.landing("sales"), Schema.from_arrow(pa.schema([("topic", pa.string())])), {})
    lost_rows(layout.landing("sales"))
    with lease.exclusive(rebuilding(layout, "sales")):  # so that it goes no further
        said = run(capsys, "rebuild", "sales")[1]
    assert "bronze.sales has only rows that arrived after 2027-01-15 08:00 UTC" in said


def test_sent_rows_that_have_left_are_not_rebuilt(layout: Layout, capsys: pytest.CaptureFixture[str]) -> None:
    lost_rows(layout.table("gold.sales_notifications"))
    code, said = run(capsys, "rebuild", "sales")
    assert (code, "could not tell which rows were sent before; `headrace reset sales`" in said) == (2, True), said


def test_dropped_rebuild_is_gone(layout: Layout, capsys: pytest.CaptureFixture[str]) -> None:
    Rebuild(("sales",), "2026-01-01T10:00:00+00:00").write(layout)
    assert run(capsys, "rebuild", "gold.sales_notifications", "--drop")[0] == ExitCode.OK
    assert rebuilds.known(layout) == ()


def test_rebuild_that_was_half_dropped_counts_as_none(
    layout: Layout, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process dies once a table is gone and the progress that says that it was filled is not."""
    rebuild = Rebuild(("sales",), "2026-01-01T10:00:00+00:00")
    rebuild.write(layout)
    with monkeypatch.context() as patch:
        patch.setattr(trees, "remove", lambda folder: pytest.fail(f"died at {folder}"))
        with pytest.raises(pytest.fail.Exception):
            rebuilds.remove(layout, rebuild)
    code, said = run(capsys, "rebuild", "sales", "--swap")
    assert (code, "is not rebuilt yet" in said) == (ExitCode.USAGE, True), said
    assert (run(capsys, "rebuild", "sales", "--drop")[0], rebuild.folder(layout).exists()) == (ExitCode.OK, False)


def test_reset_since_a_rebuild_was_filled_counts_after_the_swap(
    layout: Layout, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else nobody would know that the table whose rows were sent is the one that the reset has removed."""
    create_table(layout.landing("sales"), Schema.from_arrow(pa.schema([("topic", pa.string())])), {})
    rebuild, note = Rebuild(("sales",), "2026-01-01T10:00:00+00:00"), ResetNote(None, {"_landing.sales": 0}, ("x",))
    rebuild.write(layout)
    note.write(layout.checkpoint("sales"))
    monkeypatch.setattr(rebuilding_commands, "_spark", lambda *_, **__: nullcontext((None, {})))
    monkeypatch.setattr(rebuilding_commands, "_is_current", lambda *_: True)
    monkeypatch.setattr(rebuilding_commands, "_refill", lambda *_, **__: rebuild)
    assert run(capsys, "rebuild", "sales", "--swap")[0] == ExitCode.OK
    assert (read_note(layout.checkpoint("sales")), layout.retired.is_dir()) == (note, True)


def test_half_filled_rebuild_can_be_dropped(layout: Layout, capsys: pytest.CaptureFixture[str]) -> None:
    Rebuild(("sales",)).write(layout)
    assert run(capsys, "rebuild", "sales", "--drop")[0] == ExitCode.OK


def test_only_its_own_stands_beside(tmp_path: Path) -> None:
    beside = Beside(tmp_path, None, tmp_path / "rebuild/q", frozenset({"q"}), frozenset({"gold.a"}))
    found = [beside.table("gold.a"), beside.table("gold.b"), beside.checkpoint("q"), beside.checkpoint("r")]
    places = ["rebuild/q/tables/gold/a", "tables/gold/b", "rebuild/q/checkpoints/q", "checkpoints/r"]
    assert [path.relative_to(tmp_path).as_posix() for path in found] == places


def test_unfinished_batch_is_not_what_was_reached(tmp_path: Path) -> None:
    log = InputLog(tmp_path)
    assert log.last_finished() is None
    for batch in (0, 1):
        log.record(Inputs(batch, {"a": (batch, batch + 1)}))
    log.finish(0)
    assert log.last_finished() == Inputs(0, {"a": (0, 1)})


@pytest.mark.parametrize(
    ("filled_at", "about"),
    [
        (None, "the rebuild of sales with totals, which stream it, is not complete; `headrace rebuild sales` goes on"),
        ("2026-01-01T10:00:00+00:00", "is complete since 2026-01-01T10:00:00+00:00; `headrace rebuild sales --swap`"),
    ],
)
def test_status_shows_rebuilds(
    layout: Layout, capsys: pytest.CaptureFixture[str], filled_at: str | None, about: str
) -> None:
    Rebuild(("sales", "totals"), filled_at).write(layout)
    code, said = run(capsys, "status", "--json")
    assert (code, about in said) == (ExitCode.OK, True), said
