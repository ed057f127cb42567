"""The guard fails closed: attacks in each place that takes SQL, and mutations of each that mean the same to Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
import yaml

from headrace.errors import InvalidProject
from headrace.project.declarations import macros
from headrace.project.sql import dialect, expressions, lexing, sqltext
from headrace.project.sql.guard import builtins, refusals, routines
from headrace.project.statement import bind
from headrace.reading.dialect import parsing, queries
from headrace.reading.dialect.complaints import NotKnown
from headrace.reading.dialect.queries import Table
from headrace.reading.dialect.types import BIGINT, STRING
from headrace.reading.rows import BadQuery

ATTACKS = yaml.safe_load(Path(__file__).with_name("attacks.yml").read_text("utf-8"))
READY = "sql/gold/shipping/shipment_ready.sql"
OPEN = "sql/silver/shipping/open_orders.sql"
QUERY = "select {} as a from stream bronze.orders"
MACRO = "create temporary function f(a int) returns string return {}"
ROWS = Table("x", (("order_id", STRING), ("n", BIGINT)))
OPEN_TO_A_PROJECT = frozenset({"a"})
"""What a project would allow beside Spark's functions: no attack is among them."""

SPACES = (
    " ",
    "\n",
    "\t",
    "\u00a0",
    "\u2003",
    "\u3000",
    "\r\n",
    "/**/",
    "/* ' */",
    '/* /* " */ ` */',
    "-- '\n",
    "-- \\\n'\n",
    "--\r",
)
AROUND = (
    "{}",
    "coalesce({}, 'x')",
    "concat('\\'', {}, '\\'')",
    "concat(r'\\', {}, r'')",
    "concat('--', {}, '/*')",
    "case when 'it''s' = 'x' then {} end",
    "array({})[0]",
)


def test_there_are_enough_attacks() -> None:
    assert sum(len(ATTACKS[kind]) for kind in ATTACKS if kind != "harmless") >= 220


def refuses_query(text: str) -> bool:
    """Whether a model of this text is refused in a project without macros."""
    try:
        found = sqltext.read(text, "m.sql")
    except InvalidProject:
        return True
    return bool([*routines.findings(found.unexplained, OPEN_TO_A_PROJECT), *found.costs.findings])


def refuses_expression(text: str) -> bool:
    try:
        expressions.columns_of(text)
        found = (*expressions.unexplained(text), *expressions.costs_of(text))
        return expressions.refusal(text) is not None or bool(found)
    except ValueError:
        return True


def refuses_macro(root: Path, text: str) -> bool:
    (root / "f.sql").write_text(text, "utf-8")
    try:
        found = macros.read(root, "f.sql")
        return bool(found.costs.findings) or any(call.name != "f" for call in found.unexplained)
    except InvalidProject:
        return True


@pytest.mark.parametrize("text", ATTACKS["expressions"])
def test_expression_is_refused_wherever_it_stands(text: str, tmp_path: Path) -> None:
    assert refuses_query(QUERY.format(text))
    assert refuses_query(f"select 1 as a from stream bronze.orders where ({text}) is not null")
    assert refuses_expression(text)
    assert refuses_expression(f"({text}\n) is null")
    assert refuses_macro(tmp_path, MACRO.format(text))


@pytest.mark.parametrize("text", ATTACKS["queries"])
def test_query_is_refused(text: str) -> None:
    assert refuses_query(text)


@pytest.mark.parametrize("text", ATTACKS["macros"])
def test_macro_is_refused(text: str, tmp_path: Path) -> None:
    assert refuses_macro(tmp_path, text)


@pytest.mark.parametrize("text", ATTACKS["questions"])
def test_question_without_spark_is_refused(text: str) -> None:
    with pytest.raises((BadQuery, NotKnown)):
        tree = parsing.condition(text)
        queries.condition(text, tree, "t", ROWS, "--spark")
    with pytest.raises((BadQuery, NotKnown)):
        asked = f"select * from x where {text}"
        queries.translate(asked, parsing.query(asked), {"x": ROWS})


@pytest.mark.parametrize("text", ATTACKS["harmless"])
def test_harmless_text_passes(text: str) -> None:
    assert not refuses_query(QUERY.format(f"({text}\n)"))


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("sql/gold/shipping/shipment_ready.sql", "publish:", "log: {}\npublish:"),
        (
            "sql/gold/shipping/shipment_ready.sql",
            "value: {orderId: order_id}",
            "value: {{orderId: order_id}}, tombstone_when: {}",
        ),
        ("sql/gold/shipping/shipment_ready.sql", "publish:", "tests: {{rows: {{good: {}}}}}\npublish:"),
        ("sql/silver/shipping/open_orders.sql", "unique_key:", "delete_when: {}\nunique_key:"),
        ("sql/silver/shipping/open_orders.sql", "unique_key:", "close_when: {}\nunique_key:"),
        ("sql/bronze/shipping.yml", "id <> key", "{}"),
        ("sql/bronze/shipping.yml", "event_time: orderDate", "event_time: {}"),
        ("manifest.yml", "gold: {+materialized: append}", "gold: {{+materialized: append, +log: {}}}"),
    ],
)
@pytest.mark.parametrize("attack", ["reflect ('a', 'b')", "my_udf(1)", "current_user()", "space(2000000000)"])
def test_attack_in_a_file_is_a_finding_at_its_place(project_files, path: str, old: str, new: str, attack: str) -> None:
    project_files.edit(path, old, new.format(f'"{attack}"'))
    found = project_files.findings()
    assert len(found) >= 1
    assert all(each.split(" ")[1] == "not-allowed" and ":" in each for each in found)


