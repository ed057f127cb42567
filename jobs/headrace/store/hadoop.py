"""How Spark names a store and reaches it: the URI, Hadoop's confs and the jars, from a url and options.

A store is configured once, in object_store's names (`aws_region`); `place_of` translates them for Hadoop. Options of
HDFS have Hadoop's own names. Rules:

- Addresses and credentials are per bucket or account, so that a job may also read other buckets, in its own way;
  Google Cloud Storage has them only for all buckets at once.
- On S3, data files are written by the magic committer: multipart uploads that are completed when the job commits.
  Nothing is renamed, as a rename on S3 is a copy, and a failed task leaves no file that can be read. Uploads of a
  job that was killed stay incomplete; a lifecycle rule of the bucket should abort them after some days. Other
  writers' uploads are left alone.
- On S3, a checkpoint's file appears when its upload ends, again without a rename.
- An option that is not known here is refused: one side would follow it and the other would not.
- On HDFS, all is as Spark has it: what is written is renamed when it is whole.
- On Azure and Google Cloud Storage, a file of a checkpoint is renamed when it is whole, in place of what is there.
- Your own server, such as an emulator, is an endpoint with the account in its path; only Azure's Blob service
  can be one, as Hadoop's connector for Google Cloud Storage knows no other address than Google's.

Everything here is a pure function of its arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from headrace.errors import EnvironmentFault, did_you_mean
from headrace.store.connectors import azure, google, hdfs, s3
from headrace.store.connectors.places import Options, Place, flag, listed

ALLOW_HTTP = ("aws_allow_http", "azure_allow_http")
"""The options by which an address without encryption is allowed."""


def place_of(url: str, options: Options) -> Place:
    """Translate a store's url and options; whatever Spark could not follow is refused."""
    scheme = _scheme(url)
    if scheme not in _SCHEMES:
        raise EnvironmentFault(
            f"The store {url} cannot be reached from Spark: `{scheme}:` is not one of {listed(_SCHEMES)}."
            f"{did_you_mean(scheme, _SCHEMES)} Correct `store:` in conf/."
        )
    connector = _SCHEMES[scheme]
    _check(url, options, connector.options)
    return connector.place(url, options)


def known_options(url: str) -> tuple[str, ...]:
    """The options that a store of this url may have; none for a url that is not known."""
    return _SCHEMES[scheme].options if (scheme := _scheme(url)) in _SCHEMES else ()


def plain_http(options: Options) -> bool:
    """Whether the options allow an address without encryption."""
    return any(flag(options, name) for name in ALLOW_HTTP)


def _scheme(url: str) -> str:
    return url.partition("://")[0] if "://" in url else "file"


def _file(url: str, options: Options) -> Place:
    path = unquote(url.removeprefix("file://")) if url.startswith("file://") else url
    if not Path(path).is_absolute():
        raise EnvironmentFault(f"The store {url} is not an absolute path. Correct `store:` in conf/.")
    return Place(f"file://{path.rstrip('/') or '/'}")


@dataclass(frozen=True)
class _Connector:
    """The options that stores of a scheme may have, and their translation."""

    options: tuple[str, ...]
    place: Callable[[str, Options], Place]


_S3 = _Connector(s3.OPTIONS, s3.place)
_AZURE = _Connector(azure.OPTIONS, azure.place)
_SCHEMES: Mapping[str, _Connector] = {
    "s3": _S3,
    "s3a": _S3,
    "az": _AZURE,
    "abfss": _AZURE,
    "gs": _Connector(google.OPTIONS, google.place),
    "hdfs": _Connector(hdfs.OPTIONS, hdfs.place),
    "file": _Connector((), _file),
}


def _check(url: str, options: Options, known: tuple[str, ...]) -> None:
    unknown = [name for name in options if name not in known]
    if unknown:
        guess = did_you_mean(unknown[0], known)
        allowed = f"Known ones are {listed(known)}" if known else "A folder has none"
        raise EnvironmentFault(f"The store {url} has an option that is not known: {unknown[0]}.{guess} {allowed}.")
