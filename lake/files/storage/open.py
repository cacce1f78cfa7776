"""The storage that the address of a warehouse names, disk or object store, and the path inside it."""

import os
from collections.abc import Mapping
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from braid.lake.errors import InvalidRequest, Problem, UnsupportedFeature
from braid.lake.files.object_store.address import SCHEMES, is_object_address, parse_object_address
from braid.lake.files.object_store.settings import StoreSettings
from braid.lake.files.object_store.store import ObjectStoreFileIO
from braid.lake.files.storage.file_io import FileIO
from braid.lake.files.storage.local import LocalFileIO


def file_io_for(uri: str, *, environment: Mapping[str, str] = os.environ) -> FileIO:
    """Return the storage of an address.

    Args:
        uri: An absolute path, a `file:` URI, or the address of an object store: `s3://`, `gs://`,
            `az://`, `abfs(s)://`. The environment determines how an object store is reached (see
            `braid.lake.files.object_store.settings`).
        environment: Environment variables by name; those of the process by default.

    Raises:
        UnsupportedFeature: The scheme is none of these.
        InvalidRequest: The path is relative, or it or an ancestor is a file; the address has no bucket;
            or a setting of the environment cannot work.
    """
    path = path_for(uri)
    if is_object_address(path):
        service = parse_object_address(path).service
        return ObjectStoreFileIO(StoreSettings.from_environment(service, environment))
    file_io = LocalFileIO()
    _check_directory(file_io, path)
    return file_io


def path_for(uri: str) -> str:
    """Return the absolute path inside the storage of an address, without a trailing slash.

    Raises:
        UnsupportedFeature: This version does not support the scheme.
        InvalidRequest: The path is relative, the address has no bucket, or its scheme has capitals.

    Example:
        >>> path_for("file:///data/warehouse/"), path_for("s3://shop/warehouse/")
        ('/data/warehouse', 's3://shop/warehouse')
    """
    if is_object_address(uri):
        address = parse_object_address(uri)
        return f"{address.root}/{address.key}".rstrip("/")
    if "://" not in uri and not uri.startswith("file:"):
        path = uri
    else:
        parts = urlsplit(uri)
        if is_object_address(uri.replace(uri.partition("://")[0], parts.scheme, 1)):
            problem = Problem(
                field="warehouse",
                value=uri,
                message="the scheme of an address must be in lower case",
                hint=f"write {parts.scheme}://",
            )
            message = f"cannot open {uri}"
            raise InvalidRequest(message, problems=[problem])
        if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
            problem = Problem(
                field="warehouse",
                value=uri,
                message=f"storage scheme `{parts.scheme}` is not supported in this version",
                hint="use an absolute path, file:///path or one of "
                + ", ".join(f"{scheme}://" for scheme in SCHEMES),
            )
            message = f"cannot open {uri}"
            raise UnsupportedFeature(message, problems=[problem])
        path = unquote(parts.path)
    if not path.startswith("/"):
        problem = Problem(
            field="warehouse", value=uri, message="must be absolute", hint="start it with /"
        )
        message = f"cannot open {uri}"
        raise InvalidRequest(message, problems=[problem])
    return path.rstrip("/") or "/"


def _check_directory(file_io: FileIO, path: str) -> None:
    """Raise InvalidRequest if the path, or an ancestor of it, is a file."""
    existing = PurePosixPath(path)
    while not file_io.exists(str(existing)) and existing != existing.parent:
        existing = existing.parent
    if file_io.has_directory(str(existing)):
        return
    problem = Problem(
        field="warehouse",
        value=path,
        message=f"{existing} is a file, expected a directory or nothing yet",
        hint="name the directory that holds `<database>.db`",
    )
    message = f"cannot open {path}"
    raise InvalidRequest(message, problems=[problem])
