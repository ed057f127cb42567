"""How far a batch of the streaming engine reads, by Spark's offset log."""

import json
from pathlib import Path

from headrace.streaming.offset_log import read_until, state_format


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
