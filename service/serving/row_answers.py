"""Bodies of the answers to requests for one row, for several rows, and for the status of a row.

A row is read from what is served (`followers`). If that is new enough and its files are ready, nothing waits, and the
answer is computed on the event loop; otherwise it is computed in a thread. Older states are always read in a thread.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import orjson
from starlette.concurrency import run_in_threadpool

from braid.formats.json_values import json_writer
from braid.formats.key_values import parse_key
from braid.lake import Clock, ReadAt
from braid.registry.layout.physical_table import shown_fields
from braid.service.control.read_at_parameters import READ_AT_PARAMETERS, take_read_at
from braid.service.control.row_lookup import LookedUp, find_row, find_row_status, find_rows
from braid.service.query_parameters import parse_query
from braid.service.serving.followers import Followers
from braid.service.serving.served_table import ServedTable
from braid.service.views import RowKeys


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """What an answer is read from."""

    served: ServedTable
    verified_ms: int

    @property
    def newest(self) -> LookedUp:
        served = self.served
        return LookedUp(
            lookup=served.lookup, verified_ms=self.verified_ms, write_row=served.write_row
        )

    def at(self, at: ReadAt, clock: Clock) -> LookedUp:
        """Return a state of the table; reads storage unless it is the newest."""
        if at.is_newest:
            return self.newest
        verified_ms = clock.now_ms()
        lookup = self.served.table.lookup_at(at)
        write_row = json_writer(shown_fields(lookup.schema))
        return LookedUp(lookup=lookup, verified_ms=verified_ms, write_row=write_row)


class RowAnswers:
    """Answers requests for rows."""

    def __init__(self, followers: Followers, clock: Clock) -> None:
        """Answer from what `followers` serve; `clock` tells when older states are read."""
        self._followers = followers
        self._clock = clock

    async def row(self, identifier: str, query: bytes) -> bytes:
        """Return the answer to a request for one row, as JSON.

        Args:
            identifier: The table.
            query: Query of the address.

        Raises:
            RowNotFound: The row does not exist.
            KeyRefused: The parameters are not a key of the table.
            LakeError: The table or the state does not exist, or cannot be read.
        """
        parameters = parse_query(query)

        def answer(read: _Read) -> bytes:
            at, key = take_read_at(read.served.lookup.schema, parameters)
            found = read.at(at, self._clock)
            return _json({"row": find_row(found, key), "snapshot": found.snapshot_fields})

        return await self._answer(
            identifier, answer, needs_storage=lambda _: _names_state(parameters)
        )

    async def rows(self, identifier: str, keys: RowKeys) -> bytes:
        """Return the answer to a request for several rows, as JSON; raises what `row` raises."""
        at = ReadAt(snapshot_id=keys.snapshot_id, tag=keys.tag, timestamp=keys.timestamp)

        def answer(read: _Read) -> bytes:
            found = read.at(at, self._clock)
            rows = find_rows(found, keys.keys)
            return _json({"rows": rows, "snapshot": found.snapshot_fields})

        # Many rows at once would delay the other requests of the event loop.
        return await self._answer(identifier, answer, needs_storage=lambda _: True)

    async def status(self, identifier: str, query: bytes) -> bytes:
        """Return the answer to a request for the status of a row, as JSON; raises what `row` raises."""
        parameters = parse_query(query)

        def answer(read: _Read) -> bytes:
            document = read.served.document or self._followers.document(identifier)
            key = parse_key(read.served.lookup.schema, parameters)
            status = find_row_status(read.newest, document, key)
            return _json(status.model_dump(mode="json"))

        return await self._answer(
            identifier, answer, needs_storage=lambda read: read.served.document is None
        )

    async def _answer(
        self,
        identifier: str,
        answer: Callable[[_Read], bytes],
        *,
        needs_storage: Callable[[_Read], bool],
    ) -> bytes:
        """Compute an answer, on the event loop if it needs no storage.

        Args:
            identifier: The table.
            answer: Computes the answer.
            needs_storage: Whether the answer may read storage although all files are ready.
        """
        follower = self._followers.current(identifier)
        if follower is not None and follower.served is not None:
            read = _Read(served=follower.served, verified_ms=follower.verified_ms)
            if read.served.is_ready and not needs_storage(read):
                return answer(read)
            return await run_in_threadpool(answer, read)
        return await run_in_threadpool(self._answer_newest, identifier, answer)

    def _answer_newest(self, identifier: str, answer: Callable[[_Read], bytes]) -> bytes:
        served, verified_ms = self._followers.newest(identifier)
        return answer(_Read(served=served, verified_ms=verified_ms))


def _names_state(parameters: Sequence[tuple[str, str]]) -> bool:
    # A column of the key may have such a name, too: the thread finds out.
    return any(name in READ_AT_PARAMETERS for name, _ in parameters)


def _json(body: object) -> bytes:
    return orjson.dumps(body)
