"""From a warehouse's address to the storage behind it."""

from urllib.parse import unquote, urlsplit

from lake.errors import InvalidRequest, Problem, UnsupportedFeature
from lake.files.file_io import FileIO
from lake.files.local import LocalFileIO


def file_io_for(uri: str) -> FileIO:
    """Return the storage of an address.

    Args:
        uri: An absolute path or a `file:` URI.

    Raises:
        UnsupportedFeature: An object store or another scheme; not in this version.
        InvalidRequest: A relative path.
    """
    path_for(uri)
    return LocalFileIO()


def path_for(uri: str) -> str:
    """Return the absolute path inside the storage of an address, without a trailing slash.

    Raises:
        UnsupportedFeature: An object store or another scheme; not in this version.
        InvalidRequest: A relative path.

    Example:
        >>> path_for("file:///data/warehouse/"), path_for("/data/warehouse")
        ('/data/warehouse', '/data/warehouse')
    """
    if "://" not in uri and not uri.startswith("file:"):
        path = uri
    else:
        parts = urlsplit(uri)
        if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
            problem = Problem(
                field="warehouse",
                value=uri,
                message=f"storage scheme `{parts.scheme}` is not supported in this version",
                hint="use an absolute path or file:///path",
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
