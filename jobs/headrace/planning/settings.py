"""Edits of a model's header, and of a source: what they do to what is stored."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial

from headrace.errors import HeadraceError, InvalidProject, Place
from headrace.planning import stretches
from headrace.planning.declared import Declared
from headrace.planning.forms import terms, truths
from headrace.planning.forms.scope import NotUnderstood, alone, certain
from headrace.planning.forms.terms import Atom
from headrace.planning.forms.types import canonical, of_atoms, type_of
from headrace.planning.verdict import Evidence, Reason, Verdict
from headrace.project import seed_changes
from headrace.project.declarations import event_times
from headrace.project.declarations.event_times import SqlTime
from headrace.project.declarations.macros import named_in
from headrace.project.model import LANDING_COLUMNS, DataTest, Landing, Model, Publish, Topic
from headrace.project.seed_changes import SeedChanges
from headrace.project.sql import expressions

_FIXED = {
    "materialized": "its rows are stored in another way",
    "run": "it runs in another engine, which has state of its own",
    "query": "it runs in another query, which has progress of its own",
    "output_mode": "rows are written at other moments",
    "unique_key": "its rows are those of another key",
}
_JUDGED = (
    "text",
    "inputs",
    "parameters",
    "intervals",
    "lists",
    "columns",
    "output_columns",
    "once_per",
    "close_when",
    "delete_when",
    "on_error",
    "max_state_bytes",
    "remember",
    "every",
    "publish",
    "tests",
    "keep",
)
_HARMLESS = (
    *("layer", "name", "domain", "path", "description", "log", "tags", "owner", "meta", "header_places"),
    *("allow", "extra_columns", "keep_history"),
)
"""Keys that change nothing of what is stored."""

Rule = Callable[[str | None, Declared], str]
"""The meaning of a header's expression by what a project declares."""


def model_reasons(before: Declared, now: Declared, table: str, has_self_read: bool) -> Iterator[Reason]:
    """What edited header keys mean; for an unknown key the worst is assumed."""
    old, new = before.by_table[table], now.by_table[table]
    rule = partial(_expression, table=table, types=_types(before, table))
    for field in fields(Model):
        if field.name not in (*_FIXED, *_JUDGED, *_HARMLESS) and getattr(old, field.name) != getattr(new, field.name):
            message = f"nobody can say what a change of `{field.name}` does"
            yield _header(Verdict.RESET, new, field.name, message)
    for key, message in _FIXED.items():
        was, is_now = getattr(old, key), getattr(new, key)
        if was != is_now and not (key == "unique_key" and sorted(was) == sorted(is_now)):
            yield _header(Verdict.RESET, new, key, message, _text(was), _text(is_now))
    if sorted(old.once_per) != sorted(new.once_per):  # keys stored in another order are stored again
        message = "rows that were left out by the old key stay out"
        yield _header(Verdict.FORWARD, new, "once_per", message, _text(old.once_per), _text(new.once_per))
    if rule(old.close_when, before) != rule(new.close_when, now):
        message = "keys that were closed may come back without their past, or stay open"
        yield _header(Verdict.MIX, new, "close_when", message, _text(old.close_when), _text(new.close_when))
    if rule(old.delete_when, before) != rule(new.delete_when, now):
        verdict = Verdict.MIX if has_self_read else Verdict.FORWARD
        message = "keys that the old rule deleted stay deleted, with what they had counted"
        yield _header(verdict, new, "delete_when", message, _text(old.delete_when), _text(new.delete_when))
    if old.remember != new.remember:  # a start takes the recent rows from the table, so none are missing
        message = "what was decided by rows of the old time span stays"
        yield _header(Verdict.FORWARD, new, "remember", message, _text(old.remember), _text(new.remember))
    if old.every != new.every:
        message = "snapshots are taken at other times from now on; those that were stay"
        yield _header(Verdict.KEEP, new, "every", message, _text(old.every), _text(new.every))
    if old.on_error != new.on_error:
        stayed_out = old.on_error == "dead_letter"
        message = "rows that failed and were set aside stay out" if stayed_out else "rows that fail are set aside"
        verdict = Verdict.FORWARD if stayed_out else Verdict.KEEP
        yield _header(verdict, new, "on_error", message, old.on_error, new.on_error)
    if _limit(old) != _limit(new):
        is_higher = old.max_state_bytes < new.max_state_bytes
        message = "keys that had grown too large and were set aside stay out"
        if not is_higher:
            message = "changes of keys whose rows were larger before are still taken, up to the first that is too large"
        sizes = (_text(old.max_state_bytes), _text(new.max_state_bytes))
        yield _header(Verdict.FORWARD, new, "max_state_bytes", message, *sizes)
    if old.keep != new.keep:
        message = _leaving(new.keep, "whoever looks them up later finds none", new.materialized == "upsert")
        yield _header(Verdict.KEEP, new, "keep", message, _text(old.keep), _text(new.keep))
    yield from _publish_reasons(before, now, table, rule)
    yield from _test_reasons(before, now, table, rule)


