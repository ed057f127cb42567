"""Edits of what models are made with: variables, macros, sources, seeds, settings; and watermarks."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from random import Random

from tests.plan.generated.domains import MANIFEST

Files = Mapping[str, str]
Edited = tuple[str, str, bool]
"""The path and text of a file that was edited, and whether the edit leaves the meaning."""


def variable(files: Files, random: Random) -> Edited | None:
    """Another value of a variable that some model names."""
    used = [
        name
        for name in _variables(files)
        if any(f":{name}" in text for path, text in files.items() if path.endswith(".sql"))
    ]
    if not used:
        return None
    name = random.choice(used)
    found = re.search(rf"(?m)^  {name}: ([^#\n]*?)(\s*#.*)?$", files[MANIFEST])
    assert found is not None
    value = found[1]
    if value.isdigit():
        value = random.choice((f"{value}.0", str(int(value) + 1), str(int(value) * 2), str(max(int(value) // 2, 1))))
    elif value == "every_update":
        value = random.choice(("once", "reset_on_hit"))
    elif value == "null":
        value = "30"
    elif value.startswith("["):
        names = [each.strip() for each in value[1:-1].split(",")]
        value = random.choice((f"[{', '.join(names[1:])}]", f"[{', '.join([*names, 'a'])}]"))
    return MANIFEST, f"{files[MANIFEST][: found.start(1)]}{value}{files[MANIFEST][found.end(1) :]}", False


def unused_variable(files: Files, random: Random) -> Edited | None:
    """A variable that nobody names."""
    return MANIFEST, files[MANIFEST].replace("vars:", "vars:\n  nobody_knows: 1 #", 1), True


def write_out(files: Files, random: Random) -> Edited | None:
    """The value of a variable in the place of its name."""
    values = {name: value for name, value in _variables(files).items() if value.isdigit() or value == "every_update"}
    found = [
        (path, name)
        for path, text in files.items()
        if path.endswith(".sql") and path.startswith("sql/")
        for name in values
        if re.search(rf":{name}\b", text.split("*/", 1)[-1])
    ]
    if not found:
        return None
    path, name = random.choice(found)
    value = values[name] if values[name].isdigit() else f"'{values[name]}'"
    header, end, body = files[path].partition("*/")
    return path, f"{header}{end}{re.sub(rf':{name}', lambda _: value, body, count=1)}", True


def watermark(files: Files, random: Random) -> Edited | None:
    """Another delay of a watermark."""
    found = [
        (path, each)
        for path, text in files.items()
        for each in re.finditer(r"delay of interval (:?\w+) (second|minute)(s?)", text)
    ]
    if not found:
        return None
    path, each = random.choice(found)
    seconds = {"1 minute": "60 seconds", "10 minutes": "600 seconds"}.get(each[0].removeprefix("delay of interval "))
    same = seconds is not None and random.random() < 0.5
    clause = f"delay of interval {seconds if same else '3 minutes'}"
    return path, f"{files[path][: each.start()]}{clause}{files[path][each.end() :]}", same


def macro(files: Files, random: Random) -> Edited | None:
    """A number, a comparison or the layout in a macro that some model calls."""
    names = [path for path in files if path.startswith("macros/")]
    texts = [text for path, text in files.items() if path.startswith("sql/")]
    used = [path for path in names if any(f"{path[7:-4]}(" in text for text in texts)]
    if not used:
        return None
    path = random.choice(used)
    start = files[path].index("\nreturn ")
    body = files[path][start:]
    kind = random.choice(("layout", "comment", "comparison", "number", "text"))
    if kind == "layout":
        return path, files[path][:start] + body.replace("\n", "\n  "), True
    if kind == "comment":
        return path, f"-- It was always so.\n{files[path]}", True
    pattern = {"comparison": r" (=|<|>|<=|>=) ", "number": r"\b(\d+)\b", "text": r"'(\w+)'"}[kind]
    found = [*re.finditer(pattern, body)]
    if not found:
        return None
    one = random.choice(found)
    other = {"comparison": random.choice(("=", "<", ">=")), "number": "3", "text": "other"}[kind]
    return path, files[path][:start] + body[: one.start(1)] + other + body[one.end(1) :], other == one[1]


def unrelated_macro(files: Files, random: Random) -> Edited | None:
    """A macro more, which nobody calls."""
    text = "-- Twice a number.\ncreate temporary function doubled(number bigint)\nreturns bigint\nreturn number * 2\n"
    return "macros/doubled.sql", text, True


def source(files: Files, random: Random) -> Edited | None:
    """A description, field, rule or setting of a source."""
    path = next(each for each in files if each.startswith("sql/bronze/") and each.endswith(".yml"))
    text = files[path]
    edits: list[tuple[str, str, bool]] = [
        (r"description: (\w+)", r"description: Really \1", True),
        (r"^landing:", "# as agreed\nlanding:", True),
        (r"(\w+): bigint( not null)?", r"\1: int\2", False),
        (r" not null", "", False),
        (r"null_key: allow", "null_key: reject", False),
        (r"null_value: allow", "null_value: reject", False),
        (r"    event_time: .*\n", "", False),
        (r"empty_order: size\(items\) = 0", "empty_order: size(items) = 1", False),
        (r"    schema:\n", "    schema:\n      fresh: string\n", False),
    ]
    fitting = [edit for edit in edits if re.search(edit[0], text, re.MULTILINE)]
    pattern, other, same = random.choice(fitting)
    one = random.choice([*re.finditer(pattern, text, re.MULTILINE)])
    return path, f"{text[: one.start()]}{one.expand(other)}{text[one.end() :]}", same


def setting(files: Files, random: Random) -> Edited | None:
    """A setting of Spark."""
    entries = {
        "spark.sql.session.timeZone: Asia/Tokyo": False,
        "spark.sql.ansi.enabled: false": False,
        "spark.sql.caseSensitive: true": False,
        "spark.sql.shuffle.partitions: 3": True,
        "spark.executor.cores: 1": True,
    }
    entry = random.choice([*entries])
    return (
        "conf/test.yml",
        files["conf/test.yml"].replace("spark: {", f"spark: {{conf: {{{entry}}}, ", 1),
        entries[entry],
    )


AROUND: tuple[Callable[[Files, Random], Edited | None], ...] = (
    variable,
    unused_variable,
    write_out,
    watermark,
    macro,
    unrelated_macro,
    source,
    setting,
)


def _variables(files: Files) -> Mapping[str, str]:
    return dict(re.findall(r"(?m)^  (\w+): ([^#\n{]*?)\s*(?:#.*)?$", files[MANIFEST].split("models:")[0]))
