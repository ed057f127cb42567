"""Google Cloud Storage by Hadoop's connector, which has credentials only for all buckets at once."""

from __future__ import annotations

from headrace.store.connectors.places import RENAMED_CHECKPOINTS, Options, Place, joined, parts

OPTIONS = ("google_application_credentials", "google_service_account")


def place(url: str, options: Options) -> Place:
    """Translate a bucket's url and options."""
    bucket, prefix = parts(url)
    confs = {f"spark.hadoop.fs.gs.auth.{name}": value for name, value in _credentials(options).items()}
    return Place(joined(f"gs://{bucket}", prefix), {**RENAMED_CHECKPOINTS, **confs}, ("gcs",))


def _credentials(options: Options) -> dict[str, str]:
    file = options.get("google_service_account", options.get("google_application_credentials"))
    if file is None:
        return {"type": "APPLICATION_DEFAULT"}
    return {"type": "SERVICE_ACCOUNT_JSON_KEYFILE", "service.account.json.keyfile": file}
