"""Settings of the connection to an object store, without credentials, and the store that they open.

Settings come from the environment and are pickled with a `FileIO` to other processes. Credentials are not: each
process takes them from its own environment (the standard names: `AWS_…`, `GOOGLE_…`, `AZURE_…`, instance roles
and workload identities included) or from the file that `BRAID_STORE_CREDENTIALS` names. Timeouts and the
bounds of retries are constants here.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from obstore.exceptions import BaseError, UnknownConfigurationKeyError
from obstore.store import AzureStore, GCSStore, ObjectStore, S3Store

from braid.lake.errors import InvalidRequest, Problem
from braid.lake.files.object_store.address import ObjectAddress, Service

ENDPOINT: Final = "BRAID_STORE_ENDPOINT"
REGION: Final = "BRAID_STORE_REGION"
ALLOW_HTTP: Final = "BRAID_STORE_ALLOW_HTTP"
PATH_STYLE: Final = "BRAID_STORE_PATH_STYLE"
CREDENTIALS: Final = "BRAID_STORE_CREDENTIALS"

# Names of these settings in other S3 tools; the names of Braid take precedence.
_S3_ENDPOINTS: Final = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
_S3_REGIONS: Final = ("AWS_REGION", "AWS_DEFAULT_REGION")
_S3_ALLOW_HTTP: Final = ("AWS_ALLOW_HTTP",)
_BOOLEANS: Final = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}

# The library's message about a setting that it does not know.
_KEY_IN_TEXT: Final = re.compile(r"key: '([^']*)' is not valid")

RETRIES_MAX: Final = 8
"""The most retries of a request, by the library and by this engine, which repeats what the library does not."""

RETRIED_S_MAX: Final = 45
"""Seconds after the first try of a request in which another one may begin."""

# A request has a timeout and is repeated with growing, random pauses. The total time of an operation is bounded
# too, so that a caller gets an error within minutes.
_CLIENT: Final[Mapping[str, Any]] = {
    "connect_timeout": timedelta(seconds=5),
    "read_timeout": timedelta(seconds=20),
    "timeout": timedelta(seconds=30),
}
_RETRIES: Final[Any] = {
    "max_retries": RETRIES_MAX,
    "retry_timeout": timedelta(seconds=RETRIED_S_MAX),
    "backoff": {
        "init_backoff": timedelta(milliseconds=100),
        "max_backoff": timedelta(seconds=10),
        "base": 2,
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSettings:
    """Settings of the connection to a store; contains no secret.

    Attributes:
        endpoint: URL of the service; None means the provider's own service.
        region: Region of the bucket, on S3; None means the provider's default.
        allow_http: Whether the endpoint is allowed without TLS.
        path_style: Whether the bucket is part of the path and not of the host name, on S3.
        credentials_file: Absolute path of a file of `NAME=value` lines with the names of environment
            variables; None means the environment itself, or the machine's role.
    """

    endpoint: str | None = None
    region: str | None = None
    allow_http: bool = False
    path_style: bool = True
    credentials_file: str | None = None

    @classmethod
    def from_environment(
        cls, service: Service, environment: Mapping[str, str] = os.environ
    ) -> "StoreSettings":
        """Return the settings of an environment.

        Raises:
            InvalidRequest: As for `check`, or a truth value cannot be read.
        """
        is_s3 = service is Service.S3
        settings = cls(
            endpoint=_first(environment, ENDPOINT, *(_S3_ENDPOINTS if is_s3 else ())),
            region=_first(environment, REGION, *(_S3_REGIONS if is_s3 else ())),
            allow_http=_boolean(environment, ALLOW_HTTP, *(_S3_ALLOW_HTTP if is_s3 else ())),
            path_style=_boolean(environment, PATH_STYLE, default=True),
            credentials_file=_first(environment, CREDENTIALS),
        )
        settings.check()
        return settings

    def check(self) -> None:
        """Check that the settings can work.

        Raises:
            InvalidRequest: The endpoint is not a URL, contains a login, or is without TLS although
                `allow_http` is False; or the path of the credentials file is relative.
        """
        endpoint = self.endpoint
        # First, because the other refusals show the endpoint.
        if endpoint is not None and "@" in endpoint:
            raise _refused(ENDPOINT, None, "the URL contains a login", f"use {CREDENTIALS}")
        if endpoint is not None and not endpoint.startswith(("http://", "https://")):
            raise _refused(ENDPOINT, endpoint, "expected a URL", "such as https://host:9000")
        if endpoint is not None and endpoint.startswith("http://") and not self.allow_http:
            hint = f"{ALLOW_HTTP}=true allows it"
            raise _refused(ENDPOINT, endpoint, "the endpoint is without TLS", hint)
        if self.credentials_file is not None and not self.credentials_file.startswith("/"):
            raise _refused(
                CREDENTIALS, self.credentials_file, "must be absolute", "start it with /"
            )

    def open(self, address: ObjectAddress) -> ObjectStore:
        """Return the store of a bucket, with the credentials of this process.

        Raises:
            InvalidRequest: The credentials file cannot be read, a line of it is not `NAME=value`, or the
                settings do not fit the service.
        """
        config: Any = self._credentials()
        client: Any = {**_CLIENT, "allow_http": self.allow_http}
        if self.endpoint is not None:
            config["endpoint"] = self.endpoint
        try:
            match address.service:
                case Service.S3:
                    config["virtual_hosted_style_request"] = str(not self.path_style).lower()
                    # Not every S3-compatible store supports deleting many objects with one request.
                    config["disable_bulk_delete"] = "true"
                    if self.region is not None:
                        config["region"] = self.region
                    return S3Store(
                        address.bucket, config=config, client_options=client, retry_config=_RETRIES
                    )
                case Service.GCS:
                    return GCSStore(
                        address.bucket, config=config, client_options=client, retry_config=_RETRIES
                    )
                case Service.AZURE:
                    if address.account is not None:
                        config["account_name"] = address.account
                    return AzureStore(
                        address.bucket, config=config, client_options=client, retry_config=_RETRIES
                    )
        except UnknownConfigurationKeyError as error:
            raise self._unknown_name(address, error) from None
        except (BaseError, ValueError) as error:
            # The library's message may contain a credential.
            message = (
                f"cannot open {address.root}: the settings of its store are not valid "
                f"({type(error).__name__})"
            )
            raise InvalidRequest(message) from None

    def _unknown_name(self, address: ObjectAddress, error: Exception) -> InvalidRequest:
        """Return the error of an unknown name; shows the line, not the name, which may be part of a secret."""
        found = _KEY_IN_TEXT.search(str(error))
        name = found.group(1) if found else ""
        lines = [number for number, key, _ in self._entries() if key == name]
        where = f"line {lines[0]} has" if lines else "it has"
        return _refused(
            CREDENTIALS,
            self.credentials_file,
            f"{where} a name that is not a setting of {address.service}://",
            "such as AWS_ACCESS_KEY_ID, GOOGLE_SERVICE_ACCOUNT_KEY, AZURE_STORAGE_ACCOUNT_KEY",
        )

    def _credentials(self) -> dict[str, str]:
        """Return the values in the credentials file by name; names are in lower case."""
        return {name: value for _, name, value in self._entries()}

    def _entries(self) -> list[tuple[int, str, str]]:
        """Return the lines of the credentials file: number, name in lower case, value."""
        if self.credentials_file is None:
            return []
        try:
            lines = Path(self.credentials_file).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            text = f"the file cannot be read ({type(error).__name__})"
            hint = "lines of NAME=value, such as AWS_ACCESS_KEY_ID=…"
            raise _refused(CREDENTIALS, self.credentials_file, text, hint) from None
        found = []
        for number, line in enumerate(lines, 1):
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            name, equals, value = line.partition("=")
            if not equals:
                text, hint = f"line {number} is not NAME=value", "such as AWS_ACCESS_KEY_ID=…"
                raise _refused(CREDENTIALS, self.credentials_file, text, hint)
            found.append((number, name.strip().lower(), value.strip()))
        return found


def _first(environment: Mapping[str, str], *names: str) -> str | None:
    return next((environment[name] for name in names if environment.get(name)), None)


def _boolean(environment: Mapping[str, str], *names: str, default: bool = False) -> bool:
    text = _first(environment, *names)
    if text is None:
        return default
    value = _BOOLEANS.get(text.lower())
    if value is None:
        raise _refused(names[0], text, "expected a truth value", "true or false")
    return value


def _refused(field: str, value: str | None, message: str, hint: str) -> InvalidRequest:
    problem = Problem(field=field, value=value, message=message, hint=hint)
    return InvalidRequest("the settings of the object store are not valid", problems=[problem])
