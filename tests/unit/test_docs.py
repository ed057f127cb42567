"""The documents are correct: commands and options, examples, model files, reject reasons, links."""

from __future__ import annotations

import ast
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from headrace.cli.application import app
from headrace.project import loader
from headrace.project.declarations.header import HeaderKeys
from headrace.project.declarations.landings import TopicShape as TopicKeys
from headrace.project.model import LANDING_COLUMNS
from headrace.project.rules import checks
from tests.unit.test_cli import ended

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]


def commands(command: Any, name: str = "headrace") -> Iterator[tuple[str, Any]]:
    yield name, command
    for word, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, f"{name} {word}")


ALL = dict(commands(typer.main.get_command(app)))


def text_of(page: str) -> str:
    return (ROOT / page).read_text("utf-8")


def parsed(module: str) -> ast.Module:
    return ast.parse(text_of(module))


def sections() -> dict[str, str]:
    """What docs/commands.md says of each command, by its heading."""
    parts = re.split(r"^#+ (headrace.*)$", text_of("docs/commands.md"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def blocks(page: Path, kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)


def typed(page: Path) -> list[list[str]]:
    """The headrace commands that a page shows after a prompt, as words, without the target and what is passed on."""
    lines = [line for block in blocks(page, "console") for line in block.splitlines()]
    commands = [line.split(" -- ")[0] for line in lines if line.startswith("$ headrace ")]
    return [shlex.split(re.sub(r"^\$ headrace -t \w+", "headrace", line).removeprefix("$ ")) for line in commands]


def test_every_command_has_its_section() -> None:
    assert sorted(sections()) == sorted(ALL)


@pytest.mark.parametrize("name", ALL)
def test_help_has_an_example_of_the_command(name: str) -> None:
    examples = re.findall(r"^Example: (.*)$", ALL[name].help, flags=re.MULTILINE)
    assert [example.startswith("headrace ") and name.split()[-1] in example for example in examples] == [True]


@pytest.mark.parametrize("name", ALL)
def test_section_gives_the_example(name: str) -> None:
    (example,) = re.findall(r"^Example: .*$", ALL[name].help, flags=re.MULTILINE)
    assert example in sections()[name]


@pytest.mark.parametrize("name", [name for name in ALL if name != "headrace"])
def test_section_starts_as_the_help_does(name: str) -> None:
    assert sections()[name].strip().splitlines()[0] == ALL[name].help.splitlines()[0]


@pytest.mark.parametrize("name", ALL)
def test_section_has_every_option(name: str) -> None:
    documented = set(re.findall(r"`(-[-\w]+)", sections()[name]))
    options = [option for option in ALL[name].params if option.param_type_name == "option"]
    words = {word for option in options for word in (*option.opts, *option.secondary_opts)}
    assert words - {"--help", "-h"} <= documented


@pytest.mark.parametrize("name", ALL)
def test_section_has_no_option_too_many(name: str) -> None:
    documented = set(re.findall(r"^\| `(-[^|]*)` \|", sections()[name], flags=re.MULTILINE))
    words = {word for cell in documented for word in re.findall(r"-[-\w]+", cell)}
    options = {word for option in ALL[name].params for word in option.opts}
    assert words <= options | {"-h", "--help"}


@pytest.mark.parametrize("name", ALL)
def test_every_argument_and_option_has_help(name: str) -> None:
    assert [option.name for option in ALL[name].params if not option.help] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_on_a_page_exist(page: Path) -> None:
    unknown = []
    for words in typed(page):
        name = " ".join(words[:1])
        for word in words[1:]:
            if f"{name} {word}" not in ALL:
                break
            name += f" {word}"
        options = {word for option in ALL[name].params for word in option.opts}
        unknown += [word for word in words if word.startswith("-") and word not in options]
        unknown += [" ".join(words)] if hasattr(ALL[name], "commands") else []
    assert unknown == []


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "docs/models.md"], ids=lambda page: page.name)
def test_page_opens_with_a_model_as_it_stands(page: Path) -> None:
    assert blocks(page, "sql")[0] == text_of("sql/gold/shipping/shipment_ready.sql")


