"""Bloom filters of keys that are two 64-bit fingerprints each: what a filter does not contain was never put there."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

BITS = 15
"""Bits per key; with six hashes, one in 800 keys that are not in the filter is a false positive."""

_HASHES = 6
_WORD = (1 << 64) - 1
_HALF = 32


def filters_of(first: pa.Array, second: pa.Array, group: int) -> bytes:
    """A filter for each group of so many keys, one after the other; both halves of the keys are 64-bit integers."""
    numbers = pa.array(range(min(group, len(first)) * BITS), pa.uint64())
    starts = range(0, len(first), group)
    return b"".join(_filter_of(first.slice(at, group), second.slice(at, group), numbers) for at in starts)


def _filter_of(first: pa.Array, second: pa.Array, numbers: pa.Array) -> bytes:
    step, value, bits = first.view(pa.uint64()), second.view(pa.uint64()), len(first) * BITS
    half, many = pa.scalar(_HALF, pa.uint64()), pa.scalar(bits, pa.uint64())
    positions = []
    for _ in range(_HASHES):
        positions.append(pc.shift_right(pc.multiply(pc.shift_right(value, half), many), half))
        value = pc.add(value, step)  # wraps around, as in `may_contain`
    is_set = pc.is_in(numbers.slice(0, bits), pa.concat_arrays(positions))
    return bytes(is_set.buffers()[1])[: size(len(first))]


def may_contain(filters: bytes, start: int, keys: int, key: tuple[int, int]) -> bool:
    """Whether a key may be among those of the filter that begins at a byte and was made of so many keys."""
    step, value = key[0] & _WORD, key[1] & _WORD
    for _ in range(_HASHES):
        position = (value >> _HALF) * keys * BITS >> _HALF
        if not filters[start + (position >> 3)] >> (position & 7) & 1:
            return False
        value = (value + step) & _WORD
    return True


def size(keys: int) -> int:
    """How many bytes a filter of so many keys takes."""
    return (keys * BITS + 7) // 8
