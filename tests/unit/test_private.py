"""A data directory holds all that was sent, and only its owner can enter one that headrace has made."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from headrace.environment.broker import Broker
from headrace.store import lease
from headrace.store.layout import Layout


def mode(folder: Path) -> int:
    return stat.S_IMODE(folder.stat().st_mode)


def hold(layout: Layout) -> None:
    with lease.held(layout):
        pass


@pytest.mark.parametrize("begin", [hold, Layout.spark_log, lambda layout: Broker(layout.broker).stop()])
def test_new_data_directory_is_private(tmp_path: Path, begin: object) -> None:
    layout = Layout(tmp_path / ".headrace" / "local")
    assert callable(begin)
    begin(layout)
    assert (mode(layout.data_dir), mode(tmp_path / ".headrace")) == (0o700, 0o755)


def test_directory_that_is_there_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(0o750)
    hold(Layout(tmp_path / "data"))
    assert mode(tmp_path / "data") == 0o750
