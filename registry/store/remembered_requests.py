"""Remembered requests: the answers of requests with an idempotency key, which any process of the service repeats for a day.

```
_braid/requests/<table>.<digest of the key>.claim-1.json   the process that created it carries the request out
_braid/requests/<table>.<digest of the key>.answer.json    its answer
```

Both are created exclusively. Of several processes that get the request at once, one creates the claim; the others wait for
the answer, which takes the place of the claim. A claim that is older than `CLAIM_MS`, by storage's clock, counts as left behind by a process that has ended: the
next one creates `claim-2`. That process cannot know from here whether the request had its effect. The document of the table
tells it (`named_request`), so the correctness of a change does not depend on claims.

A claim that a process has left behind is removed after `KEPT_MS`. An answer is removed after `KEPT_MS`, and earlier if there are more than `ANSWERS_MAX` of a table (`remove_old`).
"""

import hashlib
from collections import defaultdict
from dataclasses import dataclass
from itertools import count
from typing import Final

from pydantic import Field, ValidationError

from braid.lake import Clock, FileIO, FileStatus
from braid.registry.errors import KeyReused
from braid.registry.store import paths
from braid.registry.store.named_request import NamedRequest, key_reused
from braid.registry.store.storage_clock import StorageClock
from braid.registry.store.stored_documents import parse_stored
from braid.schemas import Contract

KEPT_MS: Final = 24 * 3_600_000
"""Time for which an answer is repeated."""

ANSWERS_MAX: Final = 10_000
"""Remembered answers of a table; with more, the oldest are removed."""

CLAIM_MS: Final = 60_000
"""Time after which another process carries a request out; longer than any request should take."""

WAREHOUSE: Final = "+warehouse"
"""In place of a table's name, for requests that concern no single table."""

_ANSWER: Final = "answer.json"
_CLOCK_AGE_MS: Final = 1_000


class RememberedAnswer(Contract):
    """The answer of a request.

    Attributes:
        digest: Digest of the request.
        status: HTTP status.
        headers: The headers that are repeated, by their names in lower case.
        body: The body.
    """

    digest: str
    status: int = Field(ge=200, le=299)
    headers: dict[str, str]
    body: str


class _ClaimRecord(Contract):
    digest: str
    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The right of one process to carry a request out.

    Attributes:
        scope: `<database>.<table>`, or `WAREHOUSE`.
        request: The request.
        path: The file of the claim.
    """

    scope: str
    request: NamedRequest
    path: str


class RememberedRequests:
    """The remembered requests of a warehouse; keeps nothing in memory."""

    def __init__(self, file_io: FileIO, warehouse: str, clock: Clock) -> None:
        """Create the object; reads nothing yet.

        Args:
            file_io: Storage.
            warehouse: Absolute path.
            clock: Used where storage has no clock.
        """
        self._file_io = file_io
        self._directory = paths.requests_directory(warehouse)
        self._clock = clock
        self._storage = StorageClock(file_io, warehouse, clock)

    def begin(self, scope: str, request: NamedRequest) -> Claim | RememberedAnswer | None:
        """Return the answer of a request, or the right to carry it out; None: another process does so now.

        Args:
            scope: `<database>.<table>`, or `WAREHOUSE`; keys of different scopes are different.
            request: The request.

        Raises:
            KeyReused: Another request has used the key.
            LakeError: Storage does not answer.
        """
        stem = self._stem(scope, request.key)
        answer = self._answer(stem, request)
        if answer is not None:
            return answer
        record = _ClaimRecord(digest=request.digest, at_ms=self._clock.now_ms())
        data = record.model_dump_json().encode()
        for number in count(1):
            path = f"{stem}.claim-{number}.json"
            if self._file_io.create_exclusive(path, data):
                claim = Claim(scope=scope, request=request, path=path)
                return self._answer_since(stem, claim) or claim
            if self._is_live(path, request):
                return None
        raise AssertionError  # the numbers have no end

    def finish(self, claim: Claim, answer: RememberedAnswer) -> None:
        """Remember the answer of a request that was carried out, in place of the claim; the first one stays."""
        path = f"{self._stem(claim.scope, claim.request.key)}.{_ANSWER}"
        self._file_io.create_exclusive(path, answer.model_dump_json().encode())
        self._file_io.delete(claim.path)

    def release(self, claim: Claim) -> None:
        """Give a claim back: the request may be sent again, and is carried out then."""
        self._file_io.delete(claim.path)

    def forget_table(self, identifier: str) -> None:
        """Forget the requests of a table that is dropped: they are not those of a later table of the name."""
        for status in self._file_io.list(self._directory):
            if _scope_of(status.name) == identifier:
                self._file_io.delete(status.path)

    def remove_old(self) -> None:
        """Remove what nobody asks for any more; one list, and a deletion for each file that is removed."""
        now_ms = self._storage.now_ms(max_age_ms=_CLOCK_AGE_MS)
        if now_ms is None:
            return  # the ages of files are not known
        kept: dict[str, list[FileStatus]] = defaultdict(list)
        for status in self._file_io.list(self._directory):
            if now_ms - status.modified_ms > KEPT_MS:
                self._file_io.delete(status.path)
            elif status.name.endswith(_ANSWER):
                kept[_scope_of(status.name)].append(status)
        for answers in kept.values():
            answers.sort(key=lambda status: status.modified_ms)
            for status in answers[: max(0, len(answers) - ANSWERS_MAX)]:
                self._file_io.delete(status.path)

    def _is_live(self, path: str, request: NamedRequest) -> bool:
        """Return whether a claim that exists is that of a process which may still carry the request out."""
        try:
            record = parse_stored(_ClaimRecord, self._file_io.read_bytes(path))
            written_ms = self._file_io.modified_ms(path)
        except FileNotFoundError:
            return True  # given back a moment ago: the caller asks again
        except ValidationError:
            return False
        if record.digest != request.digest:
            raise key_reused(request.key)
        now_ms = self._storage.now_ms(max_age_ms=_CLOCK_AGE_MS)
        if written_ms is None or now_ms is None:
            written_ms, now_ms = record.at_ms, self._clock.now_ms()
        return now_ms - written_ms < CLAIM_MS

    def _answer_since(self, stem: str, claim: Claim) -> RememberedAnswer | None:
        """Return the answer if another process has finished, and its claim is gone, since this one has looked for it first."""
        try:
            answer = self._answer(stem, claim.request)
        except KeyReused:
            self.release(claim)
            raise
        if answer is not None:
            self.release(claim)
        return answer

    def _answer(self, stem: str, request: NamedRequest) -> RememberedAnswer | None:
        try:
            answer = parse_stored(RememberedAnswer, self._file_io.read_bytes(f"{stem}.{_ANSWER}"))
        except (FileNotFoundError, ValidationError):
            return None
        if answer.digest != request.digest:
            raise key_reused(request.key)
        return answer

    def _stem(self, scope: str, key: str) -> str:
        """Return the beginning of the paths of a request's files: any text can be a key, and not every text a name."""
        return f"{self._directory}/{scope}.{hashlib.sha256(key.encode()).hexdigest()[:40]}"


def _scope_of(name: str) -> str:
    return name.rsplit(".", 3)[0]  # before the digest, the kind and the suffix
