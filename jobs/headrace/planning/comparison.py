"""Two declarations of a project, model by model: the verdict on each edit, including edits of what a model reads."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

from headrace.errors import Place
from headrace.planning import branches, differences, settings, sql_settings, stored
from headrace.planning.declared import Declared
from headrace.planning.differences import Sides
from headrace.planning.edits import Edits
from headrace.planning.equality import queries, unions
from headrace.planning.forms.lowering import IsEdited, lower
from headrace.planning.forms.scope import NotUnderstood, written
from headrace.planning.forms.steps import Form, Read
from headrace.planning.forms.terms import Atom, Term
from headrace.planning.forms.types import ARRIVALS, TypeOf, canonical, of_atoms, spelled, type_of
from headrace.planning.places import Places
from headrace.planning.stored import Kept
from headrace.planning.untouched import Rewritten, Untouched, words
from headrace.planning.verdict import Evidence, Reason, Verdict, worst
from headrace.project import graph
from headrace.project.model import LANDING_COLUMNS, Model

_LANDED = {name: canonical(ddl) for name, ddl in LANDING_COLUMNS}
_CLOCK = {"landed_at": "timestamp", "event_time": "timestamp", "is_tick": "boolean", "_arrival": ARRIVALS}

Columns = frozenset[str] | None
"""Some columns; None for all."""

Unread = Callable[[str, str], bool]
"""Whether a model, the first, has yet to read rows that a table which it streams has stored."""


@dataclass(frozen=True)
class Outcome:
    """The verdict on one model: `columns` mean something else than they did, `rows` are taken by another rule."""

    reasons: tuple[Reason, ...] = ()
    columns: frozenset[str] = frozenset()
    rows: bool = False
    old: Form | None = None
    new: Form | None = None

    @property
    def verdict(self) -> Verdict:
        return worst(self.reasons)


class Comparison:
    """The outcome for every model that both declarations have, each computed once."""

    def __init__(self, old: Declared, new: Declared, unread: Unread = lambda *_: False) -> None:
        self.old = old
        self.new = new
        self._unread = unread
        self._outcomes: dict[str, Outcome] = {}
        self._forms: dict[str, Form | NotUnderstood] = {}
        self._made_of: dict[str, frozenset[str]] = {}
        self._rests: set[str] = set()
        self._apart: Mapping[str, Outcome] = {}
        self._rewritten = Rewritten(Untouched(old, new))
        self._edits = Edits(old, new)
        self._places = Places(self._edits, self._edited_at)

    def outcomes(self, tables: Collection[str], apart: Mapping[str, Outcome] | None = None) -> Mapping[str, Outcome]:
        """What the edits mean for stored models, also for those that only read edited ones.

        `apart` is what edits mean for tables of queries that were last started with another declaration.
        """
        self._apart = apart or {}
        found = {table: self._own(table) for table in tables}
        unsteady = {table: self._unsteady(self._stored_as(table)) for table in found}
        waiting = [*tables]
        while waiting:
            table = waiting.pop()
            reasons = () if table in self._rests else tuple(self._resting(self.new.by_table[table], unsteady, found))
            if reasons:
                self._rests.add(table)
                found[table] = replace(found[table], reasons=(*found[table].reasons, *reasons))
                unsteady[table] = None
                waiting = [*tables]
        return found

    def edited(self, tables: Collection[str]) -> Mapping[str, Outcome]:
        """What the edits mean for tables by themselves, sources included, apart from rows that they read."""
        return {table: self._edited(table) for table in tables}

    def _stored_as(self, table: str) -> Outcome:
        """What edits mean for the rows of a table, whichever declaration its own query was last started with."""
        found, apart = self._edited(table), self._apart.get(table, Outcome())
        reasons = (*found.reasons, *apart.reasons)
        return replace(found, reasons=reasons, columns=found.columns | apart.columns, rows=found.rows or apart.rows)

    def _own(self, table: str) -> Outcome:
        """What the edits of a model, and of what it reads, mean for it."""
        if table not in self._outcomes:
            old, new = self.old.by_table.get(table), self.new.by_table.get(table)
            is_same = old is None or new is None or self._rewritten.is_same(table)
            found = Outcome() if is_same or old is None or new is None else self._placed(old, new)
            if old is not None and new is not None:
                found = self._under_settings(new, self._with_other_ticks(new, found))
            self._outcomes[table] = found
        return self._outcomes[table]

    def _placed(self, old: Model, new: Model) -> Outcome:
        """The outcome whose reasons stand where the edits are."""
        found = self._compared(old, new)
        moved = (self._places.moved(reason, new.table, old, new) for reason in found.reasons)
        return replace(found, reasons=tuple(stored.worst_of_each(moved)))

    def _edited_at(self, table: str, column: str | None) -> frozenset[Place]:
        """Where a column of a table, or what decides its rows, was edited."""
        if self.new.landing(table):
            return frozenset(each.place for each in self._edits.of(table))
        reasons = self._edited(table).reasons
        named = [each for each in reasons if column is not None and column in each.columns]
        rows = [each for each in reasons if column is None and not each.columns]
        return frozenset(each.place for each in named or rows or reasons)

    def _under_settings(self, model: Model, outcome: Outcome) -> Outcome:
        """The outcome with what other settings of Spark do: any expression may then have another value."""
        reasons = [*self._setting_reasons()]
        if not reasons:
            return outcome
        keeps = model.materialized == "upsert" or model.once_per or settings.sets_repeats_aside(model)
        verdict = Verdict.MIX if self._has_state(model) else Verdict.FORWARD if keeps else Verdict.KEEP
        found = [*outcome.reasons, *(replace(each, verdict=verdict) for each in reasons)]
        found += self._types_under_settings(model, reasons)
        return replace(outcome, reasons=tuple(found), columns=frozenset(model.output_columns or ()), rows=True)

    def _types_under_settings(self, model: Model, reasons: Collection[Reason]) -> Iterator[Reason]:
        """The columns that other settings give another type, or perhaps do; only Spark knows how far these reach."""
        typing = [each for each in reasons if each.evidence.key not in sql_settings.OF_VALUES]
        before, after = _types(self.old, model.table), _types(self.new, model.table)
        certain = self._certain(model, {each.evidence.key for each in typing}) if typing else {}
        for name in before if typing else ():
            yield from _type_reasons(name, before[name], after.get(name) or certain.get(name), typing[0].place)

    def _certain(self, model: Model, keys: Collection[str]) -> Mapping[str, str]:
        """The types that columns have under any settings; a time may be of two types, by one setting."""
        try:
            columns = self._form(model).columns
        except NotUnderstood:
            return {}
        types = {name: type_of(term.tree, of_atoms(self._old_type)) for name, term in columns.items()}
        unsure = "timestamp" if sql_settings.TYPE_OF_TIMES in keys else None
        return {name: type_ for name, type_ in types.items() if type_ and (unsure is None or unsure not in type_)}

    def _with_other_ticks(self, model: Model, outcome: Outcome) -> Outcome:
        """The outcome with what it means for watermarks that time passes at other moments for what is streamed."""
        streamed = {read.table for read in graph.reads(model, self.new.by_table) if read.stream}
        tables = sorted(streamed) if model.run == "streaming" else ()
        found = [each for table in tables for each in settings.idle_reasons(self.old, self.new, table)]
        if not found:
            return outcome
        moved = (self._places.moved(each, model.table) for each in found)
        return replace(outcome, reasons=(*outcome.reasons, *stored.worst_of_each(moved)), rows=True)

    def _has_state(self, model: Model) -> bool:
        """Whether earlier rows go into new ones."""
        if self._state_readers(model):
            return True
        try:
            return model.run == "streaming" and any(step.is_stateful for step in self._form(model).root.every())
        except NotUnderstood:
            return True

    def _unsteady(self, outcome: Outcome) -> Columns:
        """The columns whose stored values follow two rules; None for all."""
        others = (each for each in outcome.reasons if not each.columns and _is_of_rows(each))
        if outcome.rows or any(each.verdict > Verdict.KEEP for each in others):
            return None
        return outcome.columns

    def _resting(self, model: Model, unsteady: Mapping[str, Columns], found: Mapping[str, Outcome]) -> Iterator[Reason]:
        """Rows that a model reads, and that are not as if the new text had always run."""
        for read in graph.reads(model, self.new.by_table):
            outcome = self._stored_as(read.table)
            if not read.stream and self._is_new(read.table):
                message = f"{read.table}, which it looks up, is new: it may lack earlier rows, or get them later"
                yield Reason(Verdict.FORWARD, read.place, message, evidence=Evidence(table=read.table))
            if not read.stream and (place := self._kept_otherwise(read.table)):
                message = f"{read.table}, which it looks up, keeps its rows for another period"
                yield Reason(Verdict.FORWARD, place, message)
            is_bronze = read.table.startswith("bronze.")
            columns = (
                unsteady.get(read.table, frozenset()) if not is_bronze else None if outcome.rows else outcome.columns
            )
            if columns == frozenset() or read.table == model.table:
                continue
            verdict = worst(tuple(filter(_is_of_rows, outcome.reasons)))
            is_right = is_bronze or (verdict <= Verdict.KEEP and read.table not in self._rests)
            waits = read.stream and is_right and self._unread(model.table, read.table)
            if read.stream and is_right and not waits:
                continue  # what streams in from now on is right
            used = {column for each in self._reads(model) if each.table == read.table for column in each.columns}
            if columns is None or used & columns or not self._reads(model):
                reasons = (*found.get(read.table, outcome).reasons, *outcome.reasons)
                place = max(reasons, key=lambda each: each.verdict).place if reasons else read.place
                waiting = f"{read.table} has stored rows by the old text that it has yet to read"
                yield Reason(Verdict.FORWARD, place, waiting if waits else self._old_rows(read.table, place, model))

    def _is_new(self, table: str) -> bool:
        """Whether a table is one of a model that had none."""
        old, new = self.old.by_table.get(table), self.new.by_table.get(table)
        return new is not None and (old is None or old.query is None)

    def _kept_otherwise(self, table: str) -> Place | None:
        """Where it was edited for how long a table keeps its rows."""
        old, new = self.old.landing(table), self.new.landing(table)
        reasons = settings.landing_reasons(old, new) if old and new else self._edited(table).reasons
        return next((each.place for each in reasons if each.evidence.key == "keep"), None)

    def _old_rows(self, table: str, place: Place, model: Model) -> str:
        through = self._places.through(place, model.table)
        is_direct = through is not None and through.startswith(f"{table} (")
        what = f"{through if is_direct else table}, which it reads, also has rows by the old text"
        return what if is_direct or through is None else f"{what}; read here through {through}"

    def _reads(self, model: Model) -> tuple[Read, ...]:
        try:
            return self._form(model).reads
        except NotUnderstood:
            return ()

    def _compared(self, old: Model, new: Model) -> Outcome:
        headers = tuple(settings.model_reasons(self.old, self.new, new.table, bool(self._state_readers(new))))
        headers += tuple(self._looked_into(new))
        found = [*headers]
        try:
            forms = lower(self.old, old, self._old_type), self._form(new)
            stored_as = forms[0].columns
            if old.run == new.run != "streaming":
                before = self._side(self.old, old, forms[0], self._old_type, lambda *_: False)
                after = self._side(self.new, new, forms[1], self._edited_type, partial(self._is_edited, new))
                forms = (forms[1], forms[1]) if queries.same(before, after) else forms
            more = self._one_branch_more(old, new, *forms)
            forms = (forms[1], forms[1]) if more else forms
            sides = Sides(*forms, of_atoms(self._old_type), of_atoms(self._new_type), Place(new.path), new.table)
        except NotUnderstood as error:
            if words(self.old, old) != words(self.new, new) or not self._rewritten.reads_same(new):
                place = error.place or Place(new.path)
                at = f" ({place.path}:{place.line})" if error.place else ""
                found.append(Reason(Verdict.RESET, place, f"{error}{at}"))
            return Outcome(tuple(found), frozenset(new.output_columns or ()), True) if found else Outcome()
        columns = differences.edited_columns(sides)
        shape = [*differences.edited_shape(sides)]
        state = [*more, *differences.state_reasons(sides)] if new.run == old.run == "streaming" else []
        kept = Kept(new, self._state_columns(new), bool(self._state_readers(new)))
        found += state
        judged = {} if shape and differences.has_same_branches(sides) else columns
        found += stored.row_reasons(kept, sides, judged, shape)
        found += stored.rule_reasons(kept, old, judged)
        found += self._sources(new, sides) if shape else ()
        found += self._stored_columns(kept, stored_as, sides, columns)
        fresh = sides.new.columns.keys() - sides.old.columns.keys()
        edited = frozenset(sides.new.columns if shape else {*columns, *fresh})
        rows = bool(shape) or any(each.verdict > Verdict.KEEP and _is_of_rows(each) for each in (*headers, *state))
        rows |= settings.makes_other_rows(old, new)
        rows |= stored.has_other_rows(old, new, sides, columns)
        return Outcome(tuple(found), edited, rows, sides.old, sides.new)

    def _side(self, declared: Declared, model: Model, form: Form, types: TypeOf, is_edited: IsEdited) -> queries.Side:
        """One of both texts of a model, to find out whether they give the same rows."""
        lowered = partial(lower, declared, model, types, is_edited)
        if form.asks_queries:
            lowered = partial(lowered, joins_queries=True)
            form = lowered()
        is_free = partial(unions.are_free, column=types, origins=declared.kafka_topics)
        keeps_one = Kept(model, frozenset(), False).depends_on_past
        return queries.Side(form, lowered, is_free, types, keeps_one)

    def _one_branch_more(self, old: Model, new: Model, before: Form, after: Form) -> tuple[Reason, ...]:
        """What a branch does that is all the difference of two texts for the streaming engine."""
        if (old.run, new.run) != ("streaming", "streaming"):
            return ()
        lowered = partial(lower, self.new, column_type=self._edited_type, is_edited=partial(self._is_edited, new))
        found = branches.added(before, after, new, lowered, of_atoms(self._new_type))
        return (found,) if found else ()

    def _looked_into(self, model: Model) -> Iterator[Reason]:
        """Tables that decide by a test which rows are set aside."""
        for table in sorted(settings.looked_into(model) - {model.table}):
            if not self._rewritten.is_same(table):
                place = model.header_places.get("tests", Place(model.path))
                message = f"{table}, which a test looks up, has changed: rows that were set aside stay out"
                yield Reason(Verdict.FORWARD, place, message, evidence=Evidence(table=table))

    # what an edit means for the stored table

    def _sources(self, model: Model, sides: Sides) -> Iterator[Reason]:
        """A stream that was not read has a past, which comes with the next batches.

        In the place of another one it may bring rows that the table has; only a key keeps these from being twice there.
        """
        old, new = ([read.table for read in form.reads if read.stream] for form in (sides.old, sides.new))
        known, now = (
            {self._source(of, table) for table in tables} for of, tables in ((self.old, old), (self.new, new))
        )
        is_kept_once = Kept(model, frozenset(), False).depends_on_past
        had = frozenset[str]().union(*(self.old.kafka_topics(table) or () for table in old if known - now))
        for read in sides.new.reads:
            if read.stream and self._source(self.new, read.table) not in known:
                again = not is_kept_once and not had.isdisjoint(self.new.kafka_topics(read.table) or ())
                what = "its rows come from the first on"
                what += ", also those that have come another way before" if again else ""
                message = f"{read.table} was not streamed before: {what}"
                verdict = Verdict.MIX if again else Verdict.FORWARD
                yield Reason(verdict, read.place, message, evidence=Evidence(at=(read.place,)))

    def _source(self, declared: Declared, table: str) -> str:
        landing = declared.landing(table)
        return f"landing {landing.name}" if landing else table

    def _stored_columns(
        self, kept: Kept, stored_as: Mapping[str, Term], sides: Sides, columns: Mapping[str, Reason]
    ) -> Iterator[Reason]:
        """What a change of columns means for the stored table: it accepts new ones, and nothing else."""
        new = kept.model
        for name, before in sides.old.columns.items():
            if name not in sides.new.columns:
                message = f"column {name} is gone, and the stored table has it"
                yield Reason.between(Verdict.RESET, sides.place, message, (before,), ())
        for name, term in sides.new.columns.items():
            place = term.place() or Place(new.path)
            if name not in sides.old.columns:
                verdict = Verdict.FORWARD if new.materialized == "upsert" or name in kept.state else Verdict.KEEP
                reason = Reason.between(verdict, place, f"column {name} is new: null in old rows", (), (term,))
                yield replace(reason, columns=(name,))
                continue
            then, today = (written(each.tree, name) for each in (stored_as[name], term))
            if then != today:
                yield Reason(
                    Verdict.RESET, place, f"column {name} is spelled differently in the stored table", then, today
                )
            if name not in columns and name not in (_types(self.new, new.table) or _lower(new.columns)):
                continue  # made as before: of the same type
            was = _types(self.old, new.table).get(name)
            now = self._type(new, name, sides.new, was or "")
            if name in columns or now is not None:
                evidence = columns[name].evidence if name in columns else Evidence(new=(term,))
                yield from (replace(each, evidence=evidence) for each in _type_reasons(name, was, now, place))

    def _type(self, model: Model, name: str, form: Form, was: str = "") -> str | None:
        """The type of a column of the new text: by Spark, by its contract, else as far as it is certain.

        Whether fields are spelled as they were in another type is not: their names are those of columns and structs.
        """
        if known := _types(self.new, model.table).get(name) or _lower(model.columns).get(name):
            return known
        found = type_of(form.columns[name].tree, of_atoms(self._new_type))
        is_spelled = found == ARRIVALS or "struct<" not in was or found != canonical(was)
        return found if is_spelled else None

    def _old_type(self, atom: Atom) -> str | None:
        return self._column_type(self.old, atom)

    def _edited_type(self, atom: Atom) -> str | None:
        """The type by which the new text is read: forms that are compared differ where a column was edited alone."""
        return self._new_type(atom) if atom.is_edited else self._old_type(atom)

    def _new_type(self, atom: Atom) -> str | None:
        if self.new.landing(atom.table) or atom.column in _types(self.new, atom.table):
            return self._column_type(self.new, atom)
        if not atom.is_edited:
            return self._column_type(self.old, atom)
        form = self._forms.get(atom.table)
        found = self._type(self.new.by_table[atom.table], atom.column, form) if isinstance(form, Form) else None
        return canonical(found) if found else None

    def _column_type(self, declared: Declared, atom: Atom) -> str | None:
        if atom.table in declared.clocks:
            return _CLOCK.get(atom.column)
        if atom.table not in declared.topics:
            found = _types(declared, atom.table).get(atom.column)
            return "boolean" if atom.column == "_deleted" else canonical(found) if found else None
        _, topic = declared.topics[atom.table]
        types = {f"data.{field.name}": field.type for field in topic.fields}
        types |= {**_LANDED, "_arrival": ARRIVALS, "data": topic.ddl}
        return canonical(types[atom.column]) if atom.column in types else None

    # what a model reads

    def _form(self, model: Model) -> Form:
        if model.table not in self._forms:
            try:
                edited = partial(self._is_edited, model)
                self._forms[model.table] = lower(self.new, model, self._edited_type, edited)
            except NotUnderstood as error:
                self._forms[model.table] = error
        found = self._forms[model.table]
        if isinstance(found, NotUnderstood):
            raise found
        return found

    def _is_edited(self, reader: Model, table: str, column: str | None, moves: bool) -> bool:
        """Whether a table differs; one that is looked up is not asked where it is made of its reader, in a circle."""
        if not moves and reader.table in self._upstream(table):
            return False
        upstream = self._edited(table)
        return upstream.rows if column is None else column in upstream.columns

    def _edited(self, table: str) -> Outcome:
        if table in self.new.clocks:
            return self._clock(table)
        if table not in self.new.topics:
            return self._own(table) if table in self.new.by_table else Outcome()
        if table not in self.old.topics:
            return Outcome(rows=True)
        (_, old), (_, new) = self.old.topics[table], self.new.topics[table]
        columns = settings.edited_topic_columns(old, new)
        reasons = [self._places.moved(each, table) for each in settings.topic_reasons(old, new)]
        reasons += (under := [*self._setting_reasons()])
        rows = settings.has_other_rows(old, new) or bool(under)
        return Outcome(tuple(reasons), columns, rows)

    def _setting_reasons(self) -> Iterator[Reason]:
        return sql_settings.reasons(self.old.settings, self.new.settings, Verdict.KEEP)

    def _clock(self, table: str) -> Outcome:
        """What edits of its topics mean for the clock of a landing."""
        if table not in self.old.clocks:
            return Outcome(rows=True)
        columns = settings.edited_clock_columns(self.old.clocks[table], self.new.clocks[table])
        return Outcome((), columns, settings.has_other_batches(self.old, self.new, table))

    def _state_readers(self, model: Model) -> tuple[str, ...]:
        """The models of a query that look up this one's rows from before the batch, and that it is derived from."""
        members = [each for each in self.new.models if each.query == model.query and model.query is not None]
        made_of = self._upstream(model.table)
        return tuple(each.table for each in members if each.table in made_of and self._looks_up(each, model.table))

    def _looks_up(self, model: Model, table: str) -> bool:
        reads = graph.reads(model, self.new.by_table)
        return any(read.table == table and not read.stream for read in reads)

    def _state_columns(self, model: Model) -> frozenset[str]:
        """The columns of its own table that a model reads back, also through others of its query."""
        columns: frozenset[str] = frozenset()
        for reader in self._state_readers(model):
            try:
                form = self._form(self.new.by_table[reader])
            except NotUnderstood:
                return frozenset(name.lower() for name in model.output_columns or ())
            used = [read.columns for read in form.reads if read.table == model.table and not read.stream]
            columns = columns.union(*used)
        return columns

    def _upstream(self, table: str) -> frozenset[str]:
        """A table and all models that it is made of, also by looking them up."""
        if table not in self._made_of:
            found = {table: True}
            for name in (waiting := [table]):
                model = self.new.by_table.get(name)
                reads = graph.reads(model, self.new.by_table) if model else ()
                fresh = dict.fromkeys(read.table for read in reads if read.table not in found)
                found |= dict.fromkeys(fresh, True)
                waiting += fresh
            self._made_of[table] = frozenset(found)
        return self._made_of[table]


def _is_of_rows(reason: Reason) -> bool:
    """Whether it is about the rows of a table, and not only about where they are sent."""
    return reason.evidence.key != "publish"


def _type_reasons(name: str, was: str | None, now: str | None, place: Place) -> Iterator[Reason]:
    if now is None:
        message = f"only Spark knows the type of column {name}; run `headrace check`, it asks Spark once"
        yield Reason(Verdict.UNDECIDED, place, message, was or "", "?", columns=(name,))
    elif was is not None and spelled(was) != spelled(now):
        message = f"column {name} is {spelled(now)} now, and the stored table has {spelled(was)}"
        yield Reason(Verdict.RESET, place, message, was, now)


def _types(declared: Declared, table: str) -> Mapping[str, str]:
    return _lower(declared.schemas.get(table, {}))


def _lower(columns: Mapping[str, str]) -> Mapping[str, str]:
    return {name.lower(): type_ for name, type_ in columns.items()}
