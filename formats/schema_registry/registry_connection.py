"""Connection to a schema registry: addresses and login, with the secrets resolved.

The process that starts a stream makes the connection and sends it to the processes that read the stream's messages. So these
need neither the operators' file nor its secrets and certificates.
"""

import base64
import ssl
from dataclasses import dataclass, field
from pathlib import Path

from braid.formats.clusters.secret_references import resolve_secrets
from braid.formats.schema_registry.named_registry import NamedSchemaRegistry
from braid.lake import InvalidRequest, Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryConnection:
    """A schema registry and how to log in there.

    Attributes:
        name: The registry's name, for messages.
        urls: Its addresses, without a slash at the end.
        authorization: The value of the header `Authorization`; None without a login; never shown.
        certificates: The certificates that sign the registry's, PEM; None: those of the system.
        timeout_ms: Longest time from the connection to one address to the end of its answer, milliseconds.
    """

    name: str
    urls: tuple[str, ...]
    authorization: str | None = field(default=None, repr=False)
    certificates: str | None = field(default=None, repr=False)
    timeout_ms: int


def connect(registry: NamedSchemaRegistry) -> RegistryConnection:
    """Return the connection to a registry of the operators' file.

    Raises:
        InvalidRequest: A secret or the file of certificates cannot be read, or cannot be used; the message
            names it, without any secret.
    """
    return RegistryConnection(
        name=registry.name,
        urls=registry.urls,
        authorization=_authorization(registry),
        certificates=_certificates(registry),
        timeout_ms=registry.timeout_ms,
    )


def _authorization(registry: NamedSchemaRegistry) -> str | None:
    declared = {
        "username": registry.username,
        "password": registry.password,
        "token": registry.token,
    }
    secrets = resolve_secrets(
        {name: value for name, value in declared.items() if value is not None},
        owner=f"the schema registry `{registry.name}`",
    )
    if "token" in secrets:
        token = secrets["token"]
        if not token or not all("!" <= character <= "~" for character in token):
            raise _unusable(
                registry, "token", registry.token, "a token of visible ASCII characters"
            )
        return f"Bearer {token}"
    if "username" in secrets:
        if ":" in secrets["username"]:
            raise _unusable(registry, "username", None, "a name without `:`")
        login = f"{secrets['username']}:{secrets['password']}"
        return f"Basic {base64.b64encode(login.encode()).decode()}"
    return None


def _certificates(registry: NamedSchemaRegistry) -> str | None:
    path = registry.ca_file
    if path is None:
        return None
    try:
        found = Path(path).read_text(encoding="ascii")
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=found)
    except (
        OSError,
        ValueError,
    ) as error:  # of ssl, a malformed file is an OSError, an empty one a ValueError
        raise _unusable(registry, "ca_file", path, "a readable PEM file of certificates") from error
    return found


def _unusable(
    registry: NamedSchemaRegistry, field: str, value: str | None, expected: str
) -> InvalidRequest:
    location = f"schema_registries.{registry.name}.{field}"
    problem = Problem(
        field=location,
        value=value,
        message=f"expected {expected}",
        hint="fix the file of `--clusters`, or what it refers to",
    )
    message = f"the login of the schema registry `{registry.name}` cannot be used"
    return InvalidRequest(message, problems=[problem])
