"""How a store's url and options are translated for Spark."""

from __future__ import annotations

import pytest

from headrace.errors import EnvironmentFault
from headrace.store.connectors import azure, s3
from headrace.store.connectors.places import Place
from headrace.store.hadoop import place_of

KEYS = {"aws_access_key_id": "id", "aws_secret_access_key": "hidden"}
LOCAL = {**KEYS, "aws_endpoint": "http://127.0.0.1:9000", "aws_allow_http": "true"}
ACCOUNT = "acme.dfs.core.windows.net"


def of_bucket(place: Place, bucket: str = "lake") -> dict[str, str]:
    start = f"spark.hadoop.fs.s3a.bucket.{bucket}."
    return {name.removeprefix(start): value for name, value in place.confs.items() if name.startswith(start)}


def of_azure(place: Place, account: str = ACCOUNT) -> dict[str, str]:
    start, end = "spark.hadoop.fs.azure.", f".{account}"
    confs = {name: value for name, value in place.confs.items() if name.startswith(start) and name.endswith(end)}
    return {name.removeprefix(start).removesuffix(end): value for name, value in confs.items()}


@pytest.mark.parametrize(
    ("url", "uri"),
    [
        ("s3://lake", "s3a://lake"),
        ("s3://lake/", "s3a://lake"),
        ("s3://lake/prod/a=1/", "s3a://lake/prod/a=1"),
        ("s3a://lake/prod", "s3a://lake/prod"),
        ("gs://lake/prod", "gs://lake/prod"),
        ("hdfs://namenode:8020/lake/prod/", "hdfs://namenode:8020/lake/prod"),
        ("hdfs://lake", "hdfs://lake"),
        (f"abfss://tables@{ACCOUNT}/prod", f"abfss://tables@{ACCOUNT}/prod"),
        ("file:///data/a%20b/", "file:///data/a b"),
        ("/data/lake", "file:///data/lake"),
        ("/", "file:///"),
    ],
)
def test_uri_is_as_hadoop_names_it(url: str, uri: str) -> None:
    assert place_of(url, {}).uri == uri


def test_options_of_hdfs_reach_spark() -> None:
    place = place_of("hdfs://lake/prod", {"dfs.client.use.datanode.hostname": "true"})
    assert place.confs["spark.hadoop.dfs.client.use.datanode.hostname"] == "true"
    assert place.jars == ()


def test_container_needs_its_account() -> None:
    options = {"azure_storage_account_name": "acme", "azure_storage_account_key": "hidden"}
    place = place_of("az://tables/prod", options)
    assert place.uri == f"abfss://tables@{ACCOUNT}/prod"
    assert of_azure(place) == {"account.auth.type": "SharedKey", "account.key": "hidden"}
    with pytest.raises(EnvironmentFault, match="azure_storage_account_name"):
        place_of("az://tables/prod", {})


def test_account_of_the_url_is_not_another_one() -> None:
    with pytest.raises(EnvironmentFault, match="other"):
        place_of(f"abfss://tables@{ACCOUNT}/prod", {"azure_storage_account_name": "other"})


EMULATOR = {
    "azure_storage_account_name": "devstoreaccount1",
    "azure_storage_account_key": "hidden",
    "azure_storage_endpoint": "http://127.0.0.1:10000/devstoreaccount1",
    "azure_allow_http": "true",
}


@pytest.mark.parametrize("url", ["az://lake/prod", "abfss://lake@devstoreaccount1.dfs.core.windows.net/prod"])
def test_emulator_of_azure_is_asked_as_blob_service(url: str) -> None:
    place = place_of(url, EMULATOR)
    assert place.uri == "abfs://lake@devstoreaccount1.dfs.core.windows.net/prod"
    assert of_azure(place, "devstoreaccount1.dfs.core.windows.net") == {
        "account.auth.type": "SharedKey",
        "account.key": "hidden",
        "abfs.endpoint": "127.0.0.1:10000",
        "account.hns.enabled": "false",
        "fns.account.service.type": "BLOB",
    }


