"""The swap of folders: whole, also if the process dies before or after any of its moves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headrace.commands.workspace import Workspace
from headrace.environment import swap
from headrace.errors import UsageError
from headrace.project.declarations.targets.references import DATA_DIR_VARIABLE
from headrace.store import lease, trees
from headrace.store.layout import Layout

ROOT = Path(__file__).parents[2]

NEW = {
    "tables/gold/a/batch-2/x.parquet": "new",
    "tables/silver/b/batch-4/x.parquet": "new",
    "checkpoints/q/at": "new",
}
OLD = {
    "tables/gold/a/batch-1/x.parquet": "old",
    "tables/gold/a/compacted-1.parquet": "old",
    "tables/gold/a/_history/0-9.parquet": "old",
    "tables/_changes/gold.a/batch-3/x.parquet": "old",
    "checkpoints/q/at": "old",
}
PLACES = ("checkpoints/q", "tables/gold/a", "tables/_changes/gold.a", "tables/silver/b", "tables/silver/none")


class Died(Exception):
    """The process dies here."""


class Store:
    """A data directory with something live and something beside."""

    def __init__(self, folder: Path) -> None:
        self.layout = Layout(folder)
        self.beside = self.layout.rebuilds / "q"
        _write(folder, OLD)
        _write(self.beside, NEW)
        (self.beside / "rebuild.json").write_text("{}")

    def swap(self, days: float = 7) -> Path:
        places = [self.layout.data_dir / place for place in PLACES]
        return swap.swap(self.layout, self.beside, ["q", "r"], places, days)

    @property
    def live(self) -> dict[str, str]:
        """The content of all live files."""
        return _read(self.layout.data_dir, "tables", "checkpoints")

    def assert_swapped(self) -> None:
        """The new is live, with the old table's files for readers; the old is kept, and nothing else is left."""
        ((folder, done),) = swap.retired(self.layout).items()
        left = ("tables/gold/a/batch-1/x.parquet", "tables/gold/a/compacted-1.parquet")
        assert self.live == NEW | dict.fromkeys(left, "old")
        assert _read(folder, "tables", "checkpoints") == OLD
        assert (done.queries, self.beside.exists(), self.layout.swap.exists()) == (("q", "r"), False, False)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


@pytest.fixture(params=["in one step", "in two steps"])
def exchanges(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Systems that can let folders change places in one step, and others."""
    if request.param == "in two steps":
        monkeypatch.setattr(swap, "_exchange", lambda one, other: False)


def test_new_is_live_and_old_is_kept(store: Store, exchanges: None) -> None:
    store.swap()
    store.assert_swapped()


@pytest.mark.parametrize("moves", range(14))
@pytest.mark.parametrize("when", ["before", "after"])
def test_whoever_comes_next_makes_the_rest(
    store: Store, exchanges: None, monkeypatch: pytest.MonkeyPatch, moves: int, when: str
) -> None:
    with monkeypatch.context() as patch:
        steps = _Steps(moves, when)
        for name in ("_exchange", "_move"):
            patch.setattr(swap, name, steps.around(getattr(swap, name)))
        patch.setattr(trees.shutil, "rmtree", steps.around(trees.shutil.rmtree))
        try:
            store.swap()
        except Died:
            assert store.layout.swap.exists()
        else:
            assert steps.left >= 0
    swap.finish(store.layout)
    store.assert_swapped()
    swap.finish(store.layout)
    store.assert_swapped()


def test_death_before_the_journal_changes_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(swap, "_write", _Steps(0, "before").around(swap._write))
        with pytest.raises(Died):
            store.swap()
    swap.finish(store.layout)
    assert store.live == OLD
    store.swap()
    store.assert_swapped()


def test_reader_finds_the_table_at_every_moment(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[bool] = []

    def watched(work: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(*words: Any) -> Any:
            done = work(*words)
            found.append((store.layout.table("gold.a") / "batch-1/x.parquet").exists())
            return done

        return wrapper

    for name in ("_exchange", "_move"):
        monkeypatch.setattr(swap, name, watched(getattr(swap, name)))
    if not swap._exchange(*map(_made, (store.layout.logs / "one", store.layout.logs / "other"))):
        pytest.skip("this system cannot let folders change places in one step")
    store.swap()
    assert all(found)


def test_old_goes_with_its_files_when_its_time_is_over(store: Store) -> None:
    retired = store.swap(days=0)
    ((folder, done),) = swap.retired(store.layout).items()
    assert (folder, swap.is_over(done)) == (retired, True)
    swap.remove(store.layout, folder)
    assert (store.live, swap.retired(store.layout)) == (NEW, {})


def test_old_is_kept_until_then(store: Store) -> None:
    store.swap(days=1)
    (done,) = swap.retired(store.layout).values()
    assert not swap.is_over(done)


def test_next_command_makes_the_rest(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DATA_DIR_VARIABLE, str(store.layout.data_dir))
    with monkeypatch.context() as patch:
        patch.setattr(swap, "_move", _Steps(1, "before").around(swap._move))
        with pytest.raises(Died):
            store.swap()
    assert Workspace(ROOT, "test").layout == store.layout
    store.assert_swapped()


def test_command_leaves_a_swap_under_way_to_its_process(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DATA_DIR_VARIABLE, str(store.layout.data_dir))
    with monkeypatch.context() as patch:
        patch.setattr(swap, "_move", _Steps(1, "before").around(swap._move))
        with pytest.raises(Died):
            store.swap()
    with lease.held(store.layout):
        assert Workspace(ROOT, "test").layout.swap.exists()


def test_removal_of_what_was_kept_is_completed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its note nobody would know what is left of it."""
    folder = store.swap()
    with monkeypatch.context() as patch:
        patch.setattr(trees, "remove", _Steps(1, "before").around(trees.remove))
        with pytest.raises(Died):
            swap.remove(store.layout, folder)
    assert [*swap.retired(store.layout)] == [folder]
    swap.remove(store.layout, folder)
    assert not folder.exists()


class _Steps:
    """Lets the process die before or after the step with a number."""

    def __init__(self, number: int, when: str) -> None:
        self.left = number
        self._when = when

    def around(self, work: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(*words: Any, **named: Any) -> Any:
            self.left -= 1
            if self.left == -1 and self._when == "before":
                raise Died
            done = work(*words, **named)
            if self.left == -1:
                raise Died
            return done

        return wrapper


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


def _write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def _read(folder: Path, *inner: str) -> dict[str, str]:
    files = (file for name in inner for file in (folder / name).rglob("*") if file.is_file())
    return {file.relative_to(folder).as_posix(): file.read_text() for file in files}


@pytest.mark.parametrize("name", ["checkpoints", "tables/gold", "rebuild/q/tables/gold", "retired"])
def test_folders_on_two_disks_are_refused_before_anything_moves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    store = Store(tmp_path)
    (tmp_path / name).mkdir(exist_ok=True)
    before = store.live
    monkeypatch.setattr(trees, "disk_of", lambda folder: 2 if folder == tmp_path / name else 1)
    with pytest.raises(UsageError, match=f"{tmp_path / name} is on another disk"):
        store.swap()
    assert (store.live, store.layout.swap.exists()) == (before, False)
