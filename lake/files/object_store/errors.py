"""Errors of object stores: what they mean for a retry, and their translation into errors of the engine.

The library's messages contain the whole response of the server, and URLs, which may be signed. Only
the status, the service's own error code and the kind of failure are kept. The path is added, and in
many cases the endpoint and a hint.
"""

import re
from typing import Final

from obstore.exceptions import (
    BaseError,
    PermissionDeniedError,
    UnauthenticatedError,
)

from braid.lake.errors import InvalidRequest, LakeError, Problem, StorageUnavailable
from braid.lake.files.object_store.address import ObjectAddress

_STATUS: Final = re.compile(r"status code: (\d{3})")
_CODE: Final = re.compile(r"<Code>(\w{1,64})</Code>")
_NO_BUCKET: Final = re.compile(
    r"NoSuchBucket|ContainerNotFound|ResourceContainerNotFound|bucket does not exist"
)
_INVALID_PATH_CODES: Final = frozenset({"KeyTooLongError", "InvalidBucketName", "InvalidURI"})
_DENIED_CODES: Final = frozenset(
    {"AccessDenied", "ExpiredToken", "InvalidAccessKeyId", "InvalidToken", "SignatureDoesNotMatch"}
)
_OTHER_REGION_CODES: Final = frozenset(
    {"AuthorizationHeaderMalformed", "IllegalLocationConstraintException", "PermanentRedirect"}
)
_RETRYABLE_STATUS: Final = frozenset({"408", "409", "425", "429", "500", "502", "503", "504"})
_BROKEN_CONNECTION: Final = re.compile(
    r"timed out|request or response body|decoding response|error sending request|"
    r"connection closed|IncompleteMessage|BodyWrite|end of file|premature|reset",
    re.IGNORECASE,
)
# Message after the library's last retry: both numbers are the same.
_RETRIES_USED_UP: Final = re.compile(r"after (\d+) retries, max_retries: \1\b")
_NO_CONNECTION: Final = re.compile(
    r"tcp connect error|dns error|\bConnect\b|invalid peer certificate"
)


def is_bucket_absent(error: Exception) -> bool:
    """Return whether the error means that the bucket does not exist."""
    return _NO_BUCKET.search(str(error)) is not None


def is_conflict(error: Exception) -> bool:
    """Return whether the error means that another request is changing the same file."""
    return _status(error) == "409"


def is_out_of_range(error: Exception) -> bool:
    """Return whether the error means that the file ends before the requested range."""
    return _status(error) == "416"


def is_retryable(error: Exception) -> bool:
    """Return whether the same request may succeed if this engine repeats it.

    The library repeats requests that the server refuses and reads that fail in any way. False once its
    retries are used up. The library does not repeat a listing that breaks off, nor a write whose connection
    breaks or that times out.
    """
    if _is_denied(error):
        return False
    if _RETRIES_USED_UP.search(str(error)):
        return False
    status = _status(error)
    if status is not None:
        return status in _RETRYABLE_STATUS
    return _BROKEN_CONNECTION.search(str(error)) is not None


def store_error(
    error: Exception, path: str, address: ObjectAddress, endpoint: str | None
) -> LakeError:
    """Return the engine's error for an error of the library.

    Args:
        error: Error of the library, except the `FileNotFoundError` of an absent file.
        path: Path of the request.
        address: The parts of the path.
        endpoint: The configured endpoint; None means the provider's own.
    """
    where = endpoint or f"the provider's endpoint of {address.service.value}://"
    if is_bucket_absent(error):
        problem = Problem(
            field="warehouse",
            value=address.root,
            message=f"there is no bucket `{address.bucket}` at {where}",
            hint="create it, or correct the name or the endpoint (BRAID_STORE_ENDPOINT)",
        )
        return InvalidRequest(f"storage failed at {path}", problems=[problem])
    reason = _reason(error)
    if _is_denied(error):
        return StorageUnavailable(
            f"storage refused access to {path} ({reason})\n"
            f"hint: credentials come from the environment of this process (AWS_…, GOOGLE_…, "
            "AZURE_…) or the file in BRAID_STORE_CREDENTIALS; "
            "they must allow reading, writing, listing and deleting at this address"
        )
    if isinstance(error, ValueError) or reason in _INVALID_PATH_CODES:
        return InvalidRequest(f"storage does not support the path {path!r} ({reason})")
    if _status(error) is None and _NO_CONNECTION.search(str(error)):
        return StorageUnavailable(
            f"storage failed at {path}: no connection to {where}\n"
            "hint: check BRAID_STORE_ENDPOINT (or AWS_ENDPOINT_URL) and the network"
        )
    hint = ""
    if reason in _OTHER_REGION_CODES or "configured region" in str(error):
        hint = "\nhint: the bucket is in another region; check BRAID_STORE_REGION (or AWS_REGION)"
    return StorageUnavailable(f"storage failed at {path}: {reason} from {where}{hint}")


def _is_denied(error: Exception) -> bool:
    if isinstance(error, (PermissionDeniedError, UnauthenticatedError)):
        return True
    # S3 reports an expired token with status 400, so the error codes are checked too.
    return _status(error) in {"401", "403"} or _reason(error) in _DENIED_CODES


def _status(error: Exception) -> str | None:
    found = _STATUS.search(str(error))
    return found[1] if found else None


def _reason(error: Exception) -> str:
    text = str(error)
    code = _CODE.search(text)
    status = _status(error)
    if code:
        return code[1]
    if status:
        return f"status {status}"
    if "timed out" in text:
        return "no answer in time"
    if isinstance(error, BaseError) and _BROKEN_CONNECTION.search(text):
        return "a broken connection"
    return type(error).__name__
