"""What an object store says went wrong, as errors of the engine: what, where, and what to look at.

The library's texts hold URLs, which may be signed, and the whole answer of the server. Only the
status, the service's own code and the kind of failure are taken over.
"""

import re
from typing import Final

from obstore.exceptions import (
    BaseError,
    PermissionDeniedError,
    UnauthenticatedError,
)

from lake.errors import InvalidRequest, LakeError, Problem, StorageUnavailable
from lake.files.object_store.address import ObjectAddress

_STATUS: Final = re.compile(r"status code: (\d{3})")
_CODE: Final = re.compile(r"<Code>(\w{1,64})</Code>")
_NO_BUCKET: Final = re.compile(
    r"NoSuchBucket|ContainerNotFound|ResourceContainerNotFound|bucket does not exist"
)
_NEVER_WORKS: Final = frozenset({"KeyTooLongError", "InvalidBucketName", "InvalidURI"})
_NOT_LET_IN: Final = frozenset(
    {"AccessDenied", "ExpiredToken", "InvalidAccessKeyId", "InvalidToken", "SignatureDoesNotMatch"}
)
_ELSEWHERE: Final = frozenset(
    {"AuthorizationHeaderMalformed", "IllegalLocationConstraintException", "PermanentRedirect"}
)
_TOO_SLOW: Final = frozenset({"408", "409", "425", "429", "500", "502", "503", "504"})
_LOST: Final = re.compile(
    r"timed out|request or response body|decoding response|error sending request|"
    r"connection closed|IncompleteMessage|BodyWrite|end of file|premature|reset",
    re.IGNORECASE,
)
_GIVEN_UP: Final = re.compile(r"after (\d+) retries, max_retries: \1\b")
_UNREACHED: Final = re.compile(r"tcp connect error|dns error|\bConnect\b|invalid peer certificate")


def is_bucket_absent(error: Exception) -> bool:
    """Return whether a store says that there is no such bucket."""
    return _NO_BUCKET.search(str(error)) is not None


def is_conflict(error: Exception) -> bool:
    """Return whether a store says that somebody else works on the same file."""
    return _status(error) == "409"


def is_out_of_range(error: Exception) -> bool:
    """Return whether a store says that a file ends before the range that was asked for."""
    return _status(error) == "416"


def is_retryable(error: Exception) -> bool:
    """Return whether the same request can succeed, and has not been repeated enough.

    The library repeats by itself what is refused, and reads that fail in any way. A listing that
    breaks off, a write whose connection breaks and one that takes too long it leaves to us.
    """
    if _is_denied(error):
        return False
    if _GIVEN_UP.search(str(error)):
        return False
    status = _status(error)
    return status in _TOO_SLOW if status is not None else _LOST.search(str(error)) is not None


def store_error(
    error: Exception, path: str, address: ObjectAddress, endpoint: str | None
) -> LakeError:
    """Return the engine's error for one of the library's.

    Args:
        error: What the library raised, no `FileNotFoundError` of a file.
        path: Of the file it was about.
        address: The path's parts.
        endpoint: The configured one; None is the provider's own.
    """
    where = endpoint or f"the provider's endpoint of {address.service.value}://"
    if is_bucket_absent(error):
        problem = Problem(
            field="warehouse",
            value=address.root,
            message=f"there is no bucket `{address.bucket}` at {where}",
            hint="create it, or mend the name or the endpoint (BRAID_STORE_ENDPOINT)",
        )
        return InvalidRequest(f"storage failed at {path}", problems=[problem])
    reason = _reason(error)
    if _is_denied(error):
        return StorageUnavailable(
            f"storage refused access to {path} ({reason})\n"
            f"hint: credentials come from the environment of this process (AWS_…, GOOGLE_…, "
            "AZURE_…) or the file in BRAID_STORE_CREDENTIALS; "
            "they must allow to read, write, list and delete here"
        )
    if isinstance(error, ValueError) or reason in _NEVER_WORKS:
        return InvalidRequest(f"storage cannot have the path {path!r} ({reason})")
    if _status(error) is None and _UNREACHED.search(str(error)):
        return StorageUnavailable(
            f"storage cannot be reached for {path}: no connection to {where}\n"
            "hint: look at BRAID_STORE_ENDPOINT (or AWS_ENDPOINT_URL) and the network"
        )
    hint = ""
    if reason in _ELSEWHERE or "configured region" in str(error):
        hint = "\nhint: the bucket is in another region; look at BRAID_STORE_REGION (or AWS_REGION)"
    return StorageUnavailable(f"storage failed at {path}: {reason} from {where}{hint}")


def _is_denied(error: Exception) -> bool:
    is_told = isinstance(error, (PermissionDeniedError, UnauthenticatedError))
    # An expired token is told with status 400.
    return is_told or _status(error) in {"401", "403"} or _reason(error) in _NOT_LET_IN


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
    if isinstance(error, BaseError) and _LOST.search(text):
        return "a broken connection"
    return type(error).__name__