def _types(declared: Declared, table: str) -> Mapping[str, str]:
    """The types of a model's columns: as it is stored, else by its contract."""
    known = {**declared.by_table[table].columns, **declared.schemas.get(table, {})}
    return {name.lower(): type_ for name, type_ in known.items()}


def makes_other_rows(old: Model, new: Model) -> bool:
    """Whether other rows come from now on, whatever the query says."""
    return (old.every, _limit(old)) != (new.every, _limit(new))


def _limit(model: Model) -> int | None:
    """How large a current row may be; only those that a micro-batch query keeps have a limit."""
    return model.max_state_bytes if (model.materialized, model.run) == ("upsert", "micro_batch") else None


def landing_reasons(old: Landing, new: Landing) -> Iterator[Reason]:
    """What the edit of a landing means for the table of its topics."""
    if old.keep != new.keep:
        message = _leaving(new.keep, "a rebuild, a reset and a new model begin with those that are left")
        place = new.places.get("keep", new.place)
        yield Reason(Verdict.KEEP, place, message, _text(old.keep), _text(new.keep), evidence=Evidence(key="keep"))


def _leaving(keep: float | None, cost: str, is_upsert: bool = False) -> str:
    if keep is None:
        return "rows stay from now on; those that have left do not come back"
    if is_upsert:
        return (
            f"changes leave {_days(keep)} after a later one replaced them or their row was deleted; current rows stay; "
            "a rebuild, or a new model that streams the changes, begins with those that are left"
        )
    return f"rows leave {_days(keep)} after they arrived, and do not come back: {cost}"


def _days(seconds: float) -> str:
    days = seconds / 86_400
    return f"{days:g} day{'' if days == 1 else 's'}" if days >= 1 else f"{seconds / 3600:g} h"


def topic_reasons(old: Topic, new: Topic) -> Iterator[Reason]:
    """What the edit of a source means for the table it lands in."""
    place = new.place
    if old.topic != new.topic:
        message = f"{new.name} would hold the rows of two topics, and only those of {new.topic} could be read"
        yield Reason(Verdict.MIX, place, message, old.topic, new.topic, evidence=Evidence(key="topic"))
    if _is_used_otherwise(old, new):
        message = "records that have landed stay accepted or rejected; new ones are judged as declared now"
        before, after = _described(_judging(old), _judging(new))
        yield Reason(Verdict.FORWARD, place, message, before, after, evidence=Evidence(key="judged"))
    elif _rules(old) != _rules(new) and _named_rules(old) != _named_rules(new):
        message = "records are rejected with another reason from now on; earlier ones keep theirs"
        before, after = _described(_judging(old), _judging(new))
        yield Reason(Verdict.KEEP, place, message, before, after, evidence=Evidence(key="judged"))
    if _timed(old) != _timed(new):
        message = "records that have landed keep their event time"
        before, after = _text(event_times.describe(old)), _text(event_times.describe(new))
        yield Reason(Verdict.FORWARD, place, message, before, after, evidence=Evidence(key="event_time"))
    if _has_other_seeds(old, new):
        changes = seed_changes.of(new, _values(old))
        stays = not new.seeds or bool(changes.remaining)
        verdict = Verdict.FORWARD if stays else Verdict.KEEP
        yield Reason(verdict, place, _seed_message(new, changes), evidence=Evidence(key="seed"))


def _has_other_seeds(old: Topic, new: Topic) -> bool:
    """Whether the next start lands anything, or would not have landed what is there."""
    changes = seed_changes.of(new, _values(old))
    return bool(changes.seeds or changes.remaining)


def _seed_message(topic: Topic, changes: SeedChanges) -> str:
    """What the next start lands of a file that was edited."""
    if not topic.seeds:
        return "the rows that landed with the project stay; take them out with records that end their keys"
    counts = {"new": changes.new, "changed": changes.changed, "gone": changes.gone}
    counted = ", ".join(f"{number} {word}" for word, number in counts.items() if number) or "no"
    left = f"; {len(changes.remaining)} that the file has no more stay, as the source allows no null value"
    return f"{counted} keys of the seed land as changes at the next start{left if changes.remaining else ''}"


