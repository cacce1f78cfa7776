"""Answers to requests by lookup indexes, whose files are indexed in the background and waited for two seconds at most.

The first request for an index begins to build it: a thread indexes the copies of all files of the snapshot that is served. From then
on the table's follower indexes the files of each new snapshot before it serves it. The rows of an answer and the index are
of one snapshot, always.
"""

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Final

import orjson

from braid.formats.json_values import json_writer
from braid.lake import NotCopied, ValueLookup
from braid.service.column_mask import ColumnMask
from braid.service.control.index_lookup import (
    IndexNotBuilt,
    IndexRequest,
    find_index_rows,
    index_named,
    index_request,
)
from braid.service.control.row_lookup import LookedUp
from braid.service.control.row_request import Freshness
from braid.service.query_parameters import parse_query
from braid.service.serving.followers import Followers
from braid.service.serving.served_table import Served

WAIT_S: Final = 2.0
BUILDS_MAX: Final = 4
"""Indexes that are built at once; each takes a thread."""


class IndexAnswers:
    """Answers requests by lookup indexes, and builds the indexes; safe between threads."""

    def __init__(self, followers: Followers, *, wait_s: float = WAIT_S) -> None:
        """Build nothing yet.

        Args:
            followers: What is served of each table.
            wait_s: How long a request waits for an index, seconds.
        """
        self._followers = followers
        self._wait_s = wait_s
        self._builds: dict[tuple[str, tuple[str, ...]], Future[bool]] = {}
        self._threads = ThreadPoolExecutor(BUILDS_MAX, thread_name_prefix="lookup index")
        self._lock = threading.Lock()

    def rows(self, identifier: str, name: str, query: bytes, *, mask: ColumnMask) -> bytes:
        """Return a page of the rows with some values of the columns of an index, as JSON; may wait for storage.

        Args:
            identifier: The table.
            name: The name of the index.
            query: Query of the address.
            mask: The columns that the client may not see.

        Raises:
            IndexNotFound: The table has no such index.
            IndexNotBuilt: The index does not have all files yet; the message has the progress.
            LimitExceeded: Too many records have the values.
            LakeError: The table does not exist, or cannot be read.
        """
        served = self._newest(identifier)
        document = served.table.document or self._followers.document(identifier)
        index = index_named(document, name)
        schema = served.table.lookup.schema
        request = index_request(identifier, schema, index, parse_query(query), mask=mask)
        lookup = ValueLookup(served.table.lookup, index.columns)
        if not lookup.is_complete():
            self._build(identifier, name, lookup, index.columns)
        try:
            return orjson.dumps(find_index_rows(_looked_up(served, request), lookup, request))
        except NotCopied as error:
            raise _not_built(lookup, name) from error  # a copy was removed a moment ago

    def _newest(self, identifier: str) -> Served:
        served = self._followers.current(identifier)
        if served is None or not self._followers.is_fresh(served, Freshness()):
            served = self._followers.newest(identifier)
        return served

    def _build(
        self, identifier: str, name: str, lookup: ValueLookup, columns: tuple[str, ...]
    ) -> None:
        """Build an index, or wait for a build that is running, for a bounded time."""
        build_id = identifier, columns
        with self._lock:
            build = self._builds.get(build_id)
            if build is None or build.done():
                self._builds = {key: one for key, one in self._builds.items() if not one.done()}
                if len(self._builds) == BUILDS_MAX:
                    raise _not_built(lookup, name)
                build = self._builds[build_id] = self._threads.submit(lookup.build)
        with suppress(TimeoutError):
            if not build.result(self._wait_s):
                message = (
                    f"the lookup index {name} has no room on the local disk for all files of {identifier}\n"
                    "hint: `lookup.cache-max-disk-size` of the table and the options of `braid service` bound the copies"
                )
                raise IndexNotBuilt(message)
        if not lookup.is_complete():
            raise _not_built(lookup, name)


def _looked_up(served: Served, request: IndexRequest) -> LookedUp:
    schema = served.table.lookup.schema
    return LookedUp(
        lookup=served.table.lookup,
        verified_ms=served.verified_ms,
        write_row=json_writer(schema.field(name) for name in request.columns),
    )


def _not_built(lookup: ValueLookup, name: str) -> IndexNotBuilt:
    done, count = lookup.progress()
    message = f"the lookup index {name} is being built: {done} of {count} files are indexed"
    return IndexNotBuilt(message)
