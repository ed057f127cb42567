"""What two declarations have in common at first sight, without analysing any query."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from headrace.planning import stretches
from headrace.planning.declared import Declared
from headrace.planning.forms.scope import parsed
from headrace.planning.settings import is_same_clock, is_same_source, looked_into, model_reasons
from headrace.project import graph
from headrace.project.declarations.macros import named_in
from headrace.project.model import Model


class Untouched:
    """Finds the tables that are derived from unchanged texts only."""

    def __init__(self, old: Declared, new: Declared) -> None:
        self.old = old
        self.new = new
        self._is_same = cache(self._has_same_text)
        self._found: dict[str, bool] = {}

    def is_untouched(self, table: str) -> bool:
        """Whether a model is derived from unchanged texts only."""
        if table not in self._found:
            self._found[table] = all(map(self._is_same, self._made_of(table)))
        return self._found[table]

    def _made_of(self, table: str) -> Iterator[str]:
        """A table and all that it is made of; models may look each other up in a circle."""
        found = {table: None}
        for name in (waiting := [table]):
            yield name
            model = self.new.by_table.get(name)
            reads = (*(ref.table for ref in model.inputs), *looked_into(model)) if model else ()
            waiting += (fresh := [each for each in dict.fromkeys(reads) if each not in found])
            found |= dict.fromkeys(fresh)

    def _has_same_text(self, table: str) -> bool:
        if table in {*self.old.clocks, *self.new.clocks}:
            return is_same_clock(self.old, self.new, table)
        if table.startswith("bronze."):
            return is_same_source(self.old.topics.get(table), self.new.topics.get(table))
        old, new = self.old.by_table.get(table), self.new.by_table.get(table)
        if old is None or new is None or old != new:
            return False
        if old.columns != new.columns or any(self.old.value(name) != self.new.value(name) for name in new.parameters):
            return False
        macros = self.old.macro_texts.keys() | self.new.macro_texts.keys()
        edited = [name for name in macros if self.old.macro_texts.get(name) != self.new.macro_texts.get(name)]
        return not any(re.search(rf"\b{name}\b", new.text, re.IGNORECASE) for name in self._with_callers(edited))

    def _with_callers(self, edited: list[str]) -> set[str]:
        found = set(edited)
        for macro in self.new.macros:  # in the order in which they call each other
            if any(re.search(rf"\b{name}\b", macro.text, re.IGNORECASE) for name in found):
                found.add(macro.name)
        return found


class Rewritten:
    """Finds the tables for which only spaces, comments and case differ, in all texts that they are derived from."""

    def __init__(self, untouched: Untouched) -> None:
        self._old, self._new = untouched.old, untouched.new
        self._untouched = untouched
        self._has_same_words = cache(self._are_words_same)

    def is_same(self, table: str) -> bool:
        """Whether no word has changed of all that a table is derived from."""
        return all(map(self._has_same_words, self._made_of(table)))

    def reads_same(self, model: Model) -> bool:
        """Whether that holds for all that a model reads."""
        return all(self._has_same_words(each) for each in self._made_of(model.table) if each != model.table)

    def _made_of(self, table: str) -> Iterator[str]:
        """A table and all stored ones that it is made of, as far as any text of them is another."""
        found = {table: None}
        for name in (waiting := [table]):
            yield name
            model = self._new.by_table.get(name)
            if model is not None and not self._untouched.is_untouched(name):
                reads = (*(read.table for read in graph.reads(model, self._new.by_table)), *looked_into(model))
                waiting += (fresh := [each for each in dict.fromkeys(reads) if each not in found])
                found |= dict.fromkeys(fresh)

    def _are_words_same(self, table: str) -> bool:
        if self._untouched.is_untouched(table):
            return True
        old, new = self._old.by_table.get(table), self._new.by_table.get(table)
        if old is None or new is None:
            return False
        if (old.columns, old.output_columns) != (new.columns, new.output_columns):
            return False
        is_edited = any(model_reasons(self._old, self._new, table, True))
        return not is_edited and words(self._old, old) == words(self._new, new)


def words(declared: Declared, model: Model) -> list[object]:
    """All that a query consists of, without spaces, comments and the case of keywords and functions.

    The case of other names counts: a struct names its fields after columns, and JSON shows them.
    """
    models = [model, *graph.views(model, declared.by_table)]
    words: list[object] = [stretches.words(parsed(each.text, each.path)) for each in models]
    words += map(stretches.words_of, named_in([each.text for each in models], declared.macros))
    return [*words, *sorted((name, declared.value(name)) for each in models for name in each.parameters)]
