"""Patterns: each is written out, and none can take for ever."""

from __future__ import annotations

import pytest

from headrace.project.sql import sqltext
from headrace.project.sql.guard import runtimes
from headrace.project.sql.guard.regexes import Unclear

NEW = "sql/gold/shipping/new.sql"
FROM = "from stream bronze.orders"
ENDLESS = r"""
(a+)+
(a*)*
(a|a)*
(a|ab|b)*
(.*,)*
(.*)*x
(a|aa)+$
(x+x+)+y
^(([a-z])+.)+[A-Z]([a-z])+$
(a+)+\1$
(?:(?:a+)+)+$
(a+){2,}$
(a+){30}
(a+)*?$
(a{1,9}){1,30}$
((a{1,3}){1,3})*b
(a?){25}a{25}
(a?b?)*c
([a-z]+ ?)+$
(\w+\s?)*$
(\w|\d)+$
(\s*\w+\s*)*
([\w.-]+\.)+x
([a-zA-Z0-9_.-]+)*@x
(\p{L}+)*x
(\x61|\u0061)*b
([a-z&&[^b]]+)*x
(?i)(a|A)*$
(?x)( a + ) + # twice
(?=(a+)+b)a
(?>(a+)+b)
((a|b)+c?)*$
(?:[^"\\]|\\.|.)*"
""".strip().split("\n")
SANE = r"""
,
[.]
\|
[0-9]+
\s+
.*a.*b
^$
a++
(a++)+
(?>a+)+
(?>a|ab)+
(a|b)*
(foo|bar|baz)*
([a-z])([0-9])
(?:\d+,)*\d+
(a{0,3},)*b
a{2,}b{3}
[^,]*,[^,]*
[^\]]+
[]a]
[a-]
[a-z&&[^b]]+
\Qa+b\E
(['"]).*?\1
((?!--).)*--
(?i)hello|world
(?<year>\d{4})-(?<month>\d\d)
^[a-z]+(,[a-z]*)*$
^(\w+\.)*\w+$
(\d{1,3}\.){3}\d{1,3}
([0-9a-f]{2}:?)+
([0-9A-Fa-f]{2}[:-]){5}([0-9A-Fa-f]{2})
(\+?\d{1,3}[ -]?)?(\d{2,4}[ -]?){2,4}
[\p{L}\p{N}]+( [\p{L}\p{N}]+)*
"(?:[^"\\]|\\.)*"
^(?=.*[a-z])(?=.*\d).{8,}$
^[\w.+-]+@[\w-]+(\.[\w-]+)*$
^[A-Z][a-z]+(?: [A-Z][a-z]+)*$
^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,}$
^https?://([^/:]+)(:\d+)?(/[^?]*)?(\?.*)?$
(ERROR|WARN|INFO)\s+(\S+)\s+-\s+(.*)
^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?)?$
(([0-9a-fA-F]{1,4}:){7,7}[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,7}:|([0-9a-fA-F]{1,4}:){1,6}:[0-9a-fA-F]{1,4})
""".strip().split("\n")
REFUSED = [
    "key rlike data.pattern",
    "key rlike r'(a+)+$'",
    "key regexp '(a+)+$'",
    "not key rlike '(a|a)*$'",
    "key rlike '(\\\\w+\\\\s?)*$'",
    "`rlike`(key, '(a*)*$')",
    "regexp_like(key, '(a+)+$')",
    "regexp_like(regexp => '(a+)+$', str => key)",
    "regexp_replace(key, data.pattern, '')",
    "regexp_replace(key, '(.*,)*', '')",
    "regexp_extract(key, concat('(', key, ')'), 1)",
    "regexp_extract_all(key, '(a+)+$')",
    "regexp_count(key, '(a+)+$')",
    "regexp_instr(key, '(a+)+$')",
    "regexp_substr(key, '(a+)+$')",
    "split(key, data.separator)",
    "split(key, '(a+)+$')",
    "transform(data.items, i -> split(key, i.id))",
    "str_to_map(key, data.separator, ':')",
    "str_to_map(key, ',', '(:+)+$')",
    "parse_url(key, 'QUERY', data.name)",
    "try_parse_url(key, 'QUERY', '(a+)+$')",
    "key like data.pattern",
    "key like concat('%', data.name, '%')",
    "key ilike data.pattern",
    "key like any ('a%', data.pattern)",
    "key like '%a%a%a%a%a%a%a%a%'",
    "key rlike '(a'",
    "key rlike (select max(id) from silver.open_orders)",
]
ACCEPTED = [
    "key rlike '^[a-z]+(,[a-z]*)*$'",
    "key rlike r'\\d+'",
    "key rlike '\\\\d+'",
    "key rlike '(a++)+'",
    "key rlike :pattern",
    "split(key, ',')",
    "split(key, '')",
    "split(key, '[.]')",
    "split_part(key, data.separator, 1)",
    "regexp_replace(key, '[^0-9]', '')",
    "str_to_map(key)",
    "str_to_map(key, ',', ':')",
    "parse_url(key, 'HOST')",
    "parse_url(key, 'QUERY', 'id')",
    "key like 'a%b_c%'",
    "key not like 'it''s%'",
    "key like any ('a%', 'b%')",
    "contains(key, data.name)",
]


@pytest.mark.parametrize("pattern", ENDLESS)
def test_pattern_that_may_never_end_is_told(pattern: str) -> None:
    assert runtimes.is_endless(pattern)


@pytest.mark.parametrize("pattern", SANE)
def test_sane_pattern_passes(pattern: str) -> None:
    assert not runtimes.is_endless(pattern)


@pytest.mark.parametrize(
    "pattern", ["(a", "a)", "[a", "*a", "a{2", "\\", "(?a", "a" * 3000, "(" * 900 + "a" + ")" * 900]
)
def test_pattern_that_is_not_understood_is_unclear(pattern: str) -> None:
    with pytest.raises(Unclear):
        runtimes.is_endless(pattern)


def test_long_loop_is_judged_in_time() -> None:
    words = "|".join(f"word{number}" for number in range(250))
    assert not runtimes.is_endless(f"^({words})$")
    with pytest.raises(Unclear):
        runtimes.is_endless(f"({words})*")


@pytest.mark.parametrize("expression", REFUSED)
def test_pattern_in_a_query_is_refused(expression: str) -> None:
    costs = sqltext.read(f"select {expression} as a {FROM}", NEW).costs
    assert {finding.code for finding in costs.findings} == {"unbounded-pattern"}


@pytest.mark.parametrize("expression", ACCEPTED)
def test_pattern_in_a_query_passes(expression: str) -> None:
    assert sqltext.read(f"select {expression} as a {FROM}", NEW).costs.findings == ()


def test_header_may_allow_a_pattern(project_files) -> None:
    header = "/*\nOne row.\n\nmaterialized: append\nallow: {unbounded-pattern: our own team writes these}\n*/\n"
    project_files.write(NEW, f"{header}select key rlike topic as a {FROM}\n")
    assert project_files.findings() == []
