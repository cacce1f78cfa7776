"""Signatures of pushes: HMAC-SHA256 of the body in a header, as webhooks send it, and their tables in the operators' file.

```toml
[[clusters.shop.signatures]]
topics = ["shop.payments"]
header = "x-hub-signature-256"
prefix = "sha256="
secret = "${env:PAYMENTS_WEBHOOK_SECRET}"
```

A push to one of the topics is accepted only with a valid signature. `prefix` is what stands before the digest, and `encoding` is `hex`
or `base64`; by default nothing, and `hex`.
"""

import base64
import hashlib
import hmac
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Final

from braid.formats.clusters.secret_references import is_reference, resolve_secrets
from braid.lake import Problem

FIELDS: Final = ("encoding", "header", "prefix", "secret", "topics")
ENCODINGS: Final = ("base64", "hex")
_HEADER: Final = re.compile(r"[a-z0-9-]{1,80}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PushSignature:
    """The signature that pushes to some topics need.

    Attributes:
        topics: Patterns of the topics.
        header: Name of the header, in lower case.
        secret: Reference to the key.
        prefix: What the header has before the digest.
        encoding: `hex` or `base64`.
    """

    topics: tuple[str, ...]
    header: str
    secret: str = field(repr=False)
    prefix: str = ""
    encoding: str = "hex"

    def is_for(self, topic: str) -> bool:
        """Return whether pushes to a topic need it."""
        return any(fnmatchcase(topic, pattern) for pattern in self.topics)

    def is_valid(self, given: str | None, body: bytes, *, owner: str) -> bool:
        """Return whether a body was signed with the secret.

        Args:
            given: The header; None: there is none.
            body: The body.
            owner: The cluster, for messages.

        Raises:
            InvalidRequest: The secret cannot be read.
        """
        key = resolve_secrets({"secret": self.secret}, owner=owner, field="secret")["secret"]
        digest = hmac.new(key.encode(), body, hashlib.sha256).digest()
        text = digest.hex() if self.encoding == "hex" else base64.b64encode(digest).decode()
        found = (given or "").strip()
        # In constant time: how much of a forged signature is right must not be measurable.
        return hmac.compare_digest((self.prefix + text).encode(), found.encode())


def push_signature(entry: Mapping[str, Any]) -> PushSignature:
    """Return the signature of a table without problems."""
    return PushSignature(**{**entry, "topics": tuple(entry["topics"])})


def signature_problems(entries: object, prefix: str) -> Iterator[Problem]:
    """Yield what is wrong with the tables of signatures.

    Args:
        entries: The value of the field `signatures`.
        prefix: What stands before the name of the field.
    """
    if not isinstance(entries, list):
        yield _expected(f"{prefix}signatures", entries, f"tables `[[{prefix}signatures]]`")
        return
    for number, entry in enumerate(entries):
        yield from _problems(entry, f"{prefix}signatures.{number}.")


def _problems(entry: object, prefix: str) -> Iterator[Problem]:
    if not isinstance(entry, dict):
        yield _expected(prefix.rstrip("."), entry, "a table")
        return
    for name in entry:
        if name not in FIELDS:
            hint = f"known fields: {', '.join(FIELDS)}"
            yield Problem(field=prefix + name, value=None, message="unknown field", hint=hint)
    topics = entry.get("topics")
    if not isinstance(topics, list) or not topics or not all(map(_is_text, topics)):
        yield _expected(f"{prefix}topics", topics, 'a list of texts, such as ["shop.*"]')
    header = entry.get("header")
    if not (isinstance(header, str) and _HEADER.fullmatch(header)):
        yield _expected(f"{prefix}header", header, "the name of a header in lower case")
    secret = entry.get("secret")
    if not (isinstance(secret, str) and is_reference(secret)):
        # Not the value: it may be the secret.
        found = type(secret).__name__
        yield _expected(f"{prefix}secret", found, "`${env:NAME}` or `${file:/path}`")
    if not isinstance(entry.get("prefix", ""), str):
        yield _expected(f"{prefix}prefix", entry["prefix"], "a text, such as `sha256=`")
    if entry.get("encoding", "hex") not in ENCODINGS:
        yield _expected(f"{prefix}encoding", entry["encoding"], f"one of {', '.join(ENCODINGS)}")


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _expected(field_name: str, value: object, expected: str) -> Problem:
    found = None if value is None else str(value)
    return Problem(
        field=field_name, value=found, message=f"expected {expected}", hint="fix the file"
    )
