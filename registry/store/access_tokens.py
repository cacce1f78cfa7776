"""Access tokens of a warehouse: one document, and the text of a token.

```
braid_<id>_<secret>      id: 16 hexadecimal digits, public; secret: 32 random bytes, as base64url unless an operator makes it
```

The document has the SHA-256 of each token. A slow hash, as for passwords, would protect nothing: a secret of 256 random bits cannot be
guessed, however fast the guesses are checked.

A token with a field that this version does not know may be restricted by it. So it counts as unreadable, and
is refused, but stays in the document when that is written again.

Each version of the document has the entry of its change in the audit log, as versions of tables' documents have (`audit_log`). An
entry has the name and the grants of a token, neither its secret nor its digest.
"""

import base64
import hashlib
import re
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import uuid4

import orjson
from pydantic import ValidationError

from braid.lake import Clock, CorruptData, FileIO, InvalidRequest
from braid.registry.errors import RegistryConflict
from braid.registry.store import paths
from braid.registry.store.audit_log import UNKNOWN_ACTOR, AuditLog, AuditNote
from braid.registry.store.versions import VersionedFile
from braid.schemas import Actor, AuditAction, AuditChange
from braid.schemas.access import AccessToken, Grant
from braid.schemas.field_problems import json_pointer

TOKENS_MAX: Final = 1_000
"""Every process keeps all tokens in memory."""

_ATTEMPTS: Final = 20
_AUDIT: Final = "audit"
_TOLD: Final = ("id", "grants", "expires_ms")
_ID_BYTES: Final = 8
_SECRET_BYTES: Final = 32

PREFIX: Final = b"braid_"
_TEXT: Final = re.compile(r"braid_[0-9a-f]{16}_[A-Za-z0-9_-]{43,100}")
_ID: Final = slice(len(PREFIX), len(PREFIX) + 2 * _ID_BYTES)

Entries = list[dict[str, Any]]


def token_id(text: bytes) -> bytes:
    """Return what is the id if a text is a token; whether it is one, the digest tells."""
    return text[_ID]


def token_digest(text: bytes) -> bytes:
    """Return the digest of a token's text, 32 bytes."""
    return hashlib.sha256(text).digest()


def random_text(random_bytes: Callable[[int], bytes] = secrets.token_bytes) -> str:
    """Return the text of a new token, which no other one has."""
    secret = base64.urlsafe_b64encode(random_bytes(_SECRET_BYTES)).decode().rstrip("=")
    return f"{PREFIX.decode()}{random_bytes(_ID_BYTES).hex()}_{secret}"


def token_of(
    text: str,
    name: str,
    grants: Sequence[Grant],
    *,
    now_ms: int,
    expires_ms: int | None = None,
) -> AccessToken:
    """Return a token as it is stored.

    Raises:
        InvalidRequest: The text is no token with a secret of 256 bits, the name is not valid, there are no grants or too
            many, or the token would have expired.
    """
    if not _TEXT.fullmatch(text):
        message = (
            f"token {name!r}: expected `braid_`, 16 hexadecimal digits, `_` and a secret of 43 to 100 letters, digits, `-` and `_`\n"
            "hint: make the secret of 32 random bytes"
        )
        raise InvalidRequest(message)
    if expires_ms is not None and expires_ms <= now_ms:
        message = f"token {name!r}: it would have expired already"
        raise InvalidRequest(message)
    data = text.encode()
    try:
        return AccessToken(
            id=token_id(data).decode(),
            name=name,
            digest=token_digest(data).hex(),
            grants=tuple(grants),
            created_ms=now_ms,
            expires_ms=expires_ms,
        )
    except ValidationError as error:
        wrong = error.errors()[0]["loc"][0]
        expected = {
            "name": "expected letters, digits, `.`, `_`, `@` and `-`, at most 128 characters",
            "grants": "expected between 1 and 100 grants",
        }
        message = f"token {name!r}: {expected.get(str(wrong), wrong)}"
        raise InvalidRequest(message) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTokens:
    """The tokens of a warehouse at one moment.

    Attributes:
        version: The version of their document; 0: there is none yet.
        tokens: Those that this version can read, in the order of their names.
        unreadable: Names of the others, which are refused.
    """

    version: int
    tokens: tuple[AccessToken, ...]
    unreadable: tuple[str, ...]


