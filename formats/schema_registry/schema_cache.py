"""Cache of a registry's schemas in one process; each schema is kept with all schemas that it references.

The schema of an id never changes, so a schema is kept until other schemas need its space. The answer that an id has no schema,
or no usable schema, is kept for ten seconds only. Producers register a schema before they send, but the registry node that is
asked may lag behind the node that the producer used. So before a new id counts as unknown, the cache waits for a moment and asks
once more. It waits at most once in ten seconds, because a topic may be full of messages with ids that were never registered.
"""

import time
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any, Final, NoReturn, Protocol
from urllib.parse import quote

from braid.formats.schema_registry.recent_entries import RecentEntries
from braid.formats.schema_registry.registry_client import (
    ANSWER_BYTES_MAX,
    NotRegisteredError,
    OversizedAnswerError,
)
from braid.formats.schema_registry.schema_source import (
    RegisteredSchema,
    SchemaKind,
    UnknownSchemaError,
)

ID_MAX: Final = (1 << 31) - 1
"""Ids are integers of Java, 0 or more."""
REFERENCES_MAX: Final = 256
DEPTH_MAX: Final = 32
TEXT_CHARACTERS_MAX: Final = 16 << 20  # of a schema together with all that it refers to
SECOND_LOOK_S: Final = 1.0
"""Wait before an id is asked for again that no member of the registry knows."""
UNKNOWN_S: Final = 10.0
"""For how long an id counts as unknown, and the least time from one wait to the next."""

_SCHEMAS_MAX: Final = 2_000
_UNKNOWN_MAX: Final = 2_000
_CACHED_CHARACTERS_MAX: Final = 64 << 20


class RegistryRequests(Protocol):
    """Requests to a registry, as `RegistryClient` makes them."""

    def schema(self, path: str) -> Mapping[str, Any]:
        """Return the JSON of the schema at a path."""
        ...


