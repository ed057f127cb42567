"""How many rows a Parquet file has, from its footer: a struct in Thrift's compact protocol before the last eight bytes.

The layout is that of `parquet.thrift` (FileMetaData: 1 version, 2 schema, 3 num_rows). What comes before the number is
skipped by its types alone.
"""

from __future__ import annotations

import os
from pathlib import Path

_NUM_ROWS = 3
_END = b"PAR1"


def row_count(file: Path) -> int:
    """The number of rows in a file; ValueError if it is no Parquet file."""
    with file.open("rb") as opened:
        opened.seek(-8, os.SEEK_END)
        end = opened.read(8)
        if end[4:] != _END:
            raise ValueError(f"{file} is no Parquet file")
        length = int.from_bytes(end[:4], "little")
        opened.seek(-8 - length, os.SEEK_END)
        return _Compact(opened.read(length)).number(_NUM_ROWS)


class _Compact:
    """A reader of the compact protocol, which looks for one number of the outermost struct."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def number(self, wanted: int) -> int:
        field = 0
        while head := self._byte():
            field = field + (head >> 4) if head >> 4 else self._signed()
            if field == wanted:
                return self._signed()
            self._skip(head & 0x0F)
        raise ValueError(f"field {wanted} is missing")

    def _skip(self, kind: int) -> None:
        if kind in (1, 2):  # true and false have no bytes of their own
            return
        if kind in (3, 7):  # a byte, a double
            self._at += 1 if kind == 3 else 8
        elif kind in (4, 5, 6):
            self._varint()
        elif kind == 8:
            length = self._varint()
            self._at += length
        elif kind in (9, 10):
            self._skip_list()
        elif kind == 12:
            self._skip_struct()
        else:
            raise ValueError(f"type {kind} is not expected in a footer")

    def _skip_list(self) -> None:
        head = self._byte()
        size = self._varint() if head >> 4 == 15 else head >> 4
        kind = head & 0x0F
        if kind in (1, 2):  # in a list each has a byte
            self._at += size
            return
        for _ in range(size):
            self._skip(kind)

    def _skip_struct(self) -> None:
        while head := self._byte():
            if not head >> 4:
                self._varint()
            self._skip(head & 0x0F)

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def _signed(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)