@pytest.mark.parametrize(
    ("page", "file"),
    [("docs/sources.md", "sql/bronze/shipping.yml"), ("docs/configuration.md", "conf/local.yml")],
)
def test_page_quotes_a_file_as_it_stands(page: str, file: str) -> None:
    assert any(block in text_of(file) for block in blocks(ROOT / page, "yaml"))


def test_new_model_of_the_readme_is_right(tmp_path: Path) -> None:
    for name in ("conf", "sql", "macros"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "manifest.yml", tmp_path)
    (tmp_path / "sql/gold/sales/big_sales.sql").write_text(blocks(ROOT / "README.md", "sql")[1], "utf-8")
    project = loader.load(tmp_path, "local")
    assert project.model("gold.big_sales").query == "big_sales"
    assert f"\n{len(project.models)} models, no findings\n" in text_of("README.md")


@pytest.mark.parametrize("command", ["ls --select shipping", "lineage gold.shipment_ready.completed_at"])
def test_sample_is_what_the_command_prints(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    samples = dict(block.split("\n", 1) for block in blocks(ROOT / "docs/commands.md", "console"))
    ended("-C", str(ROOT), *command.split())
    printed = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert samples[f"$ headrace {command}"].splitlines() == printed


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#:]+)\)", page.read_text("utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.parametrize(("page", "most"), [("README.md", 150), ("CONTRIBUTING.md", 85)])
def test_page_stays_short(page: str, most: int) -> None:
    assert len(text_of(page).splitlines()) <= most


def test_every_reject_reason_is_documented_in_its_order() -> None:
    nodes = parsed("jobs/headrace/landing/body.py").body  # read, not imported: that would need pyspark
    assigned = {ast.unparse(node.targets[0]): node.value for node in nodes if isinstance(node, ast.Assign)}
    table = text_of("docs/sources.md").split("## Reject reasons")[1].split("| the topic's own")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == [*ast.literal_eval(assigned["REASONS"])]


@pytest.mark.parametrize("key", HeaderKeys.model_fields)
def test_every_header_key_is_documented(key: str) -> None:
    assert f"`{key}`" in text_of("docs/models.md").split("## Header keys")[1].split("## Kinds")[0]


@pytest.mark.parametrize("key", [field.alias or name for name, field in TopicKeys.model_fields.items()])
def test_every_key_of_a_topic_is_documented(key: str) -> None:
    assert f"`{key}`" in text_of("docs/sources.md").split("## Reject reasons")[0]


@pytest.mark.parametrize("column", [name for name, _ in LANDING_COLUMNS])
def test_every_landing_column_is_documented(column: str) -> None:
    assert f"`{column}`" in text_of("docs/sources.md").split("## What lands")[1]


@pytest.mark.parametrize("module", sorted({rule.__module__ for rule in checks.RULES}))
def test_every_code_of_the_rules_is_documented(module: str) -> None:
    calls = [node for node in ast.walk(parsed(f"jobs/{module.replace('.', '/')}.py")) if isinstance(node, ast.Call)]
    findings = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "Finding"]
    codes = {part.value for call in findings for part in ast.walk(call.args[1]) if isinstance(part, ast.Constant)}
    assert codes
    assert [code for code in sorted(codes) if f"`{code}`" not in text_of("docs/models.md")] == []


def test_every_fault_names_the_tests_that_show_it() -> None:
    rows = [line for line in text_of("docs/faults.md").splitlines() if line.startswith("| ")][2:]
    shown = [re.findall(r"`(tests/[\w/]+[.]py)::(\w+)`", row.rsplit("|", 2)[1]) for row in rows]
    assert rows and all(shown)
    tests = {(file, name) for found in shown for file, name in found}
    assert sorted(each for each in tests if f"\ndef {each[1]}(" not in text_of(each[0])) == []
