"""How Spark names a store and reaches it: the URI, Hadoop's confs and the jars, from a url and obstore's options.

A store is configured once, in object_store's names (`aws_region`); `place_of` translates them for Hadoop. Rules:

- Addresses and credentials are per bucket or account, so that a job may also read other buckets, in its own way;
  Google Cloud Storage has them only for all buckets at once.
- On S3, data files are written by the magic committer: multipart uploads that are completed when the job commits.
  Nothing is renamed, as a rename on S3 is a copy, and a failed task leaves no file that can be read. Uploads of a
  job that was killed stay incomplete; a lifecycle rule of the bucket should abort them after some days. Other
  writers' uploads are left alone.
- On S3, a checkpoint's file appears when its upload ends, again without a rename.
- An option that is not known here is refused: one side would follow it and the other would not.

Everything here is a pure function of its arguments. The connectors for Azure and Google Cloud Storage are not among
our jars: the cluster brings them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import unquote

from headrace.errors import EnvironmentFault, did_you_mean

Options = Mapping[str, str]
JarSet = Literal["s3"]
"""A set of jars that not every session needs."""

S3_OPTIONS = (
    "aws_access_key_id",
    "aws_allow_http",
    "aws_endpoint",
    "aws_region",
    "aws_secret_access_key",
    "aws_server_side_encryption",
    "aws_session_token",
    "aws_skip_signature",
    "aws_sse_kms_key_id",
    "aws_virtual_hosted_style_request",
)
AZURE_OPTIONS = (
    "azure_storage_account_key",
    "azure_storage_account_name",
    "azure_storage_client_id",
    "azure_storage_client_secret",
    "azure_storage_sas_key",
    "azure_storage_tenant_id",
)
GOOGLE_OPTIONS = ("google_application_credentials", "google_service_account", "google_skip_signature")

_TRUE, _FALSE = frozenset(("1", "true", "on", "yes", "y")), frozenset(("0", "false", "off", "no", "n"))

_CLOUD = "org.apache.spark.internal.io.cloud"

S3_WRITES: Mapping[str, str] = {
    "spark.hadoop.fs.s3a.committer.name": "magic",
    # The process of a task commits it, so its uploads need no note in the bucket: eight requests less for each file.
    "spark.hadoop.fs.s3a.committer.magic.track.commits.in.memory.enabled": "true",
    # Otherwise each job aborts all uploads under its folder, also those of others.
    "spark.hadoop.fs.s3a.committer.abort.pending.uploads": "false",
    "spark.hadoop.mapreduce.outputcommitter.factory.scheme.s3a": "org.apache.hadoop.fs.s3a.commit.S3ACommitterFactory",
    "spark.sql.sources.commitProtocolClass": f"{_CLOUD}.PathOutputCommitProtocol",
    "spark.sql.parquet.output.committer.class": f"{_CLOUD}.BindingParquetOutputCommitter",
    "spark.sql.streaming.checkpointFileManagerClass": f"{_CLOUD}.AbortableStreamBasedCheckpointFileManager",
}
"""What a session needs to write to S3; without checkpoints on S3, leave out the last one.

None of it is per bucket: the committer reads only the job's confs and the file system also the bucket's, and where
they disagree about what is in memory, a job commits nothing and reports no error.
"""

_S3_QUICK: Mapping[str, str] = {"performance.flags": "mkdir"}
"""A new folder's parents are not asked whether they are files: two requests less for each of them."""

_ENCRYPTIONS: Mapping[str, str] = {"AES256": "AES256", "aws:kms": "SSE-KMS", "aws:kms:dsse": "DSSE-KMS"}

_SDK = "software.amazon.awssdk.auth.credentials"
_S3A = "org.apache.hadoop.fs.s3a"
_ABFS = "org.apache.hadoop.fs.azurebfs.oauth2"


@dataclass(frozen=True)
class Place:
    """A store as Spark knows it: confs to start a session with, and the jars that must be on its class path."""

    uri: str
    confs: Mapping[str, str] = field(default_factory=dict, repr=False)
    jars: tuple[JarSet, ...] = ()


