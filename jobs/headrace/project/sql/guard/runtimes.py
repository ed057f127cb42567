"""Which regular expressions take time beyond all bounds: those that match one text in ever so many ways.

Java tries these ways one after the other, and nothing interrupts it. The rule is that of the theory of automata: the
time is exponential where a repetition can come back to the same place of the pattern, over the same characters, on two
ways. `(a+)+`, `(a*)*`, `(a|a)*`, `(a|ab|b)*` and `(.*,)*` are such. A repetition with an end counts where its ways are
more than a hundred thousand. What is possessive or atomic gives nothing back, and is one way.

Polynomial time, as `.*a.*b` takes it, is not found: such patterns are common, and texts are short.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from headrace.project.sql.guard.regexes import (
    Atomic,
    Chars,
    Choice,
    Letters,
    Node,
    Repeat,
    Sequence,
    Unclear,
    meet,
    read,
    union,
)

T = TypeVar("T", bound=Hashable)

LONGEST = 2_000
"""How many characters a pattern may have."""

_MOST_WAYS = 100_000
_MOST_STEPS = 200_000
"""How many steps of the comparison a pattern is worth; one that needs more is not understood."""

_UNROLLED = 64
"""Up to how many characters a counted repetition is written out for the comparison; longer ones count as endless."""


def is_endless(pattern: str) -> bool:
    """Whether a pattern may run without end; Unclear where it is not understood."""
    if len(pattern) > LONGEST:
        raise Unclear(pattern)
    return _is_endless(read(pattern))


def _is_endless(node: Node) -> bool:
    match node:
        case Repeat():
            is_counted = node.high is not None and node.high > 1 and may_be_empty(node.part)
            if not is_counted and not _is_ambiguous(node.part):
                return any(map(_is_endless, _atoms(node.part)))
            return node.high is None or _ways(node) > _MOST_WAYS or _is_endless(node.part)
        case Atomic():
            return _is_endless(node.part)
        case Sequence() | Choice():
            return any(map(_is_endless, node.parts))
    return False


def _atoms(node: Node) -> Iterator[Node]:
    """What is atomic in a part: it is one character to its surroundings, and has to be judged by itself."""
    match node:
        case Atomic():
            yield node
        case Repeat():
            yield from _atoms(node.part)
        case Sequence() | Choice():
            yield from (each for part in node.parts for each in _atoms(part))


def _ways(node: Node) -> int:
    """In how many ways a part may match at most, roughly; what has no end counts as ten."""
    match node:
        case Repeat() if node.high is None:
            return 10 * min(_ways(node.part), _MOST_WAYS)
        case Repeat():
            each, ways, total = _ways(node.part), 1, 0
            for count in range(min(node.high or 0, _MOST_WAYS) + 1):
                total += ways if count >= node.low else 0
                ways = min(ways * each, 10 * _MOST_WAYS)
            return min(total, 10 * _MOST_WAYS)
        case Sequence():
            ways = 1
            for part in node.parts:
                ways = min(ways * _ways(part), 10 * _MOST_WAYS)
            return ways
        case Choice():
            return sum(map(_ways, node.parts))
    return 1


@dataclass(frozen=True)
class _Ends:
    """Where a part of a pattern starts and ends, by how many ways, and in how many it matches the empty text."""

    first: Counter[int] = field(default_factory=Counter)
    last: Counter[int] = field(default_factory=Counter)
    empty: int = 0


class _Automaton:
    """The places of a pattern, one for each character it names, and by how many ways one follows the other."""

    def __init__(self) -> None:
        self.letters: list[Letters] = []
        self.follow: dict[int, Counter[int]] = {}

    def add(self, node: Node) -> _Ends:
        match node:
            case Chars():
                return self._place(node.letters, 0)
            case Atomic(is_empty=True):
                return _Ends(empty=1)
            case Atomic():
                return self._place(_letters(node.part), int(may_be_empty(node.part)))
            case Sequence():
                return self._sequence(node.parts)
            case Choice():
                ends = [self.add(part) for part in node.parts]
                firsts, lasts = (sum((getattr(e, name) for e in ends), Counter[int]()) for name in ("first", "last"))
                return _Ends(firsts, lasts, min(sum(each.empty for each in ends), 2))
            case Repeat():
                return self._repeat(node)

    def _place(self, letters: Letters, empty: int) -> _Ends:
        at = len(self.letters)
        self.letters.append(letters)
        self.follow[at] = Counter()
        return _Ends(Counter([at]), Counter([at]), empty)

    def _sequence(self, parts: Iterable[Node]) -> _Ends:
        before = _Ends(empty=1)
        for part in parts:
            after = self.add(part)
            self._connect(before.last, after.first)
            first, last = (
                before.first + _times(after.first, before.empty),
                after.last + _times(before.last, after.empty),
            )
            before = _Ends(first, last, min(before.empty * after.empty, 2))
        return before

    def _repeat(self, node: Repeat) -> _Ends:
        if node.high is None or (node.high > 1 and _length(node) > _UNROLLED):
            return self.loop(node.part, node.low)
        more: Node = Sequence()
        for _ in range(node.high - node.low):
            more = Choice((Sequence((node.part, more)), Sequence()))
        return self._sequence([*[node.part] * node.low, more])

    def loop(self, part: Node, low: int) -> _Ends:
        ends = self.add(part)
        self._connect(ends.last, ends.first)
        return _Ends(ends.first, ends.last, 1 if low == 0 else min(ends.empty, 1))

    def _connect(self, lasts: Mapping[int, int], firsts: Mapping[int, int]) -> None:
        for last, ways in lasts.items():
            for first, others in firsts.items():
                self.follow[last][first] = min(self.follow[last][first] + ways * others, 2)


def _is_ambiguous(part: Node) -> bool:
    """Whether a part, again and again, comes back to the same place on two ways over the same characters."""
    automaton = _Automaton()
    automaton.loop(part, 0)
    follow = automaton.follow
    for loop in _loops({at: [*follow[at]] for at in follow}):
        inside = {at: [to for to in follow[at] if to in loop] for at in loop}
        if any(follow[at][to] > 1 for at in loop for to in inside[at]) or _meets_itself(inside, automaton.letters):
            return True
    return False


def _meets_itself(inside: Mapping[int, list[int]], letters: list[Letters]) -> bool:
    """Whether two that start at one place, over the same characters, part and are at one place again."""
    if len(inside) ** 2 > _MOST_STEPS:
        raise Unclear("too many ways to compare")
    alike = {one: {other for other in inside if meet(letters[one], letters[other])} for one in inside}
    pairs, waiting, count = dict[tuple[int, int], list[tuple[int, int]]](), [(at, at) for at in inside], 0
    while waiting:
        if (pair := waiting.pop()) not in pairs:
            one, other = pair
            pairs[pair] = [(a, b) for a in inside[one] for b in alike[a].intersection(inside[other])]
            waiting += pairs[pair]
            count += len(inside[one]) + len(pairs[pair])
        if count > _MOST_STEPS:
            raise Unclear("too many ways to compare")
    return any({one == other for one, other in loop} == {True, False} for loop in _loops(pairs))


def _loops(edges: Mapping[T, list[T]]) -> Iterator[set[T]]:
    """The strongly connected parts of a graph that have an edge, by Kosaraju's two passes."""
    order, seen, back = list[T](), set[T](), dict[T, list[T]]()
    for start in edges:
        _visit(start, edges, seen, order)
    for one, others in edges.items():
        for other in others:
            back.setdefault(other, []).append(one)
    seen = set()
    for start in reversed(order):
        part = list[T]()
        _visit(start, back, seen, part)
        if len(part) > 1 or (part and start in edges[start]):
            yield set(part)


