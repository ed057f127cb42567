"""Where two declarations were edited: stretches of their texts that differ, and by what a model reads each of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import islice

from headrace.errors import Place
from headrace.planning import stretches
from headrace.planning.declared import Declared
from headrace.planning.settings import edited_topic_columns, looked_into
from headrace.planning.stretches import Stretch
from headrace.project.declarations.macros import named_in
from headrace.project.declarations.settings import Settings
from headrace.project.model import Input, Landing, Macro, Model, Topic
from headrace.project.rules.duration_rules import IDLE_TICK


@dataclass(frozen=True)
class Edit:
    """One stretch of a text, or one value, that was edited.

    `table` is whose declaration it belongs to, `column` which field of a source it is, `variable` which variable.
    `through` says what brings it into the model that is looked at, if it is not the model's own text.
    """

    stretch: Stretch
    table: str = ""
    column: str = ""
    variable: str = ""
    through: str = field(default="", compare=False)

    @property
    def place(self) -> Place:
        """Its first word."""
        return self.stretch.first


class Edits:
    """The edits that reach each model, its own first, then those of what it reads, near ones first."""

    def __init__(self, old: Declared, new: Declared) -> None:
        self._old = old
        self._new = new
        self._of: dict[str, tuple[Edit, ...]] = {}
        self._own: dict[str, tuple[Edit, ...]] = {}

    def of(self, table: str) -> tuple[Edit, ...]:
        """All edits that reach a model."""
        if table not in self._of:
            self._of[table] = tuple(self._reaching(table))
        return self._of[table]

    def _reaching(self, table: str) -> Iterator[Edit]:
        yield from self._own_edits(table)
        waiting, seen = [*self._read(table, "")], {table}
        for name, through in waiting:
            if name not in seen:
                seen.add(name)
                yield from (replace(each, through=through) for each in self._own_edits(name))
                waiting += self._read(name, through)

    def _read(self, table: str, through: str) -> Iterator[tuple[str, str]]:
        """What a model reads, and what a reader of it calls the way there."""
        model = self._new.by_table.get(table)
        for ref in model.inputs if model else ():
            yield ref.table, through or f"{ref.table} ({_line(ref)})"
        for name in looked_into(model) if model else ():
            yield name, through or f"a test that looks into {name}"

    def _own_edits(self, table: str) -> tuple[Edit, ...]:
        if table not in self._own:
            model, source = self._new.by_table.get(table), self._source(table)
            found = self._in_model(model) if model else self._in_source(*source) if source else self._in_clock(table)
            self._own[table] = (*found, *self._in_landing(table))
        return self._own[table]

    def _in_landing(self, table: str) -> Iterator[Edit]:
        """Where a source has come to land with another landing."""
        (old, was), (new, now) = (declared.topics.get(table, (None, None)) for declared in (self._old, self._new))
        if old and new and was and now and old.name != new.name:
            place = new.place if was.place.path == now.place.path else now.place
            yield Edit(Stretch.at(place), table, "landing")

    def _in_clock(self, table: str) -> Iterator[Edit]:
        """The edits of the topics whose times a clock shows."""
        old, new = self._old.clocks.get(table), self._new.clocks.get(table)
        if old is None or new is None:
            return
        known, names = {topic.name for topic in old.topics}, {topic.name for topic in new.topics}
        for topic in new.topics:
            yield from (replace(each, table=table) for each in self._own_edits(f"bronze.{topic.name}"))
            if topic.name not in known:
                yield Edit(Stretch.at(topic.place), table)
        for topic in old.topics:
            if topic.name not in names:
                yield Edit(Stretch.at(_before(topic.place, new)), table)

    def _source(self, table: str) -> tuple[Topic, Topic] | None:
        old, new = self._old.topics.get(table), self._new.topics.get(table)
        return (old[1], new[1]) if old and new else None

    def _in_model(self, new: Model) -> Iterator[Edit]:
        old = self._old.by_table.get(new.table)
        if old is not None and old.text != new.text:
            yield from (Edit(each, new.table) for each in stretches.of_header(old.text, new.text, new.path))
            yield from (Edit(each, new.table) for each in stretches.of_query(old.text, new.text, old.path, new.path))
        yield from self._in_macros([new.text], new.table)
        for name, key in [*((each, "") for each in new.parameters), *self._in_header(new.table)]:
            if self._old.value(name) != self._new.value(name):
                place = self._new.places.get(f"vars.{name}", Place("manifest.yml"))
                yield Edit(Stretch.at(place), new.table, key, name, f"the variable {name}")
        if old is not None and _topic_of(old) != _topic_of(new) and "publish.topic" in new.header_places:
            place = new.header_places["publish.topic"]
            through = "" if place.path == new.path else "the name that the target has for its topic"
            yield Edit(Stretch.at(place), new.table, "publish", through=through)
        for key in _of_folders(old, new) if old else ():
            place = next(self._in_manifest(key, new), Place("manifest.yml"))
            yield Edit(Stretch.at(place), new.table, column=key, through=f"`+{key}` of its folder")

    def _in_header(self, table: str) -> Iterator[tuple[str, str]]:
        """The variables in a model's header, with their keys."""
        for model in self._new.models:
            if model.table == table:
                keys = {"remember": model.remember, "every": model.every}
                yield from ((value, key) for key, value in keys.items() if isinstance(value, str))

    def _in_macros(self, texts: list[str], table: str) -> Iterator[Edit]:
        for new in named_in(texts, self._new.macros):
            old = self._old.macro_texts.get(new.name)
            if old is None:
                yield Edit(Stretch.at(Place(new.path, 1)), table, through=f"the macro {new.name}")
            elif old.text != new.text:
                yield from _in_macro(old, new, table)

    def _in_manifest(self, key: str, model: Model) -> Iterator[Place]:
        """Where a setting of a model's folders stands, nearest first."""
        folders = (f"{model.layer}.{model.domain}.", f"{model.domain}.", f"{model.layer}.", "")
        names = (*(f"models.{folder}+{key}" for folder in folders), "models")
        yield from (self._new.places[name] for name in names if name in self._new.places)

    def _in_source(self, old: Topic, new: Topic) -> Iterator[Edit]:
        table = f"bronze.{new.name}"
        fields = [f"schema.{name}" for name in _differing(*(_fields_of(topic) for topic in (old, new)))]
        for key in fields:
            yield Edit(Stretch.at(_place(old, new, key)), table, key.replace("schema", "data", 1))
        if (old.scalar, bool(old.fields)) != (new.scalar, bool(new.fields)):
            yield Edit(Stretch.at(_place(old, new, "schema")), table, "data")
        yield from self._in_event_time(old, new, fields[:1])
        rules = [f"reject.{reason}" for reason in _differing(*([*topic.reject] for topic in (old, new)))]
        keys = ("topic", "null_key", "null_value")
        for key in (*rules, *(key for key in keys if getattr(old, key) != getattr(new, key))):
            yield Edit(Stretch.at(_place(old, new, key)), table, key)
        yield from self._in_macros([*new.expressions], table)
        if old.seeds != new.seeds:
            yield Edit(Stretch.at(_seed_place(old, new)), table, "seed")
        if self._old.idle(table) != self._new.idle(table):
            yield Edit(Stretch.at(self._idle_place(old, new)), table, "idle_after")

    def _in_event_time(self, old: Topic, new: Topic, fields: Sequence[str]) -> Iterator[Edit]:
        """Where the event time of a source has become another: at its text, or at what that is about."""
        if "event_time" not in edited_topic_columns(old, new):
            return
        table, is_text = f"bronze.{new.name}", _timing(old) != _timing(new)
        for key in ("event_time",) if is_text else fields:
            yield Edit(Stretch.at(_place(old, new, key)), table, "event_time")
        for each in self._in_macros([new.event_time or ""], table):
            yield replace(each, column="event_time")

    def _idle_place(self, old: Topic, new: Topic) -> Place:
        names = (each for each in (new.idle_after, IDLE_TICK) if isinstance(each, str))
        if old.idle_after != new.idle_after:
            return _place(old, new, "idle_after")
        edited = (name for name in names if self._old.value(name) != self._new.value(name))
        return next(
            (self._new.places[f"vars.{each}"] for each in edited if f"vars.{each}" in self._new.places), new.place
        )