def place_of(url: str, options: Options) -> Place:
    """Translate a store's url and options; whatever Spark could not follow is refused."""
    scheme = _scheme(url)
    if scheme not in _SCHEMES:
        raise EnvironmentFault(
            f"The store {url} cannot be reached from Spark: `{scheme}:` is not one of {_listed(_SCHEMES)}."
            f"{did_you_mean(scheme, _SCHEMES)} Correct `store:` in conf/."
        )
    known, translate = _SCHEMES[scheme]
    _check(url, options, known)
    return translate(url, options)


def known_options(url: str) -> tuple[str, ...]:
    """The options that a store of this url may have; none for a url that is not known."""
    return _SCHEMES[scheme][0] if (scheme := _scheme(url)) in _SCHEMES else ()


def plain_http(options: Options) -> bool:
    """Whether the options allow an address without encryption."""
    return _flag(options, "aws_allow_http")


def jars_for(url: str) -> tuple[JarSet, ...]:
    """Return the sets of jars that a store needs beside those that every session has."""
    return ("s3",) if url.startswith(("s3://", "s3a://")) else ()


def _scheme(url: str) -> str:
    return url.partition("://")[0] if "://" in url else "file"


def _s3(url: str, options: Options) -> Place:
    bucket, prefix = _parts(url)
    confs = {**_S3_QUICK, **_s3_address(options), **_s3_credentials(options), **_s3_encryption(options)}
    per_bucket = {f"spark.hadoop.fs.s3a.bucket.{bucket}.{name}": value for name, value in confs.items()}
    return Place(_joined(f"s3a://{bucket}", prefix), {**S3_WRITES, **per_bucket}, jars_for(url))


def _s3_address(options: Options) -> dict[str, str]:
    confs: dict[str, str] = {}
    endpoint, hosted = options.get("aws_endpoint"), "aws_virtual_hosted_style_request"
    if endpoint is not None:
        plain = endpoint.startswith("http://")
        if plain and not _flag(options, "aws_allow_http"):
            raise EnvironmentFault(f"{endpoint} is not encrypted. Set `aws_allow_http: true`, or use https.")
        confs = {"endpoint": endpoint, "connection.ssl.enabled": str(not plain).lower()}
    if endpoint is not None or hosted in options:
        confs["path.style.access"] = str(not _flag(options, hosted)).lower()
    region = options.get("aws_region", "us-east-1" if endpoint is not None else None)
    return confs if region is None else {**confs, "endpoint.region": region}


def _s3_credentials(options: Options) -> dict[str, str]:
    provider = "aws.credentials.provider"
    if _flag(options, "aws_skip_signature"):
        return {provider: f"{_S3A}.AnonymousAWSCredentialsProvider"}
    keys = {"access.key": "aws_access_key_id", "secret.key": "aws_secret_access_key"}
    confs = {name: options[option] for name, option in keys.items() if option in options}
    if not confs:
        return {provider: f"{_SDK}.DefaultCredentialsProvider"}
    _require(options, keys.values())
    if "aws_session_token" in options:
        token = {"session.token": options["aws_session_token"]}
        return {**confs, **token, provider: f"{_S3A}.TemporaryAWSCredentialsProvider"}
    return {**confs, provider: f"{_S3A}.SimpleAWSCredentialsProvider"}


def _s3_encryption(options: Options) -> dict[str, str]:
    wanted = options.get("aws_server_side_encryption")
    if wanted is None:
        return {}
    if wanted not in _ENCRYPTIONS:
        raise EnvironmentFault(f"`aws_server_side_encryption: {wanted}` is not one of {_listed(_ENCRYPTIONS)}.")
    key = options.get("aws_sse_kms_key_id")
    return {"encryption.algorithm": _ENCRYPTIONS[wanted]} | ({} if key is None else {"encryption.key": key})


def _azure(url: str, options: Options) -> Place:
    authority, prefix = _parts(url)
    container, _, host = authority.partition("@")
    named = options.get("azure_storage_account_name")
    account = host.partition(".")[0] or named
    if account is None:
        raise EnvironmentFault(f"The store {url} does not say which account it is in: set azure_storage_account_name.")
    if named not in (None, account):
        raise EnvironmentFault(f"The store {url} is not in the account {named} that azure_storage_account_name says.")
    host = host or f"{account}.dfs.core.windows.net"
    confs = {f"spark.hadoop.fs.azure.{name}.{host}": value for name, value in _azure_credentials(options).items()}
    return Place(_joined(f"abfss://{container}@{host}", prefix), confs)