def test_azure_without_encryption_is_for_all_accounts() -> None:
    confs = place_of("az://lake/prod", EMULATOR).confs
    assert confs["spark.hadoop.fs.azure.always.use.https"] == "false"
    assert confs["spark.hadoop.fs.azure.networking.library"] == "JDK_HTTP_URL_CONNECTION"


def test_azure_elsewhere_has_the_host_of_its_data_lake() -> None:
    options = {
        "azure_storage_account_name": "acme",
        "azure_storage_endpoint": "https://acme.blob.core.chinacloudapi.cn",
    }
    assert place_of("az://lake", options).uri == "abfss://lake@acme.dfs.core.chinacloudapi.cn"
    assert place_of("abfss://lake@acme.dfs.core.chinacloudapi.cn/a", options).uri.endswith(".cn/a")
    with pytest.raises(EnvironmentFault, match="is not at https://acme"):
        place_of(f"abfss://lake@{ACCOUNT}", options)


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("http://127.0.0.1:10000/acme", "azure_allow_http"),
        ("https://127.0.0.1:10000", "should be https://acme.blob.<domain>, or https://<host>:<port>/acme"),
        ("https://127.0.0.1:10000/other", "should be"),
        ("https://acme.blob.core.windows.net/acme/deeper", "should be"),
        ("127.0.0.1:10000/acme", "should be"),
    ],
)
def test_address_that_only_one_side_could_follow_is_refused(address: str, said: str) -> None:
    with pytest.raises(EnvironmentFault, match=said):
        place_of("az://lake", {"azure_storage_account_name": "acme", "azure_storage_endpoint": address})


@pytest.mark.parametrize(
    ("url", "jars"),
    [("s3://lake", ("s3",)), (f"abfss://lake@{ACCOUNT}", ("azure",)), ("gs://lake", ("gcs",)), ("/lake", ())],
)
def test_each_kind_of_bucket_has_its_jars(url: str, jars: tuple[str, ...]) -> None:
    assert place_of(url, {}).jars == jars


def test_own_endpoint_is_addressed_by_path() -> None:
    confs = of_bucket(place_of("s3://lake/prod", LOCAL))
    assert confs == {
        "performance.flags": "mkdir",
        "endpoint": "http://127.0.0.1:9000",
        "endpoint.region": "us-east-1",
        "connection.ssl.enabled": "false",
        "path.style.access": "true",
        "access.key": "id",
        "secret.key": "hidden",
        "aws.credentials.provider": "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
    }


def test_writes_to_s3_rename_nothing() -> None:
    assert s3.WRITES.items() <= place_of("s3://lake", {}).confs.items()


@pytest.mark.parametrize("url", ["gs://lake", f"abfss://lake@{ACCOUNT}"])
def test_other_stores_replace_a_checkpoints_file_by_renaming(url: str) -> None:
    confs = place_of(url, {}).confs
    (manager,) = (name for name in confs if name in s3.WRITES)
    assert confs[manager].endswith(".FileContextBasedCheckpointFileManager")


def test_committer_is_never_set_per_bucket() -> None:
    assert [name for name in of_bucket(place_of("s3://lake", LOCAL)) if "committer" in name] == []


def test_amazon_itself_needs_no_address() -> None:
    confs = of_bucket(place_of("s3://lake", {"aws_region": "eu-central-1"}))
    assert confs["endpoint.region"] == "eu-central-1"
    assert confs.keys() & {"endpoint", "path.style.access", "connection.ssl.enabled", "access.key"} == set()


def test_virtual_hosts_are_used_where_asked_for() -> None:
    options = {"aws_endpoint": "https://s3.example", "aws_virtual_hosted_style_request": "true"}
    confs = of_bucket(place_of("s3://lake", options))
    assert (confs["path.style.access"], confs["connection.ssl.enabled"]) == ("false", "true")


