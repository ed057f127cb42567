"""Java's regular expressions as trees, as far as their running time needs it: characters, choices and repetitions.

Flags, anchors and the contents of look-arounds are read, not obeyed: what a pattern matches matters less than in how
many ways. A pattern that cannot be read so raises Unclear.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

LAST = 0x10FFFF
Letters = tuple[tuple[int, int], ...]
"""A set of characters, as ranges."""


class Unclear(ValueError):
    """A pattern that is not understood here, or takes too long to judge."""


@dataclass(frozen=True)
class Chars:
    """One character of a set."""

    letters: Letters


@dataclass(frozen=True)
class Sequence:
    """One part after the other; without parts it matches the empty text."""

    parts: tuple[Node, ...] = ()


@dataclass(frozen=True)
class Choice:
    """One of its parts."""

    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Repeat:
    """A part again and again, `low` to `high` times; without `high` there is no end."""

    part: Node
    low: int
    high: int | None


@dataclass(frozen=True)
class Atomic:
    """What gives nothing back once it has matched; `is_empty` where it looks around and takes no character."""

    part: Node
    is_empty: bool = False


Node = Chars | Sequence | Choice | Repeat | Atomic

ANY: Letters = ((0, LAST),)
_DIGIT: Letters = ((48, 57),)
_WORD: Letters = ((48, 57), (65, 90), (95, 95), (97, 122))
_SPACE: Letters = ((9, 13), (32, 32))
_CLASSES = {"d": _DIGIT, "w": _WORD, "s": _SPACE, "h": ((9, 9), (32, 32), (160, 160)), "v": ((10, 13), (133, 133))}
_CONTROLS = {"t": 9, "n": 10, "r": 13, "f": 12, "a": 7, "e": 27}
_POSIX: dict[str, Letters] = {
    "Alpha": ((65, 90), (97, 122)), "Digit": _DIGIT, "Alnum": ((48, 57), (65, 90), (97, 122)), "Space": _SPACE,
    "Lower": ((97, 122),), "Upper": ((65, 90),), "XDigit": ((48, 57), (65, 70), (97, 102)), "ASCII": ((0, 127),),
    "Punct": ((33, 47), (58, 64), (91, 96), (123, 126)), "Blank": ((9, 9), (32, 32)),
}  # fmt: skip
_GROUP = re.compile(
    r"\?(?:(?P<look><?[=!])|(?P<atomic>>)|<[a-zA-Z]\w*>|(?P<flags>[a-zA-Z]*(?:-[a-zA-Z]*)?)(?P<end>[:)]))"
)
_SPACED = re.compile(r"(\\.|\[[^\]]*\])|\s+|#[^\n]*", re.DOTALL)
"""What the flag `x` takes out: space and comments, but not in sets and behind a backslash."""

_COUNT = re.compile(r"[*+?]|\{(\d{1,9})(,(\d{0,9}))?\}")
_CODE = re.compile(r"x\{([0-9a-fA-F]{1,6})\}|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|0([0-3]?[0-7]{1,2})|c(.)", re.DOTALL)
_PROPERTY = re.compile(r"[pP](?:\{(?:Is|general_category=|gc=)?(\w+)(?:=\w+)?\}|(\w))")


def read(pattern: str) -> Node:
    """The tree of a pattern; Unclear where it is not understood."""
    try:
        reader = _Reader(pattern)
        tree = reader.choice()
    except (IndexError, RecursionError, OverflowError, ValueError):
        raise Unclear(pattern) from None
    if reader.at < len(reader.pattern):
        raise Unclear(pattern)
    return tree


def meet(one: Letters, other: Letters) -> bool:
    """Whether two sets have a character in common."""
    return any(low <= last and first <= high for low, high in one for first, last in other)


def union(sets: Iterable[Letters]) -> Letters:
    """All characters of some sets."""
    return tuple(dict.fromkeys(each for letters in sets for each in letters))


class _Reader:
    def __init__(self, pattern: str) -> None:
        # A flag counts for all of a pattern: more characters meet then, and no way of matching is missed.
        flags = "".join(re.findall(r"\(\?([a-zA-Z]+)", pattern))
        self.pattern = _SPACED.sub(lambda each: each[1] or "", pattern) if "x" in flags else pattern
        self.at = 0
        self._folds = "i" in flags

    def choice(self) -> Node:
        parts = [self._sequence()]
        while self._take("|"):
            parts.append(self._sequence())
        return parts[0] if len(parts) == 1 else Choice(tuple(parts))

    def _sequence(self) -> Node:
        parts: list[Node] = []
        while self.at < len(self.pattern) and self.pattern[self.at] not in "|)":
            parts.append(self._repeated(self._atom()))
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _repeated(self, part: Node) -> Node:
        while found := _COUNT.match(self.pattern, self.at):
            self.at = found.end()
            low, high = _counts(found)
            part = Repeat(part, low, high)
            if self._take("+"):
                part = Atomic(part)
            else:
                self._take("?")
        return part

    def _atom(self) -> Node:
        letter = self._next()
        if letter == "(":
            return self._group()
        if letter == "[":
            return Chars(self._folded(self._set()))
        if letter == "\\":
            return self._escape()
        if letter in "^$":
            return Sequence()
        if letter in "*+?{":
            raise Unclear(self.pattern)
        return Chars(ANY if letter == "." else self._folded(_one(letter)))

    def _group(self) -> Node:
        found = _GROUP.match(self.pattern, self.at)
        if found is None and self.pattern[self.at] == "?":
            raise Unclear(self.pattern)
        self.at = found.end() if found else self.at
        if found and found["end"] == ")":
            return Sequence()
        part = self.choice()
        if not self._take(")"):
            raise Unclear(self.pattern)
        is_look = found is not None and found["look"] is not None
        return Atomic(part, is_look) if is_look or (found is not None and found["atomic"]) else part

    def _escape(self) -> Node:
        letter = self.pattern[self.at]
        if letter == "Q":
            end = self.pattern.find("\\E", self.at)
            quoted = self.pattern[self.at + 1 : end if end >= 0 else None]
            self.at = end + 2 if end >= 0 else len(self.pattern)
            return Sequence(tuple(Chars(self._folded(_one(each))) for each in quoted))
        if letter in "bBAGzZE":
            self.at += 1
            return Sequence()
        if letter in "123456789":  # what a group has matched: any text
            self.at += 1
            return Repeat(Chars(ANY), 0, None)
        if found := re.compile(r"k<\w+>").match(self.pattern, self.at):
            self.at = found.end()
            return Repeat(Chars(ANY), 0, None)
        if letter in "RX":
            self.at += 1
            return Atomic(Repeat(Chars(((10, 13), (133, 133)) if letter == "R" else ANY), 1, 2))
        return Chars(self._folded(self._escaped()))

    def _escaped(self) -> Letters:
        if found := _CODE.match(self.pattern, self.at):
            self.at = found.end()
            *codes, control = found.groups()
            if control:
                return _one(chr(ord(control) ^ 64))
            bases = (16, 16, 16, 8)
            return _one(chr(next(int(code, base) for code, base in zip(codes, bases, strict=True) if code)))
        if found := _PROPERTY.match(self.pattern, self.at):
            self.at = found.end()
            letters = _property(found[1] or found[2])
            return _others(letters) if found[0][0] == "P" and letters != ANY else letters
        letter = self._next()
        if letter.lower() in _CLASSES:
            letters = _CLASSES[letter.lower()]
            return letters if letter.islower() else _others(letters)
        if letter in _CONTROLS:
            return _one(chr(_CONTROLS[letter]))
        if letter.isascii() and letter.isalnum():
            raise Unclear(self.pattern)
        return _one(letter)

    def _set(self) -> Letters:
        """A set in brackets, from behind its `[`; with `&&` it is taken as large as its first part."""
        is_negated, found, is_first = self._take("^"), list[Letters](), True
        while is_first or self.pattern[self.at] != "]":
            if self.pattern.startswith("&&", self.at):
                self._skip_intersection()
                break
            found.append(self._member())
            is_first = False
        self.at += 1
        letters = union(found)
        return _others(letters) if is_negated else letters

    def _skip_intersection(self) -> None:
        depth = 0
        while depth or self.pattern[self.at] != "]":
            letter = self._next()
            self.at += letter == "\\"
            depth += (letter == "[") - (letter == "]")

    def _member(self) -> Letters:
        letter = self._next()
        if letter == "[":
            return self._set()
        if letter == "\\" and self.pattern[self.at] == "Q":
            node = self._escape()
            return union(part.letters for part in getattr(node, "parts", ()))
        letters = self._escaped() if letter == "\\" else _one(letter)
        following = self.pattern[self.at : self.at + 2]
        if len(letters) != 1 or letters[0][0] != letters[0][1] or following[:1] != "-" or following[1:] in ("]", "["):
            return letters
        self.at += 1
        letter = self._next()
        last = self._escaped() if letter == "\\" else _one(letter)
        return ((letters[0][0], last[0][1]),)

    def _folded(self, letters: Letters) -> Letters:
        if not self._folds:
            return letters
        swapped = (((low ^ 32), (high ^ 32)) for low, high in letters if low >> 5 in (2, 3) and low >> 5 == high >> 5)
        return union((letters, tuple(swapped)))

    def _next(self) -> str:
        letter = self.pattern[self.at]
        self.at += 1
        return letter

    def _take(self, letter: str) -> bool:
        is_next = self.pattern.startswith(letter, self.at)
        self.at += is_next
        return is_next


def _counts(found: re.Match[str]) -> tuple[int, int | None]:
    if found[0] in "*+?":
        return int(found[0] == "+"), 1 if found[0] == "?" else None
    low = int(found[1])
    if found[2] is None:
        return low, low
    return low, int(found[3]) if found[3] else None


def _one(letter: str) -> Letters:
    return ((ord(letter), ord(letter)),)


def _others(letters: Letters) -> Letters:
    found, at = [], 0
    for low, high in sorted(letters):
        if low > at:
            found.append((at, low - 1))
        at = max(at, high + 1)
    return tuple(found) if at > LAST else (*found, (at, LAST))


@lru_cache(maxsize=64)
def _property(name: str) -> Letters:
    """The characters of a property; any where its name is none that is known here."""
    if name in _POSIX:
        return _POSIX[name]
    known = {"Alphabetic": "L", "Letter": "L", "Digit": "Nd", "Lowercase": "Ll", "Uppercase": "Lu", "Punctuation": "P"}
    category = known.get(name, name)
    if not re.fullmatch("[LMNPSZC][a-z]?", category):
        return ANY
    codes = (code for code in range(0x10000) if unicodedata.category(chr(code)).startswith(category))
    runs = (list(run) for _, run in groupby(enumerate(codes), lambda each: each[1] - each[0]))
    return (*((run[0][1], run[-1][1]) for run in runs), (0x10000, LAST))
