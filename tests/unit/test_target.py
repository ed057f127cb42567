"""conf/<target>.yml."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.errors import EnvironmentFault, InvalidProject, UsageError
from headrace.project.declarations import target
from headrace.project.model import InputBounds


@pytest.fixture
def conf(tmp_path: Path):
    def read(text: str, **environ: str):
        (tmp_path / "conf").mkdir(exist_ok=True)
        (tmp_path / "conf" / "local.yml").write_text(text, encoding="utf-8")
        return target.read(tmp_path, "local", environ)

    return read


def findings(conf, text: str, **environ: str) -> list[tuple[int, int, str]]:
    with pytest.raises(InvalidProject) as caught:
        conf(text, **environ)
    return [(found.place.line, found.place.column, found.code) for found in caught.value.findings]


def test_values_are_read(conf, tmp_path):
    read = conf(
        "kafka: {bootstrap: 'h:1', create_topics: true, options: {session.timeout.ms: 6000, check.crcs: true}}\n"
        "data_dir: data\nspark: {master: 'local[2]', conf: {a.b: 1}}\n"
        "trigger: {ingest: 500ms, max_rows: 7}\nvars: {x: [1]}"
    )
    assert read.kafka.bootstrap == "h:1"
    assert read.kafka.create_topics
    assert read.kafka.options == {"session.timeout.ms": "6000", "check.crcs": "true"}
    assert read.data_dir == tmp_path / "data"
    assert (read.spark_master, read.spark_conf) == ("local[2]", {"a.b": "1"})
    assert (read.ingest_interval, read.max_rows, read.vars) == (0.5, 7, {"x": [1]})


def test_empty_file_gives_the_defaults(conf, tmp_path):
    read = conf("")
    assert read.kafka.bootstrap == "embedded"
    assert read.data_dir == tmp_path / ".headrace" / "local"


@pytest.mark.parametrize("bootstrap", ["a.b-c_d:9092", "h:1,10.0.0.1:65535", "h:1, [::1]:9092", "[fe80::1%eth0]:1"])
def test_brokers_have_hosts_and_ports(conf, bootstrap):
    assert conf(f"kafka: {{bootstrap: {bootstrap!r}}}").kafka.bootstrap == bootstrap


def test_home_folder_has_its_short_name(conf):
    assert conf("data_dir: ~/x").data_dir == Path.home() / "x"


@pytest.mark.parametrize(("text", "seconds"), [("1s", 1.0), ("500ms", 0.5), ("2m", 120.0), ("1.5h", 5400.0)])
def test_durations_have_units(conf, text, seconds):
    assert conf(f"trigger: {{ingest: {text}}}").ingest_interval == seconds


def test_environment_overrides_the_file(conf):
    read = conf(
        "kafka: {bootstrap: env:NOT_SET}\ndata_dir: here",
        HEADRACE_KAFKA_BOOTSTRAP="b:9092",
        HEADRACE_DATA_DIR="/elsewhere",
        HEADRACE_SMALL_BATCHES="jobs",
    )
    assert read.kafka.bootstrap == "b:9092"
    assert read.small_batches == "jobs"
    assert read.data_dir == Path("/elsewhere")


def test_references_are_resolved(conf, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("s3cret\n", encoding="utf-8")
    read = conf(
        f"kafka: {{options: {{client.id: env:USER_NAME, sasl.password: file:{secret}}}}}\n"
        "trigger: {max_rows: env:ROWS}",
        USER_NAME="u",
        ROWS="5",
    )
    assert read.kafka.options == {"client.id": "u", "sasl.password": "s3cret"}
    assert read.max_rows == 5


def test_file_uri_stays_a_uri(conf):
    assert conf("spark: {conf: {dir: 'file:///events'}}").spark_conf == {"dir": "file:///events"}


def test_secrets_do_not_show_in_repr(conf):
    assert "s3cret" not in repr(conf("kafka: {options: {sasl.password: env:PASSWORD}}", PASSWORD="s3cret"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("kafka: {options: {a: env:NOT_SET}}", (1, 22, "missing-reference")),
        ("kafka: {options: {a: file:/no/such/file}}", (1, 22, "missing-reference")),
        ("kafka:\n  options:\n    isolation.lvl: x", (3, 5, "unknown-key")),
        ("kafka:\n  options:\n    isolation.level: read_comitted", (3, 22, "bad-value")),
        ("kafka: {options: {session.timeout.ms: 6s}}", (1, 39, "bad-value")),
        ("kafka: {options: {ssl.truststore.location: /ca.jks}}", (1, 44, "bad-value")),
        ("trigger: {ingest: 5}", (1, 19, "bad-value")),
        ("trigger: {max_rows: 0}", (1, 21, "bad-value")),
        ("trigger: {ingets: 5s}", (1, 11, "unknown-key")),
        ("kafka: here", (1, 8, "bad-value")),
        ("kafka: {bootstrap: embeded}", (1, 20, "bad-value")),
        ("kafka: {bootstrap: host}", (1, 20, "bad-value")),
        ("kafka: {bootstrap: 'a:1,b'}", (1, 20, "bad-value")),
        ("kafka: {bootstrap: '::1:9092'}", (1, 20, "bad-value")),
        ("kafka: {bootstrap: 'a:0'}", (1, 20, "bad-value")),
        ("kafka: {bootstrap: 'a:65536'}", (1, 20, "bad-value")),
        ("kafka: {bootstrap: 'PLAINTEXT://a:1'}", (1, 20, "bad-value")),
        ("kafka: {bootstrap: ''}", (1, 20, "bad-value")),
        ("kafka: {topics: {a: b c}}", (1, 21, "bad-name")),
        ("kafka: {topics: {a: headrace-progress}}", (1, 21, "bad-name")),
        ("kafka: {topics: {a: }}", (1, 18, "bad-value")),
        ("data_dir: s3://bucket/x", (1, 11, "bad-value")),
        ("data_dir: dbfs:/x", (1, 11, "bad-value")),
        ("data_dir: file:///x", (1, 11, "bad-value")),
        ("data_dir: $HOME/x", (1, 11, "bad-value")),
        ("data_dir: /x/${HOME}", (1, 11, "bad-value")),
        ("data_dir: ~nobody/x", (1, 11, "bad-value")),
        ("data_dir: ''", (1, 11, "bad-value")),
        ("data_dir: 100%20", (1, 11, "bad-value")),
        *((f"data_dir: 'a{letter}b'", (1, 11, "bad-value")) for letter in "[]{}*?"),
        ("data_dir: 'C:\\x'", (1, 11, "bad-value")),
        ('data_dir: "a\\nb"', (1, 11, "bad-value")),
        ("store: /x/a%2Fb", (1, 8, "bad-value")),
        ("vars:", (1, 1, "bad-value")),
        ("- a", (1, 1, "bad-value")),
    ],
)
def test_broken_target_has_findings(conf, text, expected):
    assert findings(conf, text) == [expected]


def test_project_may_be_where_no_table_can_be(tmp_path, monkeypatch):
    (tmp_path / "50%" / "conf").mkdir(parents=True)
    (tmp_path / "50%" / "conf" / "local.yml").write_text("kafka: {}\n")
    with pytest.raises(InvalidProject, match=r"`data_dir`: .*50%.* name another folder"):
        target.read(tmp_path / "50%", "local", {})
    found = target.read(tmp_path / "50%", "local", {"HEADRACE_DATA_DIR": str(tmp_path)})
    assert found.data_dir == tmp_path


def test_data_directory_may_have_any_other_letter(conf, tmp_path):
    name = "it's #1 (x) ä \U0001f600 &;,:=+~^|<>"
    assert conf(f'data_dir: "{name}"').data_dir == tmp_path / name


def test_embedded_that_is_misspelt_has_advice(conf):
    with pytest.raises(InvalidProject, match=r"Did you mean embedded\?"):
        conf("kafka: {bootstrap: env:BROKER}", BROKER="embeded")


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("HEADRACE_DATA_DIR", "s3://b/x"),
        ("HEADRACE_DATA_DIR", "/x/a%20b"),
        ("HEADRACE_KAFKA_BOOTSTRAP", "embeded"),
        ("HEADRACE_SMALL_BATCHES", "driven"),
    ],
)
def test_variable_that_cannot_be_used_is_named(conf, variable, value):
    with pytest.raises(EnvironmentFault, match=f"{variable}: `{value}` (is|has) "):
        conf("", **{variable: value})


def test_cluster_has_names_for_topics(conf):
    kafka = conf("kafka: {topics: {shop-orders: eu.shop.orders}}").kafka
    assert (kafka.named("shop-orders"), kafka.named("payments")) == ("eu.shop.orders", "payments")


def test_unknown_kafka_option_has_the_nearest(conf):
    with pytest.raises(InvalidProject, match=r"conf/local.yml:1:19: unknown-key: .* Did you mean isolation.level\?"):
        conf("kafka: {options: {isolation.lvl: read_committed}}")


def test_credentials_do_not_show_in_findings(conf):
    with pytest.raises(InvalidProject, match=r"1:37: bad-value: `kafka.options.sasl.jaas.config`: ") as caught:
        conf("kafka: {options: {sasl.jaas.config: env:JAAS}}", JAAS='Plain required username="u" password="s3cret"')
    assert "s3cret" not in str(caught.value)


def test_unknown_target_lists_the_others(conf, tmp_path):
    conf("")
    (tmp_path / "conf" / "prod.yml").touch()
    with pytest.raises(UsageError, match=r"Did you mean local\? Targets here: local, prod"):
        target.read(tmp_path, "locall", {})


def test_mail_is_read_and_its_secret_stays_unseen(conf):
    mail = conf("mail: {host: h, sender: s@h, security: starttls, username: u, password: env:P}", P="secret").mail
    assert (mail.host, mail.port, mail.security, mail.password, mail.timeout) == ("h", 25, "starttls", "secret", 30.0)
    assert "secret" not in repr(mail)


@pytest.mark.parametrize("text", ["mail: {host: h}", "mail: {host: h, sender: s, security: no}"])
def test_mail_without_what_it_needs_is_refused(conf, text):
    with pytest.raises(InvalidProject):
        conf(text)


DEV = """
like: local
suffix: _ann
input: {start: 1h, max_records: 50}
kafka: {options: {client.rack: 2}}
vars: {y: 2}
"""


@pytest.fixture
def dev(tmp_path: Path, conf):
    def read(text: str, **environ: str):
        conf(
            "kafka: {bootstrap: 'h:1', options: {client.id: 1}, topics: {a: a1, b: b1}}\n"
            "data_dir: data\nvars: {x: 1, y: 1}"
        )
        (tmp_path / "conf" / "dev.yml").write_text(text, encoding="utf-8")
        return target.read(tmp_path, "dev", environ)

    return read


def test_target_takes_from_the_one_it_is_like_what_it_does_not_say(dev):
    read = dev(DEV)
    assert (read.kafka.bootstrap, read.kafka.options) == ("h:1", {"client.id": "1", "client.rack": "2"})
    assert read.vars == {"x": 1, "y": 2}


def test_target_like_another_keeps_its_own_tables_and_names(dev, tmp_path):
    read = dev(DEV)
    assert (read.data_dir, read.broker_of) == (tmp_path / ".headrace" / "dev", tmp_path / "data")
    assert (read.suffix, read.identity) == ("_ann", "dev_ann")


@pytest.mark.parametrize("folder", ["/elsewhere", "/elsewhere/"])
def test_environment_puts_the_two_beside_each_other(dev, folder):
    read = dev(f"{DEV}\ndata_dir: mine", HEADRACE_DATA_DIR=folder)
    assert (read.data_dir, read.broker_of) == (Path("/elsewhere-dev"), Path("/elsewhere"))


def test_topics_of_the_other_target_are_completed(dev):
    assert dev("like: local\nkafka: {topics: {b: b2, c: c2}}").kafka.topics == {"a": "a1", "b": "b2", "c": "c2"}


def test_keys_are_placed_where_they_are_written(dev):
    places = dev(DEV).places
    assert (str(places["vars.x"]), str(places["vars.y"])) == ("conf/local.yml:3:8", "conf/dev.yml:6:8")


def test_suffix_is_the_name_if_missing(dev):
    assert dev("like: local").suffix == "_dev"


@pytest.mark.parametrize(("text", "start"), [("1h", 3600.0), ("latest", "latest"), ("earliest", "earliest")])
def test_input_starts_where_it_says(dev, text, start):
    assert dev(f"like: local\ninput: {{start: {text}, max_records: 7}}").input == InputBounds(start, 7)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("like: locl", (1, 7, "bad-value")),
        ("like: dev", (1, 7, "bad-value")),
        ("like: local\ndata_dir: ./data", (2, 11, "bad-value")),
        ("like: local\nsuffix: a b", (2, 9, "bad-value")),
        ("like: local\ninput: {start: yesterday}", (2, 16, "bad-value")),
        ("like: local\ninput: {max_records: 0}", (2, 22, "bad-value")),
        ("suffix: _x", (1, 1, "bad-value")),
        ("input: {start: latest}", (1, 1, "bad-value")),
    ],
)
def test_broken_likeness_has_findings(dev, text, expected):
    with pytest.raises(InvalidProject) as caught:
        dev(text)
    assert [(found.place.line, found.place.column, found.code) for found in caught.value.findings] == [expected]


def test_kafka_option_of_the_other_target_is_reported_there(tmp_path):
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "dev.yml").write_text("like: local", encoding="utf-8")
    (tmp_path / "conf" / "local.yml").write_text("kafka: {options: {grup.id: x}}", encoding="utf-8")
    with pytest.raises(InvalidProject, match=r"conf/local.yml:1:19: unknown-key: .* Did you mean group.id\?"):
        target.read(tmp_path, "dev", {})


KEYS = "{aws_access_key_id: id, aws_secret_access_key: env:SECRET}"


def test_store_is_a_bucket_with_its_options(conf, tmp_path):
    read = conf(f"store: {{url: 's3://lake/shop', options: {KEYS}}}", SECRET="s3cret")
    assert str(read.layout.table("gold.t")) == "s3://lake/shop/tables/gold/t"
    assert read.place.uri == "s3a://lake/shop"
    assert read.store.bucket.options == {"aws_access_key_id": "id", "aws_secret_access_key": "s3cret"}
    assert (read.layout.logs, "s3cret" in repr(read)) == (tmp_path / ".headrace" / "local" / "logs", False)


@pytest.mark.parametrize("text", ["/lake", "file:///lake", "{url: /lake}"])
def test_store_in_a_folder_holds_the_data_only(conf, tmp_path, text):
    read = conf(f"store: {text}\ndata_dir: here")
    assert (read.layout.root, read.layout.logs, read.place) == (Path("/lake"), tmp_path / "here" / "logs", None)


def test_store_of_the_environment_takes_the_options_of_the_file(conf):
    read = conf("store: {url: s3://lake, options: {aws_region: r}}", HEADRACE_STORE="s3://other/shop")
    assert (str(read.store), read.store.bucket.options) == ("s3://other/shop", {"aws_region": "r"})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("store: {url: s3://lake, options: {aws_regoin: r}}", (1, 35, "unknown-key")),
        ("store: {url: /lake, options: {aws_region: r}}", (1, 31, "unknown-key")),
        ("store: {url: s4://lake/shop}", (1, 14, "bad-value")),
        ("store: s4://lake/shop", (1, 8, "bad-value")),
        ("store: dbfs:/lake", (1, 8, "bad-value")),
        ("store: s3://lake/a b", (1, 8, "bad-value")),
        ("store: {url: s3://lake, options: {aws_access_key_id: id}}", (1, 14, "bad-value")),
        ("store: {options: {}}", (1, 1, "missing-key")),
    ],
)
def test_store_that_cannot_be_used_has_a_finding(conf, text, expected):
    assert findings(conf, text) == [expected]


@pytest.mark.parametrize(
    ("text", "environ", "found"),
    [
        ("", {}, "s3://lake/shop-dev"),
        ("store: s3://mine", {}, "s3://mine"),
        ("", {"HEADRACE_STORE": "s3://other"}, "s3://other/dev"),
        ("", {"HEADRACE_STORE": "/data"}, "/data-dev"),
    ],
)
def test_target_like_another_has_a_store_of_its_own(tmp_path, text, environ, found):
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "local.yml").write_text("store: s3://lake/shop", encoding="utf-8")
    (tmp_path / "conf" / "dev.yml").write_text(f"like: local\n{text}", encoding="utf-8")
    assert str(target.read(tmp_path, "dev", environ).store) == found


def test_store_of_the_other_target_is_refused(tmp_path):
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "local.yml").write_text("store: s3://lake/shop", encoding="utf-8")
    (tmp_path / "conf" / "dev.yml").write_text("like: local\nstore: s3://lake/shop/", encoding="utf-8")
    with pytest.raises(InvalidProject, match=r"conf/dev.yml:2:8: bad-value: `store`: local keeps its tables there"):
        target.read(tmp_path, "dev", {})


def test_token_is_a_reference_and_stays_unseen(conf):
    read = conf("http: {token: env:T, hosts: [shop.example], rate: 5}", T="a-token-of-16-letters")
    assert (read.http.token, read.http.hosts, read.http.rate) == ("a-token-of-16-letters", ("shop.example",), 5)
    assert "a-token" not in repr(read)


@pytest.mark.parametrize("token", ["a-token-of-16-letters", "env:SHORT", "'file:///run/secrets/token'"])
def test_token_in_the_file_or_short_is_refused(conf, token):
    assert findings(conf, f"http: {{token: {token}}}", SHORT="short") == [(1, 15, "bad-value")]