def _values(topic: Topic) -> dict[str, list[str | None]]:
    """What a file held, by key."""
    found: dict[str, list[str | None]] = {}
    for seed in topic.seeds:
        found.setdefault(seed.key, []).append(seed.value)
    return found


def edited_topic_columns(old: Topic, new: Topic) -> frozenset[str]:
    """Columns of a source whose meaning is another: fields of other types or in another order, the event time."""
    time = {"event_time"} if _timed(old) != _timed(new) else set()
    if old.scalar != new.scalar or bool(old.fields) != bool(new.fields):
        return frozenset({"data", *time})
    types = ({field.name: field.type for field in old.fields}, {field.name: field.type for field in new.fields})
    names = types[0].keys() | types[1].keys()
    members = {f"data.{name}" for name in names if types[0].get(name) != types[1].get(name)}
    whole = {"data"} if members or [*types[0]] != [*types[1]] else set()
    return frozenset(members | whole | time)


def has_other_rows(old: Topic, new: Topic) -> bool:
    """Whether records are used that were not, or the other way round; those of an impossible event time are not."""
    is_judged_otherwise = _is_used_otherwise(old, new) or _timed(old) != _timed(new)
    return old.topic != new.topic or is_judged_otherwise or _has_other_seeds(old, new)


def is_same_source(old: tuple[Landing, Topic] | None, new: tuple[Landing, Topic] | None) -> bool:
    """Whether two sources hold the same rows; what is said of them, and where, is no part of that."""
    if old is None or new is None:
        return old is new
    is_alike = old[0].name == new[0].name and not edited_topic_columns(old[1], new[1])
    return is_alike and not has_other_rows(old[1], new[1])


def is_same_clock(old: Declared, new: Declared, table: str) -> bool:
    """Whether a landing's clock shows the same times at the same moments."""
    before, after = old.clocks.get(table), new.clocks.get(table)
    if before is None or after is None:
        return before is after
    return not edited_clock_columns(before, after) and not has_other_batches(old, new, table)


def idle_reasons(old: Declared, new: Declared, table: str) -> Iterator[Reason]:
    """What it means that time passes at other moments for a source from which nothing comes."""
    if table in old.topics and old.idle(table) != new.idle(table):
        was, now = (
            ", ".join(f"{each} s" for each in declared.idle(table)[new.topics[table][1].name])
            for declared in (old, new)
        )
        message = "while nothing comes, time passes at other moments from now on; what came too late before stays out"
        yield Reason(
            Verdict.FORWARD, new.topics[table][1].place, message, was, now, evidence=Evidence(key="idle_after")
        )


def edited_clock_columns(old: Landing, new: Landing) -> frozenset[str]:
    """Columns of a landing's clock whose meaning is another: it shows the newest event time of all that landed."""
    before, after = _by_topic(old), _by_topic(new)
    pairs = zip(before, after, strict=False)
    is_same = len(before) == len(after) and all(
        was.topic == now.topic and _timed(was) == _timed(now) and not _is_used_otherwise(was, now) for was, now in pairs
    )
    return frozenset() if is_same else frozenset({"event_time"})


def has_other_batches(old: Declared, new: Declared, table: str) -> bool:
    """Whether a clock has other rows: other topics land together, or time passes at other moments."""
    before, after = (_by_topic(declared.clocks[table]) for declared in (old, new))
    same_topics = [topic.topic for topic in before] == [topic.topic for topic in after]
    return not same_topics or old.idle(table) != new.idle(table)


def _by_topic(landing: Landing) -> list[Topic]:
    return sorted(landing.topics, key=lambda topic: topic.topic)


def _timed(topic: Topic) -> object:
    """What its event time is made of; the types of fields say how these are read."""
    found = event_times.of(topic)
    if not isinstance(found, SqlTime):
        return found
    inner = [event_times.within(topic, path) for path in expressions.paths_of(found.text)]
    types = [event_times.type_of(topic, path) if path else topic.ddl for path in inner if path is not None]
    return _of_topic(found.text, topic), types


def _is_used_otherwise(old: Topic, new: Topic) -> bool:
    """Whether other records are used; rules whose texts are the same are not looked into."""
    plain = [(topic.fields, topic.scalar, topic.null_key, topic.null_value, *_rules(topic)) for topic in (old, new)]
    return plain[0] != plain[1] and _used(old) != _used(new)


def _rules(topic: Topic) -> tuple[object, ...]:
    return topic.reject, topic.macros