def _visit(start: T, edges: Mapping[T, list[T]], seen: set[T], order: list[T]) -> None:
    waiting = [(start, False)]
    while waiting:
        node, is_done = waiting.pop()
        if is_done:
            order.append(node)
        elif node not in seen:
            seen.add(node)
            waiting.append((node, True))
            waiting += [(other, False) for other in edges.get(node, ())]


def _times(counts: Counter[int], ways: int) -> Counter[int]:
    return Counter({at: min(count * ways, 2) for at, count in counts.items()}) if ways else Counter()


def _length(node: Node) -> int:
    match node:
        case Repeat():
            return _length(node.part) * max(node.high or 1, 1)
        case Sequence() | Choice():
            return sum(map(_length, node.parts))
    return 1


def _letters(node: Node) -> Letters:
    match node:
        case Chars():
            return node.letters
        case Repeat() | Atomic():
            return _letters(node.part)
        case Sequence() | Choice():
            return union(map(_letters, node.parts))


def may_be_empty(node: Node) -> bool:
    """Whether a part may match without a character."""
    match node:
        case Chars():
            return False
        case Repeat():
            return node.low == 0 or may_be_empty(node.part)
        case Atomic():
            return node.is_empty or may_be_empty(node.part)
        case Sequence():
            return all(map(may_be_empty, node.parts))
        case Choice():
            return any(map(may_be_empty, node.parts))
