"""What is stored of an upsert is made of what its own text says, whatever else runs beside it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headrace.project import loader
from headrace.project.model import Macro
from headrace.queries import outputs
from headrace.queries.outputs import UpsertOutput

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("close_when", "called"),
    [("is_done(missing)", ["text of none", "text of is_done, which calls none()"]), ("size(missing) = 0", [])],
)
def test_closed_keys_depend_on_no_macro_of_another_model(
    monkeypatch: pytest.MonkeyPatch, close_when: str, called: list[str]
) -> None:
    texts = {"none": "text of none", "is_done": "text of is_done, which calls none()", "other": "text of other"}
    macros = [Macro(name, f"{name}.sql", text) for name, text in texts.items()]
    made: list[Any] = []
    monkeypatch.setattr(outputs, "KeyIndex", lambda *words: made.append(words[-1]))
    model = replace(loader.load(ROOT, "test").model("silver.open_orders"), close_when=close_when)
    monkeypatch.setattr(outputs, "KeyedState", lambda *_: None)
    monkeypatch.setattr(outputs, "Stored", type("Stored", (), {"beside": lambda *_: None}))
    anything: Any = type("Anything", (), {"session": None})()
    UpsertOutput(anything, model, anything, ROOT, macros)
    assert made == [called]
