"""Declaration of a schema registry in the operators' file: addresses, login as references to secrets, and the permitted topics."""

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Final

ANY_TOPIC: Final = ("*",)
TIMEOUT_MS: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedSchemaRegistry:
    """A schema registry of the operators' file.

    Attributes:
        name: The name by which streams refer to it.
        urls: Addresses of the registry, `http://` or `https://`; each answers for all.
        username: The name of a login; None without one. May contain references.
        password: The reference to the login's password.
        token: The reference to a bearer token; None without one.
        ca_file: Absolute path of the certificates that sign the registry's, PEM; None: those of the system.
        timeout_ms: Longest time from the connection to one address to the end of its answer, milliseconds.
        topics: Patterns of the topics whose streams may use the registry (`*`, `?`, `[a-z]`).
    """

    name: str
    urls: tuple[str, ...]
    username: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    ca_file: str | None = None
    timeout_ms: int = TIMEOUT_MS
    topics: tuple[str, ...] = ANY_TOPIC

    def may_serve(self, topic: str) -> bool:
        """Return whether a stream of a topic may use the registry."""
        return any(fnmatchcase(topic, pattern) for pattern in self.topics)