def _used(topic: Topic) -> tuple[object, ...]:
    """What decides which records are used: each condition rejects on its own, whatever it is called."""
    rules = frozenset(_of_topic(text, topic) for _, text in topic.reject)
    return frozenset(topic.fields), topic.scalar, rules, topic.null_key, topic.null_value


def _named_rules(topic: Topic) -> list[tuple[str, str]]:
    return [(reason, _of_topic(text, topic)) for reason, text in topic.reject]


def _judging(topic: Topic) -> Mapping[str, str]:
    """By what a record is judged, as a file of sql/bronze/ says it."""
    fields = {f"schema.{each.name}": f"{each.type}{' not null' if each.required else ''}" for each in topic.fields}
    rules = {f"reject.{reason}": text for reason, text in topic.reject}
    allowed = {name: "allow" for name in ("null_key", "null_value") if getattr(topic, name)}
    scalar = {"schema": topic.scalar} if topic.scalar else {}
    return {**fields, **scalar, **rules, **allowed, **{macro.name: macro.text for macro in topic.macros}}


def _described(old: Mapping[str, str], new: Mapping[str, str]) -> tuple[str, str]:
    """The entries in which two mappings differ."""
    edited = [key for key in {**old, **new} if old.get(key) != new.get(key)]
    was, now = (", ".join(f"{key}: {found[key]}" for key in edited if key in found) for found in (old, new))
    return was, now


def _publish_reasons(then: Declared, now: Declared, table: str, rule: Rule) -> Iterator[Reason]:
    new = now.by_table[table]
    before, after = then.by_table[table].publish, new.publish
    if before is None and after is not None:
        message = "rows are sent from now on" if after.start == "latest" else "all its rows are sent"
        if after.start is None:
            message = "a table with rows is only sent if `start:` says which"
        yield _header(Verdict.KEEP, new, "publish", message, "", _text(after))
    elif before is not None and after is None:
        message = "rows are not sent any more; those that were stay on the topic"
        yield _header(Verdict.KEEP, new, "publish", message, _text(before))
    elif before is not None and after is not None:
        if _where(before) != _where(after):
            message = "rows that were sent stay on the old topic; the new one gets those from now on"
            yield _header(Verdict.FORWARD, new, "publish", message, _text(before), _text(after))
        elif _record(before, then, rule) != _record(after, now, rule):
            message = "records look different from now on; those that were sent stay"
            yield _header(Verdict.KEEP, new, "publish", message, _text(before), _text(after))


def _record(publish: Publish, declared: Declared, rule: Rule) -> Publish:
    """What the records look like, with the meaning of what makes one null."""
    return replace(publish, start=None, tombstone_when=rule(publish.tombstone_when, declared))


def _where(publish: Publish) -> tuple[str | None, ...]:
    return publish.topic, publish.topic_column, publish.suffix


def _test_reasons(before: Declared, now: Declared, table: str, rule: Rule) -> Iterator[Reason]:
    old, new = before.by_table[table], now.by_table[table]
    if _sets_aside(old, before, rule) != _sets_aside(new, now, rule):
        message = "rows that were set aside by the old tests stay out, and those that were stored stay"
        yield _header(Verdict.FORWARD, new, "tests", message)
    elif old.tests != new.tests:
        yield _header(Verdict.KEEP, new, "tests", "rows are held to the new tests from now on")


def _sets_aside(model: Model, declared: Declared, rule: Rule) -> list[tuple[object, ...]]:
    """The tests of a model whose failures are not stored, each as its meaning.

    Those of single rows are in no order. What one test for repeated values sets aside is none for the next.
    """
    found = [
        (test.kind, test.column or "", test.to or "", test.field or "", rule(test.fails, declared))
        for test in _aside(model)
    ]
    return [*sorted(each for each in found if each[0] != "unique"), *(each for each in found if each[0] == "unique")]


def _expression(text: str | None, declared: Declared, table: str, types: Mapping[str, str]) -> str:
    """An expression of a header, over columns whose types are known, in one form."""
    if text is None:
        return ""
    columns = {name: Atom("column", name, table, name) for name in types}
    return _in_one_form(text, columns, types, declared)


def _of_topic(text: str, topic: Topic) -> str:
    """An expression of a source in one form; its fields go before what a record has beside them."""
    declared = Declared((), (Landing(topic.name, (topic,), topic.place),), topic.macros)
    table = f"bronze.{topic.name}"
    data = Atom("column", "data", table, "data")
    columns = {name: Atom("column", name, table, name) for name, _ in LANDING_COLUMNS}
    columns |= {"data": data, **{each.name.lower(): data.member(each.name) for each in topic.fields}}
    types = {**dict(LANDING_COLUMNS), **{f"data.{each.name}": each.type for each in topic.fields}, "data": topic.ddl}
    return _in_one_form(text, columns, types, declared)


