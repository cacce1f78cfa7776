"""What a snapshot's properties say about the streams of its table. Pure.

Read here without the product's own code, which is what the chaos test judges.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Range(NamedTuple):
    """Offsets of a partition: from the first, up to and without the second."""

    start: int
    end: int


class Place(NamedTuple):
    """A partition of a stream's topic."""

    stream: str
    partition: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """A micro-batch: the offsets that it covers, and what became of its records.

    Attributes:
        stream: Name of the stream.
        attempt: `epoch.batch.attempt`, which its dead letters name.
        ranges: Its offsets, by partition.
        account: Numbers of records by treatment.
        letters: Numbers of dead letters by reason.
    """

    stream: str
    attempt: str
    ranges: Mapping[int, Range]
    account: Mapping[str, int]
    letters: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A move of a position that a snapshot names."""

    place: Place
    before: int
    after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """One snapshot.

    Attributes:
        snapshot_id: Its id.
        batch: The micro-batch that made it; None: another commit.
        moves: The moves that it names, in their order.
        offsets: The next offset of each place.
        accounts: The account of each stream.
    """

    snapshot_id: int
    batch: Batch | None = None
    moves: tuple[Move, ...] = ()
    offsets: Mapping[Place, int] = field(default_factory=dict)
    accounts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


def commit_of(snapshot_id: int, properties: Mapping[str, str]) -> Commit:
    """Return the commit that a snapshot's properties describe."""
    prefix = "braid.stream."
    positions: dict[str, Any] = {
        key.removeprefix(prefix): json.loads(value)
        for key, value in properties.items()
        if key.startswith(prefix)
    }
    return Commit(
        snapshot_id=snapshot_id,
        batch=_batch(json.loads(properties["braid.batch"]))
        if "braid.batch" in properties
        else None,
        moves=tuple(_moves(json.loads(properties.get("braid.moves", "{}")))),
        offsets={
            Place(stream, int(partition)): offset
            for stream, position in positions.items()
            for partition, offset in position["offsets"].items()
        },
        accounts={stream: position["account"] for stream, position in positions.items()},
    )


def _batch(value: Mapping[str, Any]) -> Batch:
    return Batch(
        stream=value["stream"],
        attempt=f"{value['epoch']}.{value['batch_id']}.{value.get('attempt', 0)}",
        ranges={
            int(partition): Range(start, value["end"][partition])
            for partition, start in value["start"].items()
        },
        account=value["account"],
        letters=value.get("dead_letters", {}),
    )


def _moves(value: Mapping[str, Any]) -> list[Move]:
    return [
        Move(place=Place(stream, int(partition)), before=before, after=after)
        for stream, moves in value.items()
        for move in moves
        for partition, (before, after) in move["offsets"].items()
    ]
