"""Random edits of the demo's models, each made by a seed: one edit, of one kind, in one file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import unified_diff
from functools import cache
from random import Random

from tests.plan.generated import domains, headers, surroundings, texts
from tests.plan.generated.meaning import CHANGING
from tests.plan.generated.neutral import NEUTRAL, write_again
from tests.plan.generated.texts import Text

_TRIES = 200
_SHARES = {"neutral": 5, "changing": 12, "header": 2, "around": 2}
"""How often an edit is of each family."""
_GOLD = 0.4
"""How often an edit is of a model that is read by few: there a run goes on after most."""
_UNREAD = (
    *("header, description", "header, tags"),
    *("unused_variable", "unrelated_macro", "source", "setting"),
)


@dataclass(frozen=True)
class RandomEdit:
    """An edit of one file of a domain; `is_neutral` where it certainly leaves every row as it is."""

    seed: int
    domain: str
    kind: str
    path: str
    text: str
    is_neutral: bool

    @property
    def title(self) -> str:
        return f"{self.seed}: {self.kind} in {self.path}"

    @property
    def is_read(self) -> bool:
        """Whether any query reads what was edited."""
        return not (self.is_neutral and self.kind in _UNREAD)

    @property
    def difference(self) -> str:
        """The lines that differ; those of the query are compared as they are written again."""
        before = domains.files(self.domain).get(self.path, "")
        if self.path.startswith("sql/") and self.path.endswith(".sql"):
            text, edited = texts.read(before), texts.read(self.text)
            return "\n".join(unified_diff(text.sql(text.tree).splitlines(), edited.sql(edited.tree).splitlines(), n=2))
        return "\n".join(unified_diff(before.splitlines(), self.text.splitlines(), n=2))

    @property
    def files(self) -> Mapping[str, str]:
        """The whole domain with the edit."""
        return {**domains.files(self.domain), self.path: self.text}


def edit(seed: int, only: tuple[str, ...] = domains.DOMAINS) -> RandomEdit:
    """The edit of a seed, of some domain."""
    random = Random(seed)
    for _ in range(_TRIES):
        domain = random.choice(only)
        family = random.choices([*_SHARES], [*_SHARES.values()])[0]
        found = _FAMILIES[family](seed, domain, random)
        if found is not None and found.text != domains.files(domain).get(found.path):
            return found
    raise AssertionError(f"no edit by {seed}")


def _of_query(seed: int, domain: str, random: Random, neutral: bool) -> RandomEdit | None:
    change = random.choice(NEUTRAL if neutral else CHANGING)
    path = random.choice(_models(domain, random.random() < _GOLD))
    text = _read(domain, path)
    tree = change(text.tree.copy(), random)
    is_other = tree is not None and (change is write_again or text.sql(tree) != text.sql(text.tree))
    return RandomEdit(seed, domain, change.__name__, path, text.sql(tree), neutral) if tree and is_other else None


def _of_header(seed: int, domain: str, random: Random) -> RandomEdit | None:
    path = random.choice(_models(domain))
    found = headers.edited(domains.files(domain)[path], random)
    return found and RandomEdit(seed, domain, f"header, {found[1]}", path, found[0], found[2])


def _around(seed: int, domain: str, random: Random) -> RandomEdit | None:
    change = random.choice(surroundings.AROUND)
    found = change(domains.files(domain), random)
    return found and RandomEdit(seed, domain, change.__name__, *found)


_FAMILIES = {
    "neutral": lambda seed, domain, random: _of_query(seed, domain, random, True),
    "changing": lambda seed, domain, random: _of_query(seed, domain, random, False),
    "header": _of_header,
    "around": _around,
}


def _models(domain: str, gold: bool = False) -> list[str]:
    folder = "sql/gold/" if gold else "sql/"
    return [path for path in domains.files(domain) if path.endswith(".sql") and path.startswith(folder)]


@cache
def _read(domain: str, path: str) -> Text:
    return texts.read(domains.files(domain)[path])
