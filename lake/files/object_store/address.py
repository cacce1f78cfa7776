"""Addresses of object stores: service, bucket, and the key of a file.

A path is the whole address, for example `s3://bucket/warehouse/db.db/t/schema/schema-0`. Endpoint and credentials
are not part of it (`settings`).

| address | service |
|---|---|
| `s3://bucket/key`, `s3a://bucket/key` | S3 and compatible stores |
| `gs://bucket/key` | Google Cloud Storage |
| `az://container/key`, `abfs://…`, `abfss://…` | Azure; the account comes from the environment |
| `abfss://container@account.dfs.core.windows.net/key`, also with `az` and `abfs` | Azure, as Hadoop writes it |
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from braid.lake.errors import InvalidRequest, Problem


class Service(StrEnum):
    """A protocol of object stores."""

    S3 = "s3"
    GCS = "gs"
    AZURE = "az"


_SERVICES: Final = {
    "s3": Service.S3,
    "s3a": Service.S3,
    "gs": Service.GCS,
    "az": Service.AZURE,
    "abfs": Service.AZURE,
    "abfss": Service.AZURE,
}
SCHEMES: Final = tuple(_SERVICES)


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectAddress:
    """The address of a file or bucket.

    Attributes:
        service: Protocol of the store.
        root: Address of the bucket, as the path spells it: `s3://bucket`.
        bucket: Name of the bucket or container.
        account: Azure's account if the address names it; else None.
        key: Key inside the bucket, without slashes at its end; empty for the bucket itself.
    """

    service: Service
    root: str
    bucket: str
    account: str | None
    key: str


def is_object_address(uri: str) -> bool:
    """Return whether the address is that of an object store.

    Example:
        >>> is_object_address("s3://bucket/warehouse"), is_object_address("/data/warehouse")
        (True, False)
    """
    scheme, colon, _ = uri.partition("://")
    return bool(colon) and scheme in _SERVICES


def parse_object_address(uri: str) -> ObjectAddress:
    """Return the parts of an address.

    Requires:
        `is_object_address(uri)`.

    Raises:
        InvalidRequest: The address names no bucket, or contains a login or a port.

    Example:
        >>> parse_object_address("s3://shop/wh/a%20b").key
        'wh/a%20b'
    """
    # Not urlsplit: a key is not a URL; `%`, `#` and `?` in it are ordinary characters.
    scheme, _, rest = uri.partition("://")
    authority, _, key = rest.partition("/")
    bucket, at, host = authority.partition("@")
    service = _SERVICES[scheme]
    if not bucket or ":" in authority or (at and (service is not Service.AZURE or not host)):
        shape = (
            "abfss://container@account.dfs.core.windows.net/folder"
            if at
            else f"{scheme}://bucket/folder"
        )
        # What precedes the bucket may be a secret, so the message does not repeat it.
        shown = f"{scheme}://…{'/' + key if key else ''}"
        problem = Problem(
            field="warehouse",
            value=shown,
            message="an address has the names of a bucket and a folder, but no login and no port",
            hint=f"write {shape}; endpoint and credentials come from the environment",
        )
        message = f"cannot open {shown}"
        raise InvalidRequest(message, problems=[problem])
    return ObjectAddress(
        service=service,
        root=f"{scheme}://{authority}",
        bucket=bucket,
        account=host.partition(".")[0] if at else None,
        key=key.rstrip("/"),
    )