def _azure_credentials(options: Options) -> dict[str, str]:
    """Return the confs of an account; each name is followed by the account's host."""
    kind = "account.auth.type"
    if "azure_storage_account_key" in options:
        return {kind: "SharedKey", "account.key": options["azure_storage_account_key"]}
    if "azure_storage_sas_key" in options:
        return {kind: "SAS", "sas.fixed.token": options["azure_storage_sas_key"]}
    oauth = {kind: "OAuth"}
    if "azure_storage_client_id" not in options:
        return {**oauth, "account.oauth.provider.type": f"{_ABFS}.MsiTokenProvider"}
    _require(options, ("azure_storage_client_secret", "azure_storage_tenant_id"))
    login = f"https://login.microsoftonline.com/{options['azure_storage_tenant_id']}/oauth2/token"
    return oauth | {
        "account.oauth.provider.type": f"{_ABFS}.ClientCredsTokenProvider",
        "account.oauth2.client.endpoint": login,
        "account.oauth2.client.id": options["azure_storage_client_id"],
        "account.oauth2.client.secret": options["azure_storage_client_secret"],
    }


def _google(url: str, options: Options) -> Place:
    bucket, prefix = _parts(url)
    return Place(
        _joined(f"gs://{bucket}", prefix),
        {f"spark.hadoop.fs.gs.auth.{name}": value for name, value in _google_credentials(options).items()},
    )


def _google_credentials(options: Options) -> dict[str, str]:
    if _flag(options, "google_skip_signature"):
        return {"type": "UNAUTHENTICATED"}
    file = options.get("google_service_account", options.get("google_application_credentials"))
    if file is None:
        return {"type": "APPLICATION_DEFAULT"}
    return {"type": "SERVICE_ACCOUNT_JSON_KEYFILE", "service.account.json.keyfile": file}


def _file(url: str, options: Options) -> Place:
    path = unquote(url.removeprefix("file://")) if url.startswith("file://") else url
    if not Path(path).is_absolute():
        raise EnvironmentFault(f"The store {url} is not an absolute path. Correct `store:` in conf/.")
    return Place(f"file://{path.rstrip('/') or '/'}")


_SCHEMES: Mapping[str, tuple[tuple[str, ...], Callable[[str, Options], Place]]] = {
    "s3": (S3_OPTIONS, _s3),
    "s3a": (S3_OPTIONS, _s3),
    "az": (AZURE_OPTIONS, _azure),
    "abfss": (AZURE_OPTIONS, _azure),
    "gs": (GOOGLE_OPTIONS, _google),
    "file": ((), _file),
}


def _check(url: str, options: Options, known: tuple[str, ...]) -> None:
    unknown = [name for name in options if name not in known]
    if unknown:
        guess = did_you_mean(unknown[0], known)
        allowed = f"Known ones are {_listed(known)}" if known else "A folder has none"
        raise EnvironmentFault(f"The store {url} has an option that is not known: {unknown[0]}.{guess} {allowed}.")


def _parts(url: str) -> tuple[str, str]:
    """Split into bucket and prefix; a prefix that Hadoop and object_store might encode differently is refused."""
    bucket, _, prefix = url.partition("://")[2].partition("/")
    if not bucket:
        raise EnvironmentFault(f"The store {url} names no bucket. Correct `store:` in conf/.")
    steps = prefix.strip("/").split("/") if prefix.strip("/") else []
    if not all(re.fullmatch(r"[\w.=-]+", step, re.ASCII) and step not in {".", ".."} for step in steps):
        raise EnvironmentFault(f"The folder in {url} may have only letters, digits and `_ . = -`.")
    return bucket, "/".join(steps)


def _joined(root: str, prefix: str) -> str:
    return f"{root}/{prefix}" if prefix else root


def _require(options: Options, names: Iterable[str]) -> None:
    missing = [name for name in names if name not in options]
    if missing:
        raise EnvironmentFault(f"The store's options lack {missing[0]}. Correct `store:` in conf/.")


def _flag(options: Options, name: str) -> bool:
    value = options.get(name, "false")
    if value.lower() not in _TRUE | _FALSE:
        raise EnvironmentFault(f"`{name}: {value}` should be true or false. Correct `store:` in conf/.")
    return value.lower() in _TRUE


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)