class SchemaCache:
    """The schemas of one registry that a process has seen last; for any thread."""

    def __init__(
        self,
        requests: RegistryRequests,
        *,
        now_s: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Begin empty.

        Args:
            requests: Asks the registry.
            now_s: The clock by which unknown ids are forgotten, seconds.
            sleep: Waits for seconds.
        """
        self._requests = requests
        self._now_s = now_s
        self._sleep = sleep
        # One request at a time: of several threads that need a schema, one fetches it.
        self._lock = Lock()
        self._schemas = RecentEntries[int, RegisteredSchema](
            count_max=_SCHEMAS_MAX, size_max=_CACHED_CHARACTERS_MAX
        )
        self._referred = RecentEntries[str, Mapping[str, Any]](
            count_max=_SCHEMAS_MAX, size_max=_CACHED_CHARACTERS_MAX
        )
        # Why there is no schema of an id, and until when that counts.
        self._unknown = RecentEntries[int, tuple[str, float]](
            count_max=_UNKNOWN_MAX, size_max=_UNKNOWN_MAX
        )
        self._next_wait_s = self._now_s()

    def schema(self, schema_id: int) -> RegisteredSchema:
        """Return a schema (see `SchemaSource.schema`)."""
        with self._lock:
            found = self._schemas.get(schema_id)
            if found is not None:
                return found
            unknown = self._unknown.get(schema_id)
            if unknown is not None and self._now_s() < unknown[1]:
                raise UnknownSchemaError(unknown[0])
            try:
                found = self._fetch(schema_id)
            except UnknownSchemaError as error:
                entry = (str(error), self._now_s() + UNKNOWN_S)
                self._unknown.put(schema_id, entry, size=1)
                raise
            self._unknown.remove(schema_id)
            size = len(found.text) + sum(map(len, found.references.values()))
            self._schemas.put(schema_id, found, size=size)
            return found

    def _fetch(self, schema_id: int) -> RegisteredSchema:
        if not 0 <= schema_id <= ID_MAX:
            message = f"{schema_id} is not the id of a schema"
            raise UnknownSchemaError(message)
        what = f"the schema of id {schema_id}"
        try:
            answer = self._ask_twice(schema_id)
        except NotRegisteredError as error:
            message = f"the schema registry has no schema of id {schema_id}"
            raise UnknownSchemaError(message) from error
        except OversizedAnswerError as error:
            message = f"{what} has more than {ANSWER_BYTES_MAX} bytes"
            raise UnknownSchemaError(message) from error
        kind = answer.get("schemaType")
        if kind is None:  # registries leave it out, or say null, for Avro
            kind = SchemaKind.AVRO
        if kind not in tuple(SchemaKind):
            message = f"{what} is of the kind {kind!r:.80}, which cannot be read"
            raise UnknownSchemaError(message)
        references = _References(self._answer, what=what, characters=len(answer["schema"]))
        references.add(answer, ())
        return RegisteredSchema(
            id=schema_id,
            kind=SchemaKind(kind),
            text=answer["schema"],
            references=references.texts,
        )

    def _ask_twice(self, schema_id: int) -> Mapping[str, Any]:
        path = f"/schemas/ids/{schema_id}"
        try:
            return self._requests.schema(path)
        except NotRegisteredError:
            if self._now_s() < self._next_wait_s:
                raise
        self._sleep(SECOND_LOOK_S)
        self._next_wait_s = self._now_s() + UNKNOWN_S
        return self._requests.schema(path)

    def _answer(self, path: str) -> Mapping[str, Any]:
        found = self._referred.get(path)
        if found is None:
            found = self._requests.schema(path)
            self._referred.put(path, found, size=len(found["schema"]))
        return found


class _References:
    """The schemas that a schema refers to, directly and through others, each behind those that it refers to."""

    def __init__(
        self, answer: Callable[[str], Mapping[str, Any]], *, what: str, characters: int
    ) -> None:
        self._answer = answer
        self._what = what
        self._characters = characters
        self._versions: dict[str, tuple[str, int]] = {}
        self._count = 0
        self.texts: dict[str, str] = {}

    def add(self, schema: Mapping[str, Any], above: tuple[tuple[str, int], ...]) -> None:
        """Add all that a schema refers to.

        Args:
            schema: The registry's answer.
            above: Subject and version of the schema and of those on the way to it.
        """
        listed = schema.get("references") or []
        if not isinstance(listed, list):
            self._refuse("its references are not a list")
        for reference in listed:
            name, version = self._parsed(reference)
            known = self._versions.get(name)
            if known == version and name in self.texts:
                continue
            if version in above:
                circle = " > ".join(_shown(one) for one in (*above, version))
                self._refuse(f"its references form a circle: {circle}")
            if known is not None:
                self._refuse(f"{name!r:.80} refers to {_shown(known)} and to {_shown(version)}")
            self._versions[name] = version
            self._add(name, version, above)

    def _add(self, name: str, version: tuple[str, int], above: tuple[tuple[str, int], ...]) -> None:
        self._count += 1
        if self._count > REFERENCES_MAX:
            self._refuse(f"it refers to more than {REFERENCES_MAX} schemas")
        if len(above) >= DEPTH_MAX:
            self._refuse(f"its references are nested more than {DEPTH_MAX} levels deep")
        subject, number = version
        try:
            answer = self._answer(f"/subjects/{quote(subject, safe='')}/versions/{number}")
        except NotRegisteredError:
            self._refuse(f"it refers to {_shown(version)}, which does not exist")
        except OversizedAnswerError:
            self._refuse(f"{_shown(version)} has too many bytes")
        self._characters += len(answer["schema"])
        if self._characters > TEXT_CHARACTERS_MAX:
            self._refuse(
                f"it has more than {TEXT_CHARACTERS_MAX} characters with all that it refers to"
            )
        self.add(answer, (*above, version))
        self.texts[name] = answer["schema"]

    def _parsed(self, reference: object) -> tuple[str, tuple[str, int]]:
        match reference:
            case {"name": str(name), "subject": str(subject), "version": int(version)}:
                # JSON can hold half of a surrogate pair, which no address and no dead letter can.
                if not _is_text(name) or not _is_text(subject):
                    self._refuse(
                        "one of its references has a name or subject that is not Unicode text"
                    )
            case _:
                self._refuse("one of its references lacks a name, subject or version")
        return name, (subject, version)

    def _refuse(self, reason: str) -> NoReturn:
        message = f"{self._what} cannot be used: {reason}"
        raise UnknownSchemaError(message)


def _is_text(found: str) -> bool:
    try:
        found.encode()
    except UnicodeEncodeError:
        return False
    return True


def _shown(version: tuple[str, int]) -> str:
    return f"{version[0][:80]} version {version[1]}"