def _in_one_form(text: str, columns: Mapping[str, Atom], types: Mapping[str, str], declared: Declared) -> str:
    """An expression over columns of certain types; where these do not tell what it means, its words as they stand.

    A truth value is a rule, which holds where it is true.
    """
    column = of_atoms(lambda atom: canonical(types[atom.column]) if atom.column in types else None)
    try:
        trees = {name: terms.column(atom) for name, atom in columns.items()}
        types_of = partial(type_of, column=column)
        return terms.key(truths.condition(alone(text, trees, declared, types_of), types_of))
    except (HeadraceError, RecursionError, AttributeError, TypeError, ValueError, LookupError):
        called = (word for macro in named_in([text], declared.macros) for word in stretches.words_of(macro))
        return " ".join([*_words(text), *called])


def _words(text: str) -> Sequence[str]:
    try:
        return stretches.words(certain(f"select {text}", ""))
    except (InvalidProject, NotUnderstood):
        return [text]


def rule_columns(old: Model, new: Model, rule: str) -> frozenset[str]:
    """The columns that a rule of either header names.

    `rule` is `close_when`, `delete_when`, `tests` for those that set rows aside, or `publish` for the topic's column.
    """
    return frozenset(name for model in (old, new) for name in _rule_columns(model, rule))


def _rule_columns(model: Model, rule: str) -> Iterator[str]:
    if rule == "publish":
        yield from [model.publish.topic_column.lower()] if model.publish and model.publish.topic_column else []
    elif rule == "tests":
        for test in _aside(model):
            yield from [test.column.lower()] if test.column else _named(test.fails, model)
    elif (text := getattr(model, rule)) is not None:
        yield from _named(text, model)


def deciding_columns(old: Model, new: Model) -> frozenset[str]:
    """The columns by which it is decided which rows there are, and which of them end a key for those who read them.

    Of several rows of one key, their arrival decides which is the first, or the current one, and when a version begins.
    """
    rules = (rule_columns(old, new, rule) for rule in ("close_when", "delete_when", "tests"))
    keys = {name.lower() for model in (old, new) for name in (*model.once_per, *model.unique_key)}
    keys |= {"_arrival"} if keys or any(map(sets_repeats_aside, (old, new))) else set()
    sent = {name for model in (old, new) for text in _tombstones(model) for name in _named(text, model)}
    return frozenset(keys | sent).union(*rules)


def _aside(model: Model) -> list[DataTest]:
    return [test for test in model.tests if test.on_failure == "dead_letter"]


def sets_repeats_aside(model: Model) -> bool:
    """Whether a test keeps rows out because of earlier ones, as `once_per` does."""
    return any(test.kind == "unique" for test in _aside(model))


def looked_into(model: Model) -> frozenset[str]:
    """The tables into which tests look, whose failures are not stored."""
    return frozenset(test.to for test in _aside(model) if test.to is not None)


def _tombstones(model: Model) -> list[str]:
    return [model.publish.tombstone_when] if model.publish and model.publish.tombstone_when else []


def _named(text: str, model: Model) -> frozenset[str]:
    """The columns that an expression names; all, where that is not certain."""
    try:
        return frozenset(name.lower() for name in expressions.columns_of(text))
    except ValueError:
        return frozenset(name.lower() for name in model.output_columns or ())


def _text(value: object) -> str:
    """A value as a file says it."""
    if isinstance(value, Publish):
        return _publishing(value)
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)


def _publishing(publish: Publish) -> str:
    fields = ", ".join(f"{name}: {column}" for name, column in publish.value)
    parts = {"topic": publish.topic or f"{{column: {publish.topic_column}}}", "key": publish.key}
    parts["value"] = publish.value_column or f"{{{fields}}}"
    rest = {"tombstone_when": publish.tombstone_when, "start": publish.start}
    return ", ".join(f"{key}: {text}" for key, text in {**parts, **rest}.items() if text is not None)


def _header(verdict: Verdict, model: Model, key: str, message: str, was: str = "", now: str = "") -> Reason:
    """A reason that stands at a key of a header, or where that key would."""
    place = model.header_places.get(key, Place(model.path, 2))
    return Reason(verdict, place, message, was, now, evidence=Evidence(key=key))