def _timing(topic: Topic) -> tuple[str | None, str | None]:
    return topic.event_time, topic.event_time_unit


def _fields_of(topic: Topic) -> list[tuple[str, object]]:
    return [(field.name, (field.type, field.required)) for field in topic.fields]


def _differing(old: Sequence[tuple[str, object]], new: Sequence[tuple[str, object]]) -> list[str]:
    """The names under which two lists have other values or, if none has, the first that stands elsewhere."""
    was, now = dict(old), dict(new)
    found = sorted(name for name in {**was, **now} if was.get(name) != now.get(name))
    moved = (name for name, before in zip(now, was, strict=False) if name != before)
    return found or [*islice(moved, 1)]


def _of_folders(old: Model, new: Model) -> list[str]:
    """The settings that are others, and that neither header has."""
    names = (each.name for each in fields(Model) if each.name in Settings.model_fields)
    edited = [name for name in names if getattr(old, name) != getattr(new, name)]
    return [name for name in edited if name not in {**old.header_places, **new.header_places}]


def _topic_of(model: Model) -> str | None:
    return model.publish.topic if model.publish else None


def _line(ref: Input) -> str:
    return f"{ref.place.path}:{ref.place.line}"


def _in_macro(old: Macro, new: Macro, table: str) -> Iterator[Edit]:
    for each in stretches.of_macro(old, new):
        yield Edit(each, table, through=f"the macro {new.name}")


def _place(old: Topic, new: Topic, key: str) -> Place:
    """Where a key of a source stands or, if it is gone, the key before it."""
    places: Mapping[str, Place] = new.places
    if key in places or key not in old.places:
        return places.get(key, new.place)
    group = key.rpartition(".")[0]
    before = [each for each in old.places if old.places[each] < old.places[key] and each.rpartition(".")[0] == group]
    near = max((each for each in before if each in places), key=lambda each: old.places[each], default=group)
    return places.get(near, new.place)


def _before(gone: Place, landing: Landing) -> Place:
    """What is written last before a place where a topic stood."""
    written = [place for topic in landing.topics for place in (topic.place, *topic.places.values())]
    return max((place for place in (landing.place, *written) if place < gone), default=landing.place)


def _seed_place(old: Topic, new: Topic) -> Place:
    """The first line of a seed file that differs; a file that is not read any more has none."""
    file = new.places.get("seed.file")
    if file is None:
        return _place(old, new, "seed")
    was, now = ([(seed.key, seed.value) for seed in topic.seeds] for topic in (old, new))
    pairs = enumerate(zip(was, now, strict=False))
    at = next((at for at, (one, other) in pairs if one != other), min(len(was), len(now)))
    lines = [seed.line for seed in new.seeds]
    return replace(file, line=lines[at] if at < len(lines) else max(lines, default=1))
