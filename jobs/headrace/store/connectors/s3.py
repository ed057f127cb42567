"""S3 by Hadoop's connector S3A: nothing is renamed there, as a rename is a copy."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.errors import EnvironmentFault
from headrace.store.connectors.places import Options, Place, flag, joined, listed, parts, require

OPTIONS = (
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

_CLOUD = "org.apache.spark.internal.io.cloud"

WRITES: Mapping[str, str] = {
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

_QUICK: Mapping[str, str] = {"performance.flags": "mkdir"}
"""A new folder's parents are not asked whether they are files: two requests less for each of them."""

_ENCRYPTIONS: Mapping[str, str] = {"AES256": "AES256", "aws:kms": "SSE-KMS", "aws:kms:dsse": "DSSE-KMS"}

_SDK = "software.amazon.awssdk.auth.credentials"
_S3A = "org.apache.hadoop.fs.s3a"


def place(url: str, options: Options) -> Place:
    """Translate a bucket's url and options."""
    bucket, prefix = parts(url)
    confs = {**_QUICK, **_address(options), **_credentials(options), **_encryption(options)}
    per_bucket = {f"spark.hadoop.fs.s3a.bucket.{bucket}.{name}": value for name, value in confs.items()}
    return Place(joined(f"s3a://{bucket}", prefix), {**WRITES, **per_bucket}, ("s3",))


def _address(options: Options) -> dict[str, str]:
    confs: dict[str, str] = {}
    endpoint, hosted = options.get("aws_endpoint"), "aws_virtual_hosted_style_request"
    if endpoint is not None:
        plain = endpoint.startswith("http://")
        if plain and not flag(options, "aws_allow_http"):
            raise EnvironmentFault(f"{endpoint} is not encrypted. Set `aws_allow_http: true`, or use https.")
        confs = {"endpoint": endpoint, "connection.ssl.enabled": str(not plain).lower()}
    if endpoint is not None or hosted in options:
        confs["path.style.access"] = str(not flag(options, hosted)).lower()
    region = options.get("aws_region", "us-east-1" if endpoint is not None else None)
    return confs if region is None else {**confs, "endpoint.region": region}


def _credentials(options: Options) -> dict[str, str]:
    provider = "aws.credentials.provider"
    if flag(options, "aws_skip_signature"):
        return {provider: f"{_S3A}.AnonymousAWSCredentialsProvider"}
    keys = {"access.key": "aws_access_key_id", "secret.key": "aws_secret_access_key"}
    confs = {name: options[option] for name, option in keys.items() if option in options}
    if not confs:
        return {provider: f"{_SDK}.DefaultCredentialsProvider"}
    require(options, keys.values())
    if "aws_session_token" in options:
        token = {"session.token": options["aws_session_token"]}
        return {**confs, **token, provider: f"{_S3A}.TemporaryAWSCredentialsProvider"}
    return {**confs, provider: f"{_S3A}.SimpleAWSCredentialsProvider"}


def _encryption(options: Options) -> dict[str, str]:
    wanted = options.get("aws_server_side_encryption")
    if wanted is None:
        return {}
    if wanted not in _ENCRYPTIONS:
        raise EnvironmentFault(f"`aws_server_side_encryption: {wanted}` is not one of {listed(_ENCRYPTIONS)}.")
    key = options.get("aws_sse_kms_key_id")
    return {"encryption.algorithm": _ENCRYPTIONS[wanted]} | ({} if key is None else {"encryption.key": key})