@pytest.mark.parametrize(
    ("options", "provider"),
    [
        ({}, "software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider"),
        ({"aws_skip_signature": "true"}, "org.apache.hadoop.fs.s3a.AnonymousAWSCredentialsProvider"),
        ({**KEYS, "aws_session_token": "t"}, "org.apache.hadoop.fs.s3a.TemporaryAWSCredentialsProvider"),
        (KEYS, "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider"),
    ],
)
def test_credentials_choose_their_provider(options: dict[str, str], provider: str) -> None:
    assert of_bucket(place_of("s3://lake", options))["aws.credentials.provider"] == provider


def test_encryption_is_that_of_the_store() -> None:
    options = {"aws_server_side_encryption": "aws:kms", "aws_sse_kms_key_id": "key"}
    confs = of_bucket(place_of("s3://lake", options))
    assert (confs["encryption.algorithm"], confs["encryption.key"]) == ("SSE-KMS", "key")


def test_azure_without_a_key_asks_its_identity() -> None:
    client = {f"azure_storage_{name}": name for name in ("client_id", "client_secret", "tenant_id")}
    managed, named = (of_azure(place_of(f"abfss://tables@{ACCOUNT}", options)) for options in ({}, client))
    assert managed["account.oauth.provider.type"].endswith("MsiTokenProvider")
    assert named["account.oauth2.client.endpoint"] == "https://login.microsoftonline.com/tenant_id/oauth2/token"
    assert of_azure(place_of(f"abfss://tables@{ACCOUNT}", {"azure_storage_sas_key": "x"}))["sas.fixed.token"] == "x"


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({}, "APPLICATION_DEFAULT"),
        ({"google_service_account": "/key.json"}, "SERVICE_ACCOUNT_JSON_KEYFILE"),
        ({"google_application_credentials": "/key.json"}, "SERVICE_ACCOUNT_JSON_KEYFILE"),
    ],
)
def test_google_is_reached_by_a_key_file_or_by_what_the_machine_has(options: dict[str, str], kind: str) -> None:
    assert place_of("gs://lake", options).confs["spark.hadoop.fs.gs.auth.type"] == kind


@pytest.mark.parametrize(
    ("url", "options", "said"),
    [
        ("s3://lake", {"aws_regoin": "x"}, f"aws_region?.*{', '.join(s3.OPTIONS)}"),
        ("az://lake", {"aws_region": "x"}, ", ".join(azure.OPTIONS)),
        ("gs://lake", {"google_skip_signature": "true"}, "google_skip_signature"),
        ("/lake", {"aws_region": "x"}, "A folder has none"),
        ("s3://lake", {"aws_access_key_id": "id"}, "aws_secret_access_key"),
        ("s3://lake", {"aws_endpoint": "http://127.0.0.1:1"}, "aws_allow_http"),
        ("s3://lake", {"aws_skip_signature": "perhaps"}, "true or false"),
        ("s3://lake", {"aws_server_side_encryption": "rot13"}, "AES256, aws:kms"),
        (f"abfss://tables@{ACCOUNT}", {"azure_storage_client_id": "x"}, "azure_storage_client_secret"),
        ("s3://", {}, "no bucket"),
        ("s3://lake/a b", {}, "letters"),
        ("s3://lake/a//b", {}, "letters"),
        ("s3://lake/../b", {}, "letters"),
        ("lake", {}, "absolute"),
        ("viewfs://lake", {}, "viewfs"),
        ("memory://lake", {}, "memory"),
    ],
)
def test_what_spark_cannot_follow_is_refused(url: str, options: dict[str, str], said: str) -> None:
    with pytest.raises(EnvironmentFault, match=said):
        place_of(url, options)


def test_secrets_are_not_shown() -> None:
    assert "hidden" not in repr(place_of("s3://lake", LOCAL))
