"""Patterns that are written out: the part of Java's regular expressions and time formats that DuckDB shares."""

from __future__ import annotations

import re
from collections.abc import Iterator

from headrace.reading.dialect.complaints import NotKnown

_DOT = r"[^\n\r\x{85}\x{2028}\x{2029}]"
_CLASSES = {"d": "[0-9]", "D": "[^0-9]", "w": "[0-9A-Za-z_]", "W": "[^0-9A-Za-z_]"}
_CLASSES |= {"s": r"[ \t\n\x0B\f\r]", "S": r"[^ \t\n\x0B\f\r]"}
_INSIDE = {"d": "0-9", "w": "0-9A-Za-z_", "s": r" \t\n\x0B\f\r"}
_CONTROLS = {"n": r"\n", "r": r"\r", "t": r"\t"}
_PIECE = re.compile(
    r"(?P<escape>\\.)|(?P<set>\[\^?(?:\\.|[^\]\\\[&])+\])|(?P<group>\(\?:|\((?!\?))|(?P<close>\))"
    r"|(?P<count>(?:[*+?]|\{\d{1,3}(?:,\d{0,3})?\})\??(?![+*?{]))|(?P<dot>\.)|(?P<anchor>[\^$])|(?P<bar>\|)"
    r"|(?P<plain>[^\\\[\](){}*+?.^$|])",
    re.DOTALL,
)


def regex(pattern: str) -> str:
    """A regular expression of Java as RE2 reads it; NotKnown for what they do not share."""
    shown = f"the regular expression {pattern}"
    parts, at = [], 0
    while at < len(pattern):
        found = _PIECE.match(pattern, at)
        if found is None:
            raise NotKnown(shown)
        parts.append(_piece(found.lastgroup or "", found.group(), shown))
        at = found.end()
    try:
        re.compile(pattern)
    except (re.error, OverflowError):
        raise NotKnown(shown) from None
    return "".join(parts)


def _piece(kind: str, piece: str, shown: str) -> str:
    match kind:
        case "escape":
            return _escape(piece[1], _CLASSES, shown)
        case "set":
            return _set(piece, shown)
        case "dot":
            return _DOT
        case "anchor":
            return r"\A" if piece == "^" else r"\z"
    return piece


def _escape(letter: str, classes: dict[str, str], shown: str) -> str:
    if letter in classes:
        return classes[letter]
    if letter in _CONTROLS:
        return _CONTROLS[letter]
    if letter.isascii() and not letter.isalnum():
        return "\\" + letter
    raise NotKnown(shown)


def _set(piece: str, shown: str) -> str:
    start = 2 if piece.startswith("[^") else 1
    inner = re.sub(r"\\(.)", lambda found: _escape(found[1], _INSIDE, shown), piece[start:-1], flags=re.DOTALL)
    return piece[:start] + inner + "]"


def has_end(pattern: str) -> bool:
    """Whether a `$` is in it, which in Java also matches before a final line end."""
    return "$" in re.sub(r"\\.", "", pattern)


def matches_nothing(pattern: str) -> bool:
    """Whether it may match an empty text: then the two differ in where it does."""
    return re.search(pattern, "") is not None


def groups(pattern: str) -> int:
    return re.compile(pattern).groups


def plain(pattern: str) -> bool:
    """Whether each character of it matches only itself."""
    return re.search(r"[\\\[\](){}*+?.^$|]", pattern) is None


def replacement(text: str, most: int) -> str:
    """What is put in for a match, with `$1` for its groups; as RE2 writes it."""
    if "\\" in text or re.search(r"\$(?!\d(?!\d))", text):
        raise NotKnown(f"the replacement {text}")
    if any(int(number) > most for number in re.findall(r"\$(\d)", text)):
        raise NotKnown(f"the replacement {text}, which names a group that there is not,")
    return re.sub(r"\$(\d)", r"\\\1", text)


def like(pattern: str, escape: str) -> str:
    """A LIKE pattern, checked: Spark refuses an escape before anything but `_`, `%` and itself."""
    left = re.sub(f"{re.escape(escape)}[_%{re.escape(escape)}]", "", pattern)
    if len(escape) != 1 or escape in left:
        raise NotKnown(f"the pattern {pattern}")
    return pattern


_LETTERS: dict[str, tuple[str, str | None]] = {
    "yyyy": ("%Y", r"\d{4}"),
    "MM": ("%m", r"\d{2}"),
    "dd": ("%d", r"\d{2}"),
    "HH": ("%H", r"\d{2}"),
    "mm": ("%M", r"\d{2}"),
    "ss": ("%S", r"\d{2}"),
    "M": ("%-m", None),
    "d": ("%-d", None),
    "H": ("%-H", None),
    "m": ("%-M", None),
    "s": ("%-S", None),
    "hh": ("%I", None),
    "h": ("%-I", None),
    "a": ("%p", None),
    "SSS": ("%g", None),
    "SSSSSS": ("%f", None),
    "MMM": ("%b", None),
    "MMMM": ("%B", None),
    "E": ("%a", None),
    "EEE": ("%a", None),
    "EEEE": ("%A", None),
}
"""Letters of Spark's time formats: how DuckDB writes them and, where they can be read too, what they match."""

_FORMAT = re.compile(r"(?P<quoted>'(?P<inner>[^']*)')|(?P<letters>([A-Za-z])\4*)|(?P<mark>[-/.:, _])")


def written_format(pattern: str) -> str:
    """A format that times are written in."""
    return "".join(_LETTERS[piece][0] if known else piece.replace("%", "%%") for known, piece in _pieces(pattern))


def read_format(pattern: str) -> tuple[str, str]:
    """A format that texts are read in: DuckDB's, and the regular expression of what has this form."""
    pieces = list(_pieces(pattern))
    letters = [piece for known, piece in pieces if known]
    whole_days = {"yyyy", "MM", "dd"}
    times = [letter for letter in ("HH", "mm", "ss") if letter in letters]
    if not whole_days <= {*letters} or len({*letters}) != len(letters) or times != ["HH", "mm", "ss"][: len(times)]:
        raise NotKnown(f"the format {pattern}")
    form = ""
    for known, piece in pieces:
        matched = _LETTERS[piece][1] if known else re.escape(piece).replace(r"\-", "-").replace(r"\ ", " ")
        if matched is None:
            raise NotKnown(f"the format {pattern}")
        form += matched
    return written_format(pattern), form


def _pieces(pattern: str) -> Iterator[tuple[bool, str]]:
    at = 0
    while at < len(pattern):
        found = _FORMAT.match(pattern, at)
        if found is None or (found["letters"] and found["letters"] not in _LETTERS):
            raise NotKnown(f"the format {pattern}")
        if found["quoted"]:
            yield False, found["inner"] or "'"
        else:
            yield found["letters"] is not None, found.group()
        at = found.end()
