"""Positions of streams that queries write: which batch of which query is next. Pure.

A query numbers its batches by itself, and repeats a batch with the same rows after a failure. The position of such a
stream is stored, fenced and carried forward like that of a stream from Kafka. It has two numbers in place of the
offsets of partitions:

```
topic      what stands for the topic
topic_id   the query that has the stream, or ONE_WRITES between two single writes
offsets    {ROWS: the next number in the order of arrival, BATCHES: the next batch of the query}
writes     names of the newest single writes
```

Numbers of the order of arrival go on when another query takes the stream over, so the generation stays. It rises only
where another stream, or a topic, has fed the group before.

The rows of one batch are ordered by task, then by row. So the number of a task is added to ROWS and stored as the offset
of each of its rows, and the number of a row within its task is stored as the partition.
"""

import hashlib
from dataclasses import dataclass
from typing import Final

from braid.lake.commit.streams.group_order import GroupClaim, GroupOrder, next_order
from braid.lake.commit.streams.stream_authority import StreamAuthority, first_generation
from braid.lake.commit.streams.stream_position import StreamPosition
from braid.lake.errors import InvalidRequest, OffsetMismatch, Problem, StreamFenced

ROWS: Final = 0
BATCHES: Final = 1
ONE_WRITES: Final = "single writes"
"""The query of single writes: each is its next batch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryBatch:
    """A batch that a query is about to write.

    Attributes:
        stream: The stream.
        source: What stands for its topic.
        group: The sequence group that the stream writes; None: nothing that it writes is ordered by arrival.
        query: The query's id; `ONE_WRITES` for a single write.
        batch_id: The query's number of the batch; None for a single write, which is the next one.
        write: Name of a single write; None for a batch of a query.
        takes_over: Id of the query from which the stream may be taken; None: from none.
    """

    stream: str
    source: str
    group: str | None
    query: str
    batch_id: int | None = None
    write: str | None = None
    takes_over: str | None = None

    @property
    def claim(self) -> GroupClaim | None:
        """The claim of the group."""
        if self.group is None:
            return None
        return GroupClaim(group=self.group, cluster=self.source, partitions=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryTurn:
    """What a batch is written and committed with.

    Attributes:
        epoch: Epoch under which it is committed.
        generation: Generation of the order of arrival.
        rows: Number of its first task in that order.
        batch: Number of the batch.
        needs_claim: Whether the query does not have the stream yet, and claims it first, with this epoch.
    """

    epoch: int
    generation: int
    rows: int
    batch: int
    needs_claim: bool


def next_turn(streams: StreamAuthority, batch: QueryBatch) -> QueryTurn | None:
    """Return what a batch is written with; None: the table has it already.

    Args:
        streams: State of all streams at the newest snapshot.
        batch: The batch.

    Raises:
        StreamFenced: Another query has the stream.
        OffsetMismatch: Batches between the table's and this one are missing.
        InvalidRequest: It is unknown whether the stream is new.
        LimitExceeded: The group has had as many generations as it can.
    """
    known = streams.positions.get(batch.stream)
    if known is None or known.topic != batch.source:
        _check_new(streams, batch)
        return _turn(streams, batch, epoch=0 if known is None else known.epoch, rows=0)
    if batch.write is not None and write_digest(batch.write) in known.writes:
        return None
    if known.topic_id != batch.query:
        _check_takeover(known, batch)
        return _turn(streams, batch, epoch=known.epoch, rows=known.offsets[ROWS])
    expected = known.offsets[BATCHES]
    if batch.batch_id is not None and batch.batch_id != expected:
        if batch.batch_id < expected:
            return None
        message = (
            f"stream `{batch.stream}`: the next batch of the query {batch.query} is {expected}, found "
            f"{batch.batch_id}: the batches between them are not in the table, for example because it was rolled back"
            "\nhint: restore the table, or start a query with a new checkpoint that takes the stream over"
        )
        raise OffsetMismatch(message, stream=batch.stream)
    order = next_group_order(streams, batch)
    if order is not None and order != streams.orders.get(order.group):
        return _turn(streams, batch, epoch=known.epoch, rows=known.offsets[ROWS])
    return QueryTurn(
        epoch=known.epoch,
        generation=known.generation,
        rows=known.offsets[ROWS],
        batch=expected,
        needs_claim=False,
    )


def next_group_order(streams: StreamAuthority, batch: QueryBatch) -> GroupOrder | None:
    """Return the order of the stream's group once the query has the stream; None without a group.

    Raises:
        LimitExceeded: The group has had as many generations as it can.
    """
    claim = batch.claim
    if claim is None:
        return None
    return next_order(
        streams.orders.get(claim.group),
        claim,
        stream=batch.stream,
        topic=batch.source,
        # The same for every query: their numbers continue.
        topic_id="",
        generation_min=first_generation(streams, batch.stream),
    )


def write_digest(write: str) -> str:
    """Return the form in which a position remembers the name of a single write."""
    return hashlib.sha256(write.encode()).hexdigest()[:32]


def _turn(streams: StreamAuthority, batch: QueryBatch, *, epoch: int, rows: int) -> QueryTurn:
    order = next_group_order(streams, batch)
    return QueryTurn(
        epoch=epoch + 1,
        generation=0 if order is None else order.generation,
        rows=rows,
        batch=batch.batch_id or 0,
        needs_claim=True,
    )


def _check_new(streams: StreamAuthority, batch: QueryBatch) -> None:
    if batch.stream not in streams.positions and not streams.is_complete:
        problem = Problem(
            field="stream",
            value=batch.stream,
            message="no remaining snapshot has the positions of the table's streams, so it is unknown which batches "
            "the table has",
            hint="register the stream under another name",
        )
        message = f"the stream {batch.stream} cannot be written"
        raise InvalidRequest(message, problems=[problem])
    if batch.batch_id:
        message = (
            f"stream `{batch.stream}`: the table has no batch of the query {batch.query}, which has come to batch "
            f"{batch.batch_id}: its batches before would be missing\nhint: start it with a new checkpoint"
        )
        raise OffsetMismatch(message, stream=batch.stream)


def _check_takeover(known: StreamPosition, batch: QueryBatch) -> None:
    is_free = known.topic_id == ONE_WRITES and not batch.batch_id
    if is_free or batch.takes_over == known.topic_id:
        return
    wrong = (
        "" if batch.takes_over is None else f", and not the one of `takeover`, {batch.takes_over}"
    )
    message = (
        f"stream `{batch.stream}`: the query {known.topic_id} has the stream, not {batch.query}{wrong}"
        f"\nhint: stop that query, and set the option `takeover` of this one to `{known.topic_id}`; rows that both "
        "read are then written twice"
    )
    raise StreamFenced(message, stream=batch.stream, epoch=known.epoch, table_epoch=known.epoch)
