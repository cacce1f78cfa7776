"""Positions of streams, stored as snapshot properties of the table.

All values are JSON, except for the plain texts of `braid.streams` and `braid.streams.lost`:

```
braid.stream.<name>   StreamPosition; every snapshot of this engine carries all of them forward
braid.group.<name>    GroupOrder (`braid.lake.commit.streams.group_order`), likewise
braid.streams         complete: a stream without a property is new; incomplete: its position may be lost
braid.streams.lost    only with incomplete: id of the oldest snapshot that was left when positions
                      were found to be lost; snapshots below it may have carried positions
braid.batch           StreamBatch that this snapshot commits; never carried forward
braid.replay          counts of the dead letters that this snapshot replays, by stream and reason;
                      never carried forward
braid.moves           PositionMoves of this snapshot, by stream, in their order; never carried forward
```
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import lru_cache
from typing import Any, Final

import orjson

from braid.lake.commit.streams.highest_read import HighestRead
from braid.lake.commit.streams.position_moves import MoveCause, PositionMove
from braid.lake.commit.streams.stream_letters import StreamLetters, letters_json, parse_letters
from braid.lake.errors import CorruptData
from braid.lake.format.snapshot import Snapshot

STREAM_PREFIX = "braid.stream."
STREAMS_PROPERTY = "braid.streams"
LOST_PROPERTY = "braid.streams.lost"
BATCH_PROPERTY = "braid.batch"
MOVES_PROPERTY = "braid.moves"
REPLAY_PROPERTY = "braid.replay"
_PARSED_MAX: Final = 2_000
"""Parsed positions that are remembered, of a kilobyte or two each: of successive snapshots all but one are equal."""
COMPLETE = "complete"
INCOMPLETE = "incomplete"
WRITES_MAX = 32
"""Single writes whose names a position remembers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchAccount:
    """Counts of the records in a range of offsets, by their treatment; each record is counted once.

    Attributes:
        accepted: Records written as a row of a file.
        folded: Records merged with a later record of the same key in the same batch.
        ignored: Records left out, as the stream's declaration demands.
        dead_lettered: Records sent to the dead-letter topic.

    Example:
        >>> (BatchAccount(accepted=3) + BatchAccount(folded=1)).records
        4
    """

    accepted: int = 0
    folded: int = 0
    ignored: int = 0
    dead_lettered: int = 0

    def __post_init__(self) -> None:
        assert min(self.accepted, self.folded, self.ignored, self.dead_lettered) >= 0, (
            "an account counts records"
        )

    @property
    def records(self) -> int:
        """Return the number of all records counted."""
        return self.accepted + self.folded + self.ignored + self.dead_lettered

    def __add__(self, other: "BatchAccount") -> "BatchAccount":
        """Return the sums of both."""
        return BatchAccount(
            accepted=self.accepted + other.accepted,
            folded=self.folded + other.folded,
            ignored=self.ignored + other.ignored,
            dead_lettered=self.dead_lettered + other.dead_lettered,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamPosition:
    """The position at which a stream continues.

    Attributes:
        stream: Name of the stream, unique within its table.
        epoch: Raised by each claim, each fence and each move on request; only the owner of the newest epoch may commit.
        topic: Name of the Kafka topic; "" for a stream that was fenced and never claimed.
        topic_id: Kafka's id of the topic, "" when unknown; a topic that is created again has another.
        offsets: Next offset to read, per Kafka partition.
        account: Account of all records so far.
        batch_id: Id of the newest batch; -1 where the epoch has none yet.
        commit_time_ms: When the newest commit that changed the position was made, milliseconds since 1970 UTC.
        generation: Generation in which the stream's records are written since its newest claim
            (`braid.lake.commit.streams.group_order`); 0 also for a claim without a group.
        moves: The newest moves of the position within the topic, oldest first
            (`braid.lake.commit.streams.position_moves`). Versions that do not know them drop them.
        highest_read: The highest offset that was read, of the partitions whose position is another or
            which are read again (`braid.lake.commit.streams.highest_read`). Dropped likewise.
        letters: The stream's dead letters (`braid.lake.commit.streams.stream_letters`). Dropped likewise.
        writes: Digests of the names of the newest single writes (`braid.lake.commit.streams.query_position`), oldest
            first. Dropped likewise.
    """

    stream: str
    epoch: int
    topic: str
    topic_id: str
    offsets: Mapping[int, int] = field(default_factory=dict)
    account: BatchAccount = BatchAccount()
    batch_id: int = -1
    commit_time_ms: int = 0
    generation: int = 0
    moves: tuple[PositionMove, ...] = ()
    highest_read: Mapping[int, HighestRead] = field(default_factory=dict)
    letters: StreamLetters = field(default_factory=StreamLetters)
    writes: tuple[str, ...] = ()

    @property
    def open_letters(self) -> int:
        """Return the number of the account's dead letters that were not replayed."""
        # A replay may write the record of a letter that the account never counted: it was sent by an attempt of
        # which the table does not know any more that it was not committed.
        return max(0, self.account.dead_lettered - self.letters.replayed_records)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamFallback:
    """A copy of a stream's position that is kept beside the table.

    Attributes:
        position: The copy.
        snapshot_id: The snapshot that it was copied from; None where that is unknown.
    """

    position: StreamPosition
    snapshot_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamBatch:
    """One micro-batch of a stream: the offsets it covers and what became of its records.

    Attributes:
        stream: Name of the stream.
        epoch: Epoch of the claim under which the batch was read.
        batch_id: Micro-batch id, counted from 0 within an epoch.
        topic: Name of the Kafka topic.
        topic_id: Kafka's id of the topic, "" when unknown.
        start: First offset per partition.
        end: Offset after the last one per partition; the same partitions as `start`.
        account: Account of the batch's records. They are at most as many as the offsets, and fewer when
            the topic is compacted or transactional.
        dead_letters: The dead letters of the account by reason.
        attempt: Number of the attempt at the batch, from 0: dead letters name it.
        write: Digest of the name of a single write; "" for every other batch.
    """

    stream: str
    epoch: int
    batch_id: int
    topic: str
    topic_id: str
    start: Mapping[int, int]
    end: Mapping[int, int]
    account: BatchAccount = BatchAccount()
    dead_letters: Mapping[str, int] = field(default_factory=dict)
    attempt: int = 0
    write: str = ""

    def __post_init__(self) -> None:
        assert self.start.keys() == self.end.keys(), "start and end name the same partitions"
        assert all(self.start[p] <= self.end[p] for p in self.start), "offsets go forward"
        assert self.account.records <= sum(self.end.values()) - sum(self.start.values()), (
            "an account speaks of no more records than the batch has offsets"
        )
        assert 0 <= self.batch_id < 1 << 32, "batch ids have 32 bits in a commit identifier"


def positions_of(snapshot: Snapshot) -> dict[str, StreamPosition]:
    """Return the positions that a snapshot carries, by stream; empty when it carries none.

    Raises:
        CorruptData: A property of this engine cannot be read.
    """
    return {
        key.removeprefix(STREAM_PREFIX): _parse_position(value, snapshot)
        for key, value in snapshot.properties.items()
        if key.startswith(STREAM_PREFIX)
    }


def batch_of(snapshot: Snapshot) -> StreamBatch | None:
    """Return the batch that made a snapshot; None for every other commit.

    Raises:
        CorruptData: A property of this engine cannot be read.
    """
    text = snapshot.properties.get(BATCH_PROPERTY)
    if text is None:
        return None
    try:
        value = orjson.loads(text)
        return StreamBatch(
            stream=value["stream"],
            epoch=value["epoch"],
            batch_id=value["batch_id"],
            topic=value["topic"],
            topic_id=value["topic_id"],
            start=parse_offsets(value["start"]),
            end=parse_offsets(value["end"]),
            account=BatchAccount(**value["account"]),
            dead_letters=dict(value.get("dead_letters", {})),
            attempt=value.get("attempt", 0),
            write=value.get("write", ""),
        )
    except (ValueError, TypeError, LookupError, AssertionError) as error:
        raise _unreadable(snapshot, BATCH_PROPERTY) from error


def position_properties(
    positions: Mapping[str, StreamPosition], *, read_from: Snapshot | None = None
) -> dict[str, str]:
    """Return the snapshot properties that carry the positions.

    Args:
        positions: The positions, by stream.
        read_from: The snapshot that they were read from, before some of them changed: the others are carried
            forward as they are written there, which costs next to nothing.
    """
    before = {} if read_from is None else read_from.properties
    carried = {} if read_from is None else positions_of(read_from)
    texts = {}
    for name, position in sorted(positions.items()):
        key = STREAM_PREFIX + name
        texts[key] = before[key] if carried.get(name) is position else _json(position)
    return texts


def batch_properties(batch: StreamBatch) -> dict[str, str]:
    """Return the snapshot property that carries a batch."""
    return {BATCH_PROPERTY: _json(batch)}


def move_properties(stream: str, moves: Sequence[PositionMove]) -> dict[str, str]:
    """Return the snapshot property that names the moves of a stream's position, in their order."""
    return {MOVES_PROPERTY: _json({stream: moves})}


def replay_properties(stream: str, by_reason: Mapping[str, int]) -> dict[str, str]:
    """Return the snapshot property that tells the dead letters replayed, by reason."""
    return {REPLAY_PROPERTY: orjson.dumps({stream: dict(by_reason)}).decode()}


def _json(value: StreamPosition | StreamBatch | Mapping[str, Sequence[PositionMove]]) -> str:
    options = orjson.OPT_NON_STR_KEYS | orjson.OPT_SORT_KEYS | orjson.OPT_PASSTHROUGH_DATACLASS
    return orjson.dumps(value, option=options, default=_plain).decode()


def _plain(value: object) -> object:
    if isinstance(value, StreamLetters):
        return letters_json(value)
    if is_dataclass(value) and not isinstance(value, type):
        found = {one.name: getattr(value, one.name) for one in fields(value)}
        # Only streams that queries write have these: every snapshot carries the positions of all streams.
        return {name: one for name, one in found.items() if one or name not in ("write", "writes")}
    assert isinstance(value, Mapping), f"{type(value)} is no JSON value"
    return dict(value)


def _parse_position(text: str, snapshot: Snapshot) -> StreamPosition:
    try:
        return _position(text)
    except (ValueError, TypeError, LookupError, AttributeError, AssertionError) as error:
        raise _unreadable(snapshot, STREAM_PREFIX) from error


@lru_cache(maxsize=_PARSED_MAX)
def _position(text: str) -> StreamPosition:
    value = orjson.loads(text)
    return StreamPosition(
        stream=value["stream"],
        epoch=value["epoch"],
        topic=value["topic"],
        topic_id=value["topic_id"],
        offsets=parse_offsets(value["offsets"]),
        account=BatchAccount(**value["account"]),
        batch_id=value["batch_id"],
        commit_time_ms=value["commit_time_ms"],
        generation=value.get("generation", 0),
        moves=tuple(_parse_move(move) for move in value.get("moves", ())),
        highest_read={
            int(partition): HighestRead(offset=one["offset"], reads_again=one["reads_again"])
            for partition, one in value.get("highest_read", {}).items()
        },
        letters=parse_letters(value["letters"]) if "letters" in value else StreamLetters(),
        writes=tuple(value.get("writes", ())),
    )


def _parse_move(value: Mapping[str, Any]) -> PositionMove:
    return PositionMove(
        time_ms=value["time_ms"],
        cause=MoveCause(value["cause"]),
        offsets={
            int(partition): (int(before), int(after))
            for partition, (before, after) in value["offsets"].items()
        },
    )


def parse_offsets(value: Mapping[str, int]) -> dict[int, int]:
    """Return the offsets by partition of a JSON object."""
    return {int(partition): int(offset) for partition, offset in value.items()}


def _unreadable(snapshot: Snapshot, key: str) -> CorruptData:
    message = f"snapshot {snapshot.id} has a property `{key}` that cannot be read"
    return CorruptData(message)
