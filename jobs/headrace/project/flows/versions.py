"""`<upsert>_versions`: every version of every key of an upsert, with `_valid_from` and `_valid_to`, to be looked up.

A version holds for what arrives after `_valid_from` and no later than `_valid_to`; null means that it is the current
one. A deletion ends a version and begins none. In the query that writes the upsert, the changes of the batch are among
its versions, so a lookup as of a row's arrival gives the same row wherever batches are cut.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from headrace.errors import Finding, Place
from headrace.project.declarations.modelfile import ModelFile
from headrace.project.model import Input, Model

SUFFIX = "_versions"
VALID_FROM = "_valid_from"
VALID_TO = "_valid_to"
COLUMNS = (VALID_FROM, VALID_TO)


def base(table: str, models: Mapping[str, Model]) -> Model | None:
    """Return the upsert whose versions a name stands for; None for any other name, also that of a model."""
    model = models.get(table.removesuffix(SUFFIX)) if table.endswith(SUFFIX) and table not in models else None
    return model if model is not None and has_versions(model) else None


def has_versions(model: Model) -> bool:
    """Return whether a model's changes have an order of arrival, as far as its text shows."""
    return model.materialized == "upsert" and "_arrival" in (model.output_columns or ("_arrival",))


def resolved(files: Sequence[ModelFile]) -> tuple[ModelFile, ...]:
    """The files, with each read of versions as a read of the upsert itself with `versions` set."""
    models = {file.model.table: file.model for file in files}
    return tuple(
        replace(file, model=replace(file.model, inputs=resolved_inputs(file.model.inputs, models))) for file in files
    )


def resolved_inputs(inputs: Iterable[Input], models: Mapping[str, Model]) -> tuple[Input, ...]:
    """Some references, with each of versions as one of the upsert itself with `versions` set."""
    found = ((ref, base(ref.table, models)) for ref in inputs)
    return tuple(ref if model is None else replace(ref, table=model.table, versions=True) for ref, model in found)


def stored_column(table: str, column: str, models: Mapping[str, Model]) -> tuple[str, str]:
    """Return the upsert and its column behind a column of versions; any other column as it is."""
    model = base(table, models)
    if model is None:
        return table, column
    return model.table, "_arrival" if column.lower() in COLUMNS else column


def misused(models: Mapping[str, Model]) -> Iterator[Finding]:
    """Find models with the name of another's versions, and versions that are streamed."""
    for model in models.values():
        of = models.get(model.table.removesuffix(SUFFIX)) if model.table.endswith(SUFFIX) else None
        if of is not None and has_versions(of):
            message = f"{model.table} is the name of the versions of {of.table}; rename this model"
            yield Finding(Place(model.path), "duplicate-model", message)
        for ref in model.inputs:
            if ref.versions and ref.stream:
                message = f"versions are looked up, and change when {ref.table} does; stream {ref.table} itself"
                yield Finding(ref.place, "not-allowed", f"{message}, or drop the word")
