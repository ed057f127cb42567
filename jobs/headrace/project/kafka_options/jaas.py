"""`sasl.jaas.config` parsed as Kafka's Java client does, and its credentials as librdkafka's properties."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

# The tokens of Java's StreamTokenizer as JaasConfig of kafka-clients 3.9 and 4.3 sets it up: a number is no text.
_TOKEN = re.compile(
    r"""  [\x00- ]+ | /\*.*?(?:\*/|\Z) | /[^\r\n]*
        | (?P<mark>["']) (?P<quoted>(?:\\.|(?!(?P=mark))[^\\\r\n])*) (?P=mark)?
        | (?P<word>[A-Za-z_$\xa0-\U0010ffff][A-Za-z0-9_$.\xa0-\U0010ffff-]*)
        | (?P<sign>.)""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\([0-3][0-7]{0,2}|[4-7][0-7]?|.)", re.DOTALL)
_LETTERS = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_FLAGS = ("required", "requisite", "sufficient", "optional")


@dataclass(frozen=True)
class _Token:
    """A text, quoted or not, or a sign."""

    text: str | None = None
    sign: str | None = None


@dataclass(frozen=True)
class _Module:
    """A login module: librdkafka's properties by option, required options, and a pattern of those with no property."""

    properties: Mapping[str, str]
    needed: tuple[str, ...] = ()
    unsupported: str = "(?!)"
    fixed: Mapping[str, str] = field(default_factory=dict)


_NAME_AND_PASSWORD = {"username": "sasl.username", "password": "sasl.password"}
_CLIENT = {
    "clientId": "sasl.oauthbearer.client.id",
    "clientSecret": "sasl.oauthbearer.client.secret",
    "scope": "sasl.oauthbearer.scope",
}
_TICKET = {
    "principal": "sasl.kerberos.principal",
    "keyTab": "sasl.kerberos.keytab",
    "serviceName": "sasl.kerberos.service.name",
}
_MODULES = {
    "PlainLoginModule": _Module(_NAME_AND_PASSWORD, ("username", "password")),
    "ScramLoginModule": _Module(_NAME_AND_PASSWORD, ("username", "password"), unsupported="tokenauth"),
    "OAuthBearerLoginModule": _Module(_CLIENT, ("clientId", "clientSecret"), ".*", {"sasl.oauthbearer.method": "oidc"}),
    "Krb5LoginModule": _Module(_TICKET),
}


def credentials(text: str) -> dict[str, str]:
    """Return librdkafka's properties for a JAAS entry; a ValueError, which repeats no secret, if there are none."""
    name, options = _entry(text)
    module = _MODULES.get(name.rpartition(".")[2])
    if module is None:
        raise ValueError(f"the driver's client knows no login module but {', '.join(_MODULES)}")
    if missing := [key for key in module.needed if key not in options]:
        raise ValueError(f"it gives no {' and no '.join(missing)}")
    if any(re.fullmatch(module.unsupported, key) for key in options.keys() - module.properties.keys()):
        raise ValueError(f"of this module, the driver's client knows no options but {', '.join(module.properties)}")
    translated = {module.properties[key]: value for key, value in options.items() if key in module.properties}
    return {**module.fixed, **translated}


def _entry(text: str) -> tuple[str, dict[str, str]]:
    """The class and the options of the one login module of a text."""
    tokens = [*_tokens(text)]
    if len(tokens) < 2 or not tokens[0].text or (tokens[1].text or "").lower() not in _FLAGS:
        raise ValueError("it begins with the class of a login module, then `required`")
    end = next((at for at, token in enumerate(tokens) if token.sign == ";"), None)
    if end is None:
        raise ValueError("`;` is missing at its end, or the quote behind a value")
    if end + 1 < len(tokens):
        raise ValueError("it goes on behind the `;`: give one login module, and a value that holds `;` in quotes")
    return tokens[0].text, dict(_options(tokens[2:end]))


def _options(tokens: Sequence[_Token]) -> Iterator[tuple[str, str]]:
    for at in range(0, len(tokens), 3):
        name, equals, value = (*tokens[at : at + 3], _Token(), _Token())[:3]
        if name.text is None or equals.sign != "=" or value.text is None:
            raise ValueError("an option is a name, `=` and a value, in double quotes if it is more than a word")
        yield name.text, value.text


def _tokens(text: str) -> Iterator[_Token]:
    for found in _TOKEN.finditer(text):
        if found["mark"]:
            yield _Token(_ESCAPE.sub(_unescaped, found["quoted"]))
        elif found["word"] or found["sign"]:
            yield _Token(found["word"], found["sign"])


def _unescaped(escape: re.Match[str]) -> str:
    escaped = escape[1]
    return chr(int(escaped, 8)) if escaped[0] in "01234567" else _LETTERS.get(escaped, escaped)
