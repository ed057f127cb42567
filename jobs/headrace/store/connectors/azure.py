"""Azure's data lake by Hadoop's connector ABFS, or a server of one's own that speaks as its Blob service does."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from headrace.errors import EnvironmentFault
from headrace.store.connectors.places import RENAMED_CHECKPOINTS, Options, Place, flag, joined, parts, require

OPTIONS = (
    "azure_allow_http",
    "azure_storage_account_key",
    "azure_storage_account_name",
    "azure_storage_client_id",
    "azure_storage_client_secret",
    "azure_storage_endpoint",
    "azure_storage_sas_key",
    "azure_storage_tenant_id",
)

_PLAIN_HTTP: Mapping[str, str] = {
    "spark.hadoop.fs.azure.always.use.https": "false",
    # Its other client does not start without encryption.
    "spark.hadoop.fs.azure.networking.library": "JDK_HTTP_URL_CONNECTION",
}
"""Without encryption are then only URIs that say so, by `abfs:`."""

_ABFS = "org.apache.hadoop.fs.azurebfs.oauth2"


def place(url: str, options: Options) -> Place:
    """Translate a container's url and options, whose account is named in either."""
    authority, prefix = parts(url)
    container, _, host = authority.partition("@")
    named = options.get("azure_storage_account_name")
    account = host.partition(".")[0] or named
    if account is None:
        raise EnvironmentFault(f"The store {url} does not say which account it is in: set azure_storage_account_name.")
    if named not in (None, account):
        raise EnvironmentFault(f"The store {url} is not in the account {named} that azure_storage_account_name says.")
    endpoint = _endpoint(options, account)
    host = host or endpoint.host
    if host != endpoint.host:
        raise EnvironmentFault(f"The store {url} is not at {options['azure_storage_endpoint']}. Correct `store:`.")
    confs = {**endpoint.confs, **_credentials(options)}
    per_account = {f"spark.hadoop.fs.azure.{name}.{host}": value for name, value in confs.items()}
    uri = joined(f"{endpoint.scheme}://{container}@{host}", prefix)
    return Place(uri, {**RENAMED_CHECKPOINTS, **endpoint.of_all, **per_account}, ("azure",))


@dataclass(frozen=True)
class _Endpoint:
    """Where an account is: Hadoop's name of its host and of the way there, and what Hadoop must know beside them.

    `of_all` are confs that Hadoop has for all accounts at once.
    """

    host: str
    scheme: str = "abfss"
    confs: Mapping[str, str] = field(default_factory=dict)
    of_all: Mapping[str, str] = field(default_factory=dict)


def _endpoint(options: Options, account: str) -> _Endpoint:
    """Translate the address of the Blob service; without one, it is Azure itself.

    A server that has its accounts as folders is no data lake: it is asked as Blob service, and not whether it is one.
    """
    address = options.get("azure_storage_endpoint")
    if address is None:
        return _Endpoint(f"{account}.dfs.core.windows.net")
    found = re.fullmatch(r"(https?)://([\w.-]+)(?::(\d+))?(?:/([\w-]+))?/?", address, re.ASCII)
    scheme, host, port, folder = found.groups() if found else ("", "", None, None)
    if scheme == "http" and not flag(options, "azure_allow_http"):
        raise EnvironmentFault(f"{address} is not encrypted. Set `azure_allow_http: true`, or use https.")
    if scheme == "https" and host.startswith(f"{account}.blob.") and (port, folder) == (None, None):
        return _Endpoint(host.replace(".blob.", ".dfs.", 1))
    if folder != account:
        wanted = f"https://{account}.blob.<domain>, or https://<host>:<port>/{account}"
        raise EnvironmentFault(f"`azure_storage_endpoint: {address}` should be {wanted}. Correct `store:` in conf/.")
    confs = {
        "abfs.endpoint": f"{host}:{port or {'http': 80, 'https': 443}[scheme]}",
        "account.hns.enabled": "false",
        "fns.account.service.type": "BLOB",
    }
    host = f"{account}.dfs.core.windows.net"
    if scheme == "https":
        return _Endpoint(host, confs=confs)
    return _Endpoint(host, "abfs", confs, _PLAIN_HTTP)


def _credentials(options: Options) -> dict[str, str]:
    """Return the confs of an account; each name is followed by the account's host."""
    kind = "account.auth.type"
    if "azure_storage_account_key" in options:
        return {kind: "SharedKey", "account.key": options["azure_storage_account_key"]}
    if "azure_storage_sas_key" in options:
        return {kind: "SAS", "sas.fixed.token": options["azure_storage_sas_key"]}
    oauth = {kind: "OAuth"}
    if "azure_storage_client_id" not in options:
        return {**oauth, "account.oauth.provider.type": f"{_ABFS}.MsiTokenProvider"}
    require(options, ("azure_storage_client_secret", "azure_storage_tenant_id"))
    login = f"https://login.microsoftonline.com/{options['azure_storage_tenant_id']}/oauth2/token"
    return oauth | {
        "account.oauth.provider.type": f"{_ABFS}.ClientCredsTokenProvider",
        "account.oauth2.client.endpoint": login,
        "account.oauth2.client.id": options["azure_storage_client_id"],
        "account.oauth2.client.secret": options["azure_storage_client_secret"],
    }
