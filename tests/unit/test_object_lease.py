"""The lease of an object store: who gets it, who is refused, and who notices that it is lost."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import obstore
import pytest

from headrace.errors import EnvironmentFault, Locked
from headrace.store import lease
from headrace.store.layout import Layout
from headrace.store.leases import object_store as object_lease
from headrace.store.leases.object_store import EXPIRES, RENEW, ObjectLease
from headrace.store.paths import ObjectPath
from tests import buckets


@dataclass
class Observer:
    """A runner on a machine of its own: what it sees of the lease, by a clock that a test moves."""

    file: ObjectPath
    now: float = 0.0
    lease: ObjectLease = field(init=False)

    def __post_init__(self) -> None:
        self.lease = ObjectLease(self.file, lambda: self.now)


@pytest.fixture
def file() -> ObjectPath:
    return buckets.in_memory() / "locks" / "lease.json"


@pytest.fixture
def holder(file: ObjectPath) -> Observer:
    """A runner that holds the lease; its clock is far from that of the others."""
    found = Observer(file, now=1_000_000.0)
    assert found.lease.take()
    return found


@pytest.fixture
def other(file: ObjectPath) -> Observer:
    return Observer(file)


@pytest.fixture
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "POLL", 0.01)
    monkeypatch.setattr(object_lease, "RENEW", 0.02)


@pytest.fixture
def impatient(quickly: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_lease, "EXPIRES", 0.5)


def test_held_lease_is_not_taken(holder: Observer, other: Observer) -> None:
    assert not other.lease.take()
    assert (other.lease.is_alive, other.lease.holder) == (False, holder.lease._note.words)


def test_renewed_lease_has_a_holder_that_is_alive(holder: Observer, other: Observer) -> None:
    other.lease.take()
    assert holder.lease.renew() is None
    other.now += EXPIRES
    assert (other.lease.take(), other.lease.is_alive) == (False, True)


def test_lease_without_renewal_is_taken_over(holder: Observer, other: Observer) -> None:
    other.lease.take()
    other.now += EXPIRES - 0.1
    assert not other.lease.take()
    other.now += 0.1
    assert other.lease.take()


def test_silence_is_measured_from_the_last_change(holder: Observer, other: Observer) -> None:
    other.lease.take()
    other.now += EXPIRES - 1
    holder.lease.renew()
    assert not other.lease.take()
    other.now += EXPIRES - 1
    assert not other.lease.take()


@pytest.mark.parametrize("apart", [-600.0, 600.0])
def test_clocks_of_machines_do_not_matter(
    holder: Observer, other: Observer, monkeypatch: pytest.MonkeyPatch, apart: float
) -> None:
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + apart)
    assert not other.lease.take()
    holder.lease.renew()
    assert not other.lease.take()


def test_stopped_holder_notices_that_it_was_replaced(holder: Observer, other: Observer) -> None:
    other.lease.take()
    other.now += EXPIRES
    other.lease.take()
    holder.now += 60
    assert holder.lease.renew() == f"{other.lease._note.words} has taken it over"


def test_stopped_holder_goes_on_if_nobody_came(holder: Observer) -> None:
    holder.now += 60
    assert holder.lease.renew() is None


def test_holder_is_not_sure_of_what_others_may_have_taken(holder: Observer, other: Observer) -> None:
    assert (holder.lease.is_held, other.lease.is_held) == (True, False)
    holder.now += EXPIRES
    assert not holder.lease.is_held
    assert (holder.lease.renew(), holder.lease.is_held) == (None, True)


def test_removed_lease_is_lost(holder: Observer, file: ObjectPath) -> None:
    file.unlink()
    assert holder.lease.renew() == f"{file} was removed"


def test_released_lease_is_free_at_once(holder: Observer, other: Observer) -> None:
    holder.lease.release()
    assert other.lease.take()


def test_lost_lease_is_not_released(holder: Observer, other: Observer, file: ObjectPath) -> None:
    other.lease.take()
    other.now += EXPIRES
    other.lease.take()
    holder.lease.release()
    assert json.loads(file.read_text()) | {"released": False, "epoch": 2} == json.loads(file.read_text())


def test_every_write_has_another_text(holder: Observer, file: ObjectPath) -> None:
    texts = {file.read_text()}
    for _ in range(3):
        holder.lease.renew()
        texts.add(file.read_text())
    assert len(texts) == 4


def test_answer_that_was_lost_is_no_refusal(file: ObjectPath, other: Observer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(obstore, "put", buckets.late_answers(obstore.put))
    assert [other.lease.take() for _ in range(2)] == [False, True]
    assert [other.lease.renew() for _ in range(2)] == [None, None]


@pytest.mark.parametrize("is_dead", [False, True])
def test_of_many_one_wins(file: ObjectPath, is_dead: bool) -> None:
    runners = [Observer(file) for _ in range(8)]
    if is_dead:
        Observer(file).lease.take()
        for runner in runners:
            runner.lease.take()
            runner.now += EXPIRES
    with ThreadPoolExecutor(len(runners)) as pool:
        assert [*pool.map(lambda runner: runner.lease.take(), runners)].count(True) == 1


def test_store_that_does_not_answer_is_named(other: Observer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(obstore, "get", buckets.no_answer)
    with pytest.raises(EnvironmentFault, match=f"the store {other.file.bucket.url} fails: the store does not answer"):
        other.lease.take()


def test_store_that_is_missing_is_not_waited_for(other: Observer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(obstore, "put", buckets.no_bucket)
    with pytest.raises(EnvironmentFault, match="there is no such bucket"):
        other.lease.take()


def test_holder_without_an_answer_gives_up(monkeypatch: pytest.MonkeyPatch, impatient: None, layout: Layout) -> None:
    stop = threading.Event()
    with pytest.raises(Locked, match="could not be renewed"), lease.held(layout, stop):
        monkeypatch.setattr(obstore, "put", buckets.no_answer)
        assert stop.wait(60)


def test_client_that_tries_for_long_does_not_hide_the_loss(
    monkeypatch: pytest.MonkeyPatch, impatient: None, layout: Layout
) -> None:
    stop, over = threading.Event(), threading.Event()
    with pytest.raises(Locked, match="could not be renewed"), lease.held(layout, stop):
        monkeypatch.setattr(obstore, "put", lambda *_, **__: over.wait(60) and buckets.no_answer())
        assert stop.wait(60)
        over.set()


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    """A store that is elsewhere; only what is about this machine is on its disk."""
    return Layout(tmp_path, buckets.in_memory() / "shop")


def test_second_runner_learns_who_holds_it(quickly: None, layout: Layout) -> None:
    with (
        lease.held(layout),
        pytest.raises(Locked, match=f"another runner holds {layout.root}: pid "),
        lease.held(layout),
    ):
        pass


def test_ended_runner_leaves_no_lease(quickly: None, layout: Layout, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        with lease.held(layout):
            pass
    assert capsys.readouterr().err == ""


def test_runner_on_standby_takes_over(impatient: None, layout: Layout, capsys: pytest.CaptureFixture[str]) -> None:
    assert lease.of(layout.locks).take()  # and dies: nobody renews it
    with lease.held(layout, standby=True):
        said = capsys.readouterr().err
    assert (said.count("\n"), said.startswith(f"headrace: waiting for {layout.root}: pid ")) == (1, True)


def test_waiting_ends_when_asked(quickly: None, layout: Layout) -> None:
    stop = threading.Event()
    stop.set()
    with lease.held(layout), pytest.raises(KeyboardInterrupt), lease.held(layout, stop, standby=True):
        pass


def test_replaced_runner_stops_and_names_the_new_one(quickly: None, layout: Layout) -> None:
    stop = threading.Event()
    with pytest.raises(Locked, match=r"has lost its lease of .*: pid 7 on elsewhere .*"), lease.held(layout, stop):
        _replaced(layout)
        assert stop.wait(60)


@pytest.mark.parametrize("handler", [signal.default_int_handler, signal.SIG_IGN], ids=["terminal", "background"])
def test_replaced_command_is_interrupted(quickly: None, layout: Layout, handler: Any) -> None:
    former, goes_on = signal.signal(signal.SIGINT, handler), False
    with pytest.raises(Locked, match=r"has lost its lease of .*: pid 7 on elsewhere .*"), lease.held(layout):
        _replaced(layout)
        threading.Event().wait(20)
        goes_on = True
    signal.signal(signal.SIGINT, former)
    assert not goes_on


def _replaced(layout: Layout) -> None:
    """Let another runner write the lease, as it would after a long silence."""
    assert isinstance(layout.locks, ObjectPath)
    file = layout.locks / "lease.json"
    note = {**json.loads(file.read_text()), "owner": "another", "pid": 7, "host": "elsewhere"}
    file.write_text(json.dumps(note))


def test_disk_and_store_have_leases_of_their_own(layout: Layout, tmp_path: Path) -> None:
    kinds: list[Callable[..., object]] = [type(lease.of(each.locks)) for each in (layout, Layout(tmp_path))]
    assert [kind.__name__ for kind in kinds] == ["ObjectLease", "DiskLease"]


def test_holder_stops_before_others_go_on() -> None:
    assert RENEW * 2 < EXPIRES
