"""Errors of stores and connections are translated with a hint, and without secrets."""

import pytest
from obstore.exceptions import GenericError, PermissionDeniedError

from braid.lake.errors import InvalidRequest, LakeError, StorageUnavailable
from braid.lake.files.object_store.address import parse_object_address
from braid.lake.files.object_store.errors import is_retryable, store_error

PATH = "s3://shop/w/file"
SIGNED = "https://host/shop/w/file?X-Amz-Signature=s3cr3t&sig=s3cr3t"


def answered(status: int, code: str = "", *, retries: str = "") -> GenericError:
    body = f"<Error><Code>{code}</Code><Message>of {SIGNED}</Message></Error>" if code else ""
    return GenericError(
        f"Generic S3 error: Error performing PUT {SIGNED} in 2ms{retries} - "
        f"Server returned non-2xx status code: {status} Text: {body}\n\nDebug source: {SIGNED}"
    )


def broken(how: str, *, retries: str = "") -> GenericError:
    text = f"Generic S3 error: Error performing PUT {SIGNED} in 2ms{retries} - HTTP error: {how}"
    return GenericError(text)


def error_of(error: Exception) -> LakeError:
    return store_error(error, PATH, parse_object_address(PATH), "https://host")


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        (
            answered(404, "NoSuchBucket"),
            InvalidRequest,
            "there is no bucket `shop` at https://host",
        ),
        (answered(404, "ContainerNotFound"), InvalidRequest, "there is no bucket"),
        (answered(403, "AccessDenied"), StorageUnavailable, "refused access"),
        (answered(403), StorageUnavailable, "refused access"),
        (answered(400, "ExpiredToken"), StorageUnavailable, "refused access"),
        (PermissionDeniedError("a 403"), StorageUnavailable, "refused access"),
        (answered(400, "AuthorizationHeaderMalformed"), StorageUnavailable, "BRAID_STORE_REGION"),
        (answered(400, "KeyTooLongError"), InvalidRequest, "does not support the path"),
        (answered(503, "SlowDown"), StorageUnavailable, "SlowDown from https://host"),
        (answered(500), StorageUnavailable, "status 500"),
        (broken("tcp connect error"), StorageUnavailable, "no connection to https://host"),
        (broken("operation timed out"), StorageUnavailable, "no answer in time"),
        (broken("error sending request"), StorageUnavailable, "a broken connection"),
        (ValueError("Error parsing Path"), InvalidRequest, "does not support the path"),
    ],
    ids=lambda value: str(value).partition(" - ")[2][:40] or None,
)
def test_an_error_has_cause_path_and_hint(
    error: Exception, kind: type[LakeError], said: str
) -> None:
    found = error_of(error)

    assert type(found) is kind
    assert said in str(found)
    assert PATH in str(found)
    assert "s3cr3t" not in str(found)


@pytest.mark.parametrize(
    "error",
    [
        answered(503),
        answered(429, retries=", after 3 retries, max_retries: 8, retry_timeout: 45s "),
        answered(409, "ConditionalRequestConflict"),
        broken("error sending request"),
        broken("request or response body error"),
        broken("operation timed out"),
    ],
    ids=lambda value: str(value).partition(" - ")[2][:40] or None,
)
def test_transient_errors_are_retryable(error: Exception) -> None:
    assert is_retryable(error)


@pytest.mark.parametrize(
    "error",
    [
        answered(403, "AccessDenied"),
        answered(400, "ExpiredToken"),
        answered(404, "NoSuchBucket"),
        answered(503, retries=", after 8 retries, max_retries: 8, retry_timeout: 45s "),
        PermissionDeniedError("a 403"),
    ],
    ids=lambda value: str(value).partition(" - ")[2][:40] or None,
)
def test_permanent_and_exhausted_errors_are_not_retryable(error: Exception) -> None:
    assert not is_retryable(error)