def test_manifest_allows_a_function_for_a_reason(project_files) -> None:
    project_files.edit(
        "sql/gold/shipping/shipment_ready.sql", "select order_id", "select my_udf(order_id) as b, order_id"
    )
    assert [each.split(" ")[1] for each in project_files.findings()] == ["not-allowed"]
    project_files.edit("manifest.yml", "vars:", "allow-functions: {my_udf: it only counts letters}\nvars:")
    assert project_files.findings() == []


def test_manifest_cannot_allow_what_leaves_sql(project_files) -> None:
    project_files.edit("manifest.yml", "vars:", "allow-functions: {reflect: we know what we do}\nvars:")
    assert [each.split(" ")[1] for each in project_files.findings()] == ["not-allowed"]


def test_name_of_a_field_cannot_end_its_quotes(project_files) -> None:
    project_files.edit("sql/bronze/shipping.yml", "productId: bigint", "'a` int> or reflect(1)': bigint")
    assert [each.split(" ")[1] for each in project_files.findings()] == ["bad-name"]


def test_name_of_a_column_cannot_end_its_quotes(project_files) -> None:
    project_files.edit(READY, "select order_id", "select 1 as `a``or``b`, order_id")
    assert [each.split(" ")[1] for each in project_files.findings()] == ["bad-name"]


def test_variable_stays_one_literal_of_an_interval(project_files) -> None:
    project_files.edit("manifest.yml", "vars: {limit: 2}", "vars: {limit: \"1' day or reflect('a', 'b') = '\"}")
    project_files.edit(READY, "item_count > :limit", "timestamp'2024-01-01' + interval :limit day > _arrival.landed_at")
    (model,) = [each for each in project_files.load().models if each.name == "shipment_ready"]
    found = bind(model, values=project_files.load().vars).sql
    assert [*routines.forbidden(found)] == []


def lexed(text: str) -> bool:
    """Whether a text is refused by what Spark's lexer sees of it, without a tree."""
    other = dialect.parse("select 1", "")
    return bool(
        any(lexing.strays(text))
        or any(routines.forbidden(text))
        or any(refusals.scripts(text))
        or any(routines.strange(text, other))
    )


CALLS = [text for text in ATTACKS["expressions"] if lexed(text) and not any(lexing.strays(text))]
OTHERS = [text for text in ATTACKS["expressions"] if not lexed(text)]


@pytest.mark.parametrize("attack", CALLS)
def test_mutation_of_a_call_is_seen(attack: str) -> None:
    chance = Random(attack)
    texts = [QUERY.format(mutated(attack, chance)) for _ in range(500)]
    assert [text for text in texts if not lexed(text)] == []
    assert [text for text in texts[:2] if not refuses_query(text)] == []


@pytest.mark.parametrize("attack", [*OTHERS, *ATTACKS["queries"]])
def test_mutation_of_what_a_tree_shows_is_refused(attack: str) -> None:
    chance, is_query = Random(attack), attack in ATTACKS["queries"]
    for _ in range(8):
        text = spaced(attack, chance) if is_query else QUERY.format(mutated(attack, chance))
        assert lexed(text) or refuses_query(text), text


def mutated(attack: str, chance: Random) -> str:
    """The same to Spark: other space, comments, case and quotes, inside other expressions."""
    text = spaced(attack, chance)
    for _ in range(chance.choice((0, 1, 2))):
        text = chance.choice(AROUND).format(f"{text}\n")
    return text


def spaced(attack: str, chance: Random) -> str:
    return "".join(_spaced(attack, chance))


def _spaced(attack: str, chance: Random) -> Iterator[str]:
    found = [piece for piece in lexing.pieces(attack) if piece[0] not in ("space", "comment")]
    for at, (kind, start, end) in enumerate(found):
        piece, following = attack[start:end], attack[end : end + 1]
        if kind == "name" and piece[0].isalpha() and piece.isascii():
            piece = "".join(chance.choice((letter.lower(), letter.upper())) for letter in piece)
            is_function = piece.lower() in (*builtins.NEVER, *builtins.UNLESS_ASKED) and following == "("
            if is_function and piece.lower() != "identifier" and chance.random() < 0.3:
                piece = chance.choice((f"`{piece}`", f"system.builtin.{piece}", f"Builtin . `{piece}`"))
        yield piece
        glued = at + 1 < len(found) and end == found[at + 1][1]
        if not glued or (chance.random() < 0.3 and not _joins(piece, following)):
            yield "".join(chance.choices(SPACES[:8] if piece == "-" else SPACES, k=chance.choice((1, 1, 2))))


def _joins(piece: str, following: str) -> bool:
    """Whether two pieces are one symbol, such as `->` or `|>`."""
    return not (piece[-1].isalnum() or following.isalnum() or piece in "(),'" or following in "(),'`")
