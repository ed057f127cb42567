"""`sasl.jaas.config` read as Java reads it."""

from __future__ import annotations

import pytest

from headrace.project.kafka_options.jaas import credentials

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required"
OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"


@pytest.mark.parametrize(
    ("written", "password"),
    [
        ('"p w"', "p w"),
        ("'p w'", "p w"),
        (r'"a\"b"', 'a"b'),
        (r"'a\'b'", "a'b"),
        (r'"a\\b"', r"a\b"),
        (r'"\\\""', r"\""),
        (r'"a\tb\n"', "a\tb\n"),
        (r'"\101\7x\4777"', "A\7x'77"),
        (r'"\q"', "q"),
        ('"a\'b"', "a'b"),
        ("'a\"b'", 'a"b'),
        ('"a;b=c"', "a;b=c"),
        ('"//no /* comment"', "//no /* comment"),
        ('"pässwörd €𝄞"', "pässwörd €𝄞"),
        ('""', ""),
        ("secret", "secret"),
        ("se-cr_et$1.2", "se-cr_et$1.2"),
        ("pässwörd€𝄞", "pässwörd€𝄞"),
    ],
)
def test_password_is_what_java_reads(written, password):
    assert credentials(f"{PLAIN} username=ana password={written};")["sasl.password"] == password


@pytest.mark.parametrize(
    "text",
    [
        f'{SCRAM} username="ana" password="x";',
        f"{SCRAM} password = x username = ana ;\n",
        f"{SCRAM}\n  username=ana // who\n  /* and\n ; how */ password=x\n;",
        f"{SCRAM} serviceName=kafka username='ana' password=former password=x;",
        f"{SCRAM.upper().replace(SCRAM.split()[0].upper(), SCRAM.split()[0])} username=ana password=x;",
    ],
)
def test_entry_may_be_written_in_many_ways(text):
    assert credentials(text) == {"sasl.username": "ana", "sasl.password": "x"}


def test_client_of_oauth_is_translated():
    assert credentials(f"{OAUTH} clientId=ana clientSecret='x' scope=\"a b\";") == {
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.client.id": "ana",
        "sasl.oauthbearer.client.secret": "x",
        "sasl.oauthbearer.scope": "a b",
    }


def test_ticket_of_kerberos_is_translated():
    found = credentials(
        'com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true keyTab="/k" principal="a@B";'
    )
    assert found == {"sasl.kerberos.keytab": "/k", "sasl.kerberos.principal": "a@B"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "begins with"),
        ("s3krt", "begins with"),
        ("username=ana password=s3krt;", "begins with"),
        (f"{PLAIN.replace('required', 'needed')} username=ana password=s3krt;", "begins with"),
        (f'{PLAIN} username="ana" password="s3krt"', "`;` is missing"),
        (f'{PLAIN} username="ana" password="s3krt;', "`;` is missing"),
        (f"{PLAIN} username=ana password=s3/krt;", "`;` is missing"),
        (f"{PLAIN} username=ana password=s3;krt;", "behind the `;`"),
        (f"{PLAIN} username=ana password=s3; {SCRAM} username=ana password=krt;", "behind the `;`"),
        (f"{PLAIN} username=ana password=12345;", "an option is"),
        (f"{PLAIN} username=ana password=s3@krt;", "an option is"),
        (f"{PLAIN} username=ana password=s3 krt;", "an option is"),
        (f"{PLAIN} username=ana password=;", "an option is"),
        (f"{PLAIN} username=ana password;", "an option is"),
        (f"{PLAIN} username=ana;", "no password"),
        (f"{PLAIN};", "no username and no password"),
        (f'{SCRAM} username=ana password=s3krt tokenauth="true";', "no options but"),
        (f'{OAUTH} unsecuredLoginStringClaim_sub="s3krt";', "no clientId and no clientSecret"),
        (f"{OAUTH} clientId=ana clientSecret=s3krt extension_x=y;", "no options but"),
        ("software.amazon.msk.auth.iam.IAMLoginModule required;", "no login module but"),
    ],
)
def test_what_cannot_be_translated_is_an_error(text, reason):
    with pytest.raises(ValueError, match=reason) as caught:
        credentials(text)
    assert not any(part in str(caught.value) for part in ("ana", "s3", "krt"))