class AccessTokens:
    """Reads and changes the tokens of a warehouse; keeps nothing in memory."""

    def __init__(
        self, file_io: FileIO, warehouse: str, clock: Clock, *, actor: Actor = UNKNOWN_ACTOR
    ) -> None:
        """Create the object; reads nothing yet.

        Args:
            file_io: Storage.
            warehouse: Absolute path.
            clock: Gives the times of changes.
            actor: Whom the audit log names as the one who makes and revokes tokens.
        """
        directory = paths.access_tokens_directory(warehouse)
        self._file = VersionedFile(file_io, directory, clock=clock)
        self._audit = AuditLog(file_io, warehouse, clock)
        self._clock = clock
        self._actor = actor

    def stored(self) -> StoredTokens:
        """Return all tokens. One list and one read.

        Raises:
            CorruptData: The document is not readable as a whole.
            StorageUnavailable: Storage does not answer.
        """
        version, content = self._newest()
        tokens, unreadable = [], []
        for entry in _entries(content):
            try:
                tokens.append(AccessToken.model_validate(entry))
            except ValidationError:
                unreadable.append(_name(entry))
        return StoredTokens(
            version=version,
            tokens=tuple(sorted(tokens, key=lambda token: token.name)),
            unreadable=tuple(sorted(unreadable)),
        )

    def add(self, token: AccessToken) -> None:
        """Add a token; no effect if it is there already, with the same grants.

        Raises:
            InvalidRequest: Another token has its name or its id, or there are too many tokens.
            RegistryConflict: Every attempt lost a race against other writers.
        """

        def change(entries: Entries) -> Entries:
            if any(_is_same(entry, token) for entry in entries):
                return entries
            if any(_name(entry) == token.name for entry in entries):
                message = (
                    f"a token is named {token.name!r} already\n"
                    "hint: choose another name, or revoke that token first"
                )
                raise InvalidRequest(message)
            if (
                same := next((one for one in entries if one.get("id") == token.id), None)
            ) is not None:
                # A bearer is found by the id: one of the two tokens would be refused.
                message = (
                    f"the token {_name(same)!r} has the same id, {token.id}\n"
                    "hint: make the 16 hexadecimal digits of each token at random"
                )
                raise InvalidRequest(message)
            if len(entries) >= TOKENS_MAX:
                message = (
                    f"the warehouse has {len(entries)} tokens, and may have at most {TOKENS_MAX}\n"
                    "hint: revoke those that are not in use"
                )
                raise InvalidRequest(message)
            return [*entries, token.model_dump(mode="json")]

        self._change(AuditAction.CREATE_TOKEN, token.name, change)

    def revoke(self, name: str) -> None:
        """Remove a token.

        Raises:
            InvalidRequest: There is no token of that name.
            RegistryConflict: Every attempt lost a race against other writers.
        """

        def change(entries: Entries) -> Entries:
            kept = [entry for entry in entries if _name(entry) != name]
            if len(kept) == len(entries):
                message = f"no token is named {name!r}\nhint: `braid token list` shows all of them"
                raise InvalidRequest(message)
            return kept

        self._change(AuditAction.REVOKE_TOKEN, name, change)

    def held_entry(self) -> dict[str, Any] | None:
        """Return the entry of the audit log that the newest version holds, as it is stored; None if it holds none.

        Raises:
            CorruptData: The document is not readable.
        """
        return _held_entry(self._newest()[1])

    def _change(self, action: AuditAction, name: str, change: Callable[[Entries], Entries]) -> None:
        note = AuditNote(actor=self._actor, action=action)
        for _ in range(_ATTEMPTS):
            version, content = self._newest()
            before = _entries(content)
            after = change(before)
            if after is before:
                return
            held = _held_entry(content)
            last_ms = 0 if held is None else self._audit.keep(held)
            entry = note.entry(
                None,
                time_ms=max(last_ms, self._clock.now_ms()),
                version=version + 1,
                changes=(
                    AuditChange(
                        pointer=json_pointer(("tokens", name)),
                        before=_told(before, name),
                        after=_told(after, name),
                    ),
                ),
            )
            changed = {
                **content,
                "tokens": after,
                "write_id": str(uuid4()),
                _AUDIT: entry.model_dump(mode="json", exclude_none=True),
            }
            data = orjson.dumps(changed, option=orjson.OPT_INDENT_2)
            if self._file.create(version + 1, data):
                return
        message = f"the access tokens changed {_ATTEMPTS} times while they were being changed"
        raise RegistryConflict(message)

    def _newest(self) -> tuple[int, dict[str, Any]]:
        newest = self._file.latest()
        if newest is None:
            return 0, {}
        try:
            content = orjson.loads(newest.value)
        except ValueError:
            content = None
        if not isinstance(content, dict) or not _are_entries(content.get("tokens")):
            message = f"the document of access tokens, version {newest.version}, is not readable"
            raise CorruptData(message)
        return newest.version, content


def _are_entries(tokens: object) -> bool:
    return isinstance(tokens, list) and all(isinstance(entry, dict) for entry in tokens)


def _entries(content: dict[str, Any]) -> Entries:
    entries: Entries = content.get("tokens", [])
    return entries


def _is_same(entry: dict[str, Any], token: AccessToken) -> bool:
    """Return whether an entry differs from a token in nothing but the time of its creation."""
    return {**entry, "created_ms": token.created_ms} == token.model_dump(mode="json")


def _told(entries: Entries, name: str) -> dict[str, Any] | None:
    """Return what the audit log says of a token; None if there is none of the name."""
    entry = next((one for one in entries if _name(one) == name), None)
    return None if entry is None else {key: entry[key] for key in _TOLD if key in entry}


def _held_entry(content: dict[str, Any]) -> dict[str, Any] | None:
    held = content.get(_AUDIT)
    return held if isinstance(held, dict) else None


def _name(entry: dict[str, Any]) -> str:
    return str(entry.get("name"))
