"""What two declarations have in common at first sight, without taking any query apart."""

from __future__ import annotations

import re

from headrace.errors import InvalidProject
from headrace.planning.declared import Declared
from headrace.planning.scope import parsed, parsed_macro
from headrace.project import graph
from headrace.project.model import Model


class Untouched:
    """Says for which tables nothing that they are made of has another text."""

    def __init__(self, old: Declared, new: Declared) -> None:
        self.old = old
        self.new = new
        self._found: dict[str, bool] = {}

    def is_untouched(self, table: str) -> bool:
        """Whether nothing that a model is made of has another text."""
        if table.startswith("bronze."):
            return self.new.topics.get(table) == self.old.topics.get(table)
        if table not in self._found:
            self._found[table] = True  # until found otherwise: a model may read itself
            self._found[table] = self._has_same_text(table)
        return self._found[table]

    def _has_same_text(self, table: str) -> bool:
        old, new = self.old.by_table.get(table), self.new.by_table.get(table)
        if old is None or new is None or old != new:
            return False
        if old.columns != new.columns or any(
            self.old.vars.get(name) != self.new.vars.get(name) for name in new.parameters
        ):
            return False
        macros = self.old.macro_texts.keys() | self.new.macro_texts.keys()
        edited = [name for name in macros if self.old.macro_texts.get(name) != self.new.macro_texts.get(name)]
        if any(re.search(rf"\b{name}\b", new.text, re.IGNORECASE) for name in self._with_callers(edited)):
            return False
        return all(self.is_untouched(ref.table) for ref in new.inputs)

    def _with_callers(self, edited: list[str]) -> set[str]:
        found = set(edited)
        for macro in self.new.macros:  # in the order in which they call each other
            if any(re.search(rf"\b{name}\b", macro.text, re.IGNORECASE) for name in found):
                found.add(macro.name)
        return found

    def reads_edited(self, model: Model) -> bool:
        return any(not self.is_untouched(read.table) for read in graph.reads(model, self.new.by_table))


def words(declared: Declared, model: Model) -> list[object]:
    """All that a query is made of without spaces, comments and case."""
    models = [model, *graph.views(model, declared.by_table)]
    words: list[object] = [[token.text.lower() for token in parsed(each.text, each.path).tokens] for each in models]
    try:
        words += [[token.text for token in parsed_macro(each.text, each.path).tokens] for each in declared.macros]
    except InvalidProject:
        words += [each.text for each in declared.macros]
    return [*words, *sorted((name, declared.vars.get(name)) for each in models for name in each.parameters)]
