"""How far a batch of the streaming engine reads, by Spark's offset log."""

import json
from pathlib import Path

import pytest

from headrace.streaming.offset_log import mend, newest_begun, newest_commit, read_until, state_format


def offset(version: int, index: int) -> str:
    return json.dumps({"sourceVersion": 1, "reservoirId": "x", "reservoirVersion": version, "index": index})


def test_last_version_is_read_per_source(tmp_path: Path) -> None:
    (tmp_path / "offsets").mkdir()
    lines = ["v2", "{}", f"a:{offset(3, -1)}", f"b:{offset(3, -100)}", f"c:{offset(3, 0)}", "d:-"]
    (tmp_path / "offsets" / "7").write_text("\n".join(lines))
    assert read_until(tmp_path, 7) == {"a": 2, "b": 2, "c": 3}


def test_state_stays_in_the_form_of_the_newest_batch(tmp_path: Path) -> None:
    assert state_format(tmp_path) == "2"
    (tmp_path / "commits").mkdir()
    for batch, version in enumerate(["v2", "v2", *["v1"] * 9]):
        (tmp_path / "commits" / str(batch)).write_text(f'{version}\n{{"nextBatchWatermarkMs":0}}')
    (tmp_path / "commits" / ".10.crc").write_bytes(b"crc")
    assert state_format(tmp_path) == "1"


def logged(checkpoint: Path, begun: int, done: int) -> None:
    """What Spark has recorded of the batches up to two."""
    for name, newest in (("offsets", begun), ("commits", done)):
        (checkpoint / name).mkdir()
        for batch in range(newest + 1):
            (checkpoint / name / str(batch)).write_text("v2\n" + json.dumps({"conf": {}}))


def test_batch_behind_one_that_a_power_loss_has_torn_is_forgotten(tmp_path: Path) -> None:
    logged(tmp_path, begun=4, done=3)
    (tmp_path / "commits" / "3").write_text("")
    mend(tmp_path, "2", written=3)
    assert (newest_begun(tmp_path), newest_commit(tmp_path)) == (3, 2)


@pytest.mark.parametrize(("written", "begun"), [(-1, -1), (0, 0)])
def test_first_batch_begins_again_if_nothing_was_written(tmp_path: Path, written: int, begun: int) -> None:
    logged(tmp_path, begun=0, done=-1)
    (tmp_path / "metadata").write_text("")  # a power loss has left the names only
    (tmp_path / "state").mkdir()
    mend(tmp_path, "2", written)
    assert newest_begun(tmp_path) == begun
    assert [(tmp_path / name).exists() for name in ("metadata", "state", "offsets")] == [begun >= 0] * 3
