"""Read-after tokens: the pushed records that a snapshot must have taken in, readable by every service process.

    base64url of JSON, newline, digests: table, stream, topic id, runs of consecutive offsets (partition, first offset,
    number of records); for each record six bytes of the digest of its row's key, zeros if that is not known

The positions of streams are properties of each snapshot, so the service keeps no state.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any, Final

import orjson

from braid.lake import InvalidRequest, Problem, StreamPosition, TableSchema
from braid.schemas.pushed_records import RECORDS_MAX
from braid.service.control.page_token import decode_token, encode_token

_SUMMARY: Final = "the parameter `read_after` is not valid"
_LENGTH_MAX: Final = 100_000  # characters; a record takes eight, a run some twenty
_DIGEST_BYTES: Final = 6
_UNKNOWN: Final = bytes(_DIGEST_BYTES)


@dataclass(frozen=True, slots=True, order=True)
class PushedPlace:
    """The place of a pushed record in its topic."""

    partition: int
    offset: int


@dataclass(frozen=True, kw_only=True)  # no slots: cached_property needs a dictionary
class ReadAfter:
    """Pushed records of a stream.

    Attributes:
        table: `db.table`.
        stream: Name of the stream.
        topic_id: Kafka's id of the topic that they are in; "" if the cluster has no ids.
        records: The place of each record, with the digest of its row's key (`key_digest`); None: the key is not known.
    """

    table: str
    stream: str
    topic_id: str
    records: Mapping[PushedPlace, bytes | None]

    @cached_property
    def offsets(self) -> Mapping[int, int]:
        """The highest offset of the records, by partition."""
        highest: dict[int, int] = {}
        for place in self.records:
            highest[place.partition] = max(place.offset, highest.get(place.partition, 0))
        return highest


def key_digest(schema: TableSchema, row: Mapping[str, Any] | None) -> bytes | None:
    """Return a digest of the key of a row that is given as JSON values; None without a row, or without its key."""
    if row is None or any(name not in row for name in schema.primary_keys):
        return None
    key = orjson.dumps([row[name] for name in schema.primary_keys])
    return blake2b(key, digest_size=_DIGEST_BYTES).digest()


def to_token(after: ReadAfter) -> str:
    """Return the token of some records."""
    runs: list[list[int]] = []
    places = sorted(after.records)
    for place in places:
        if runs and (place.partition, place.offset) == (runs[-1][0], runs[-1][1] + runs[-1][2]):
            runs[-1][2] += 1
        else:
            runs.append([place.partition, place.offset, 1])
    digests = b"".join(after.records[place] or _UNKNOWN for place in places)
    head = orjson.dumps([after.table, after.stream, after.topic_id, runs])
    return encode_token(head + b"\n" + digests)


def parse_token(token: str) -> ReadAfter:
    """Return the records that a token stands for.

    Raises:
        InvalidRequest: `to_token` did not return the text.
    """
    fields, digests = None, b""
    try:
        head, _, digests = decode_token(token[:_LENGTH_MAX]).partition(b"\n")
        fields = orjson.loads(head)
    except ValueError:  # not base64, or not JSON
        pass
    match fields:
        case [str(table), str(stream), str(topic_id), [_, *_] as runs] if all(map(_is_run, runs)):
            # Tokens are not signed: a forged one must not name more records than a push has.
            count = sum(run[2] for run in runs)
            if count <= RECORDS_MAX and len(digests) == count * _DIGEST_BYTES:
                records = dict(zip(_places(runs), _split(digests), strict=True))
                return ReadAfter(table=table, stream=stream, topic_id=topic_id, records=records)
    hint = "use `read_after` of the answer to a push, or leave it out"
    message = "not a token of a push"
    raise _refused(message, hint=hint, value=token[:100])


def is_taken_in(after: ReadAfter, positions: Mapping[str, StreamPosition], *, table: str) -> bool:
    """Return whether a snapshot of a table has taken in all of the records: as rows, as dead letters, or as ignored records.

    Args:
        after: The records.
        positions: The positions of the table's streams in the snapshot.
        table: `db.table`.

    Raises:
        InvalidRequest: The records were pushed to another table; or the stream reads another topic, or one that was
            created again under the same name.
    """
    if after.table != table:
        message = f"the token is of a push to {after.table}"
        raise _refused(message, hint=f"request a row of that table, not of {table}")
    position = positions.get(after.stream)
    if position is None or not position.topic:  # never claimed
        return False
    if position.topic_id != after.topic_id:
        message = f"stream {after.stream} does not read the topic any more that the records were pushed to"
        raise _refused(message, hint="push the records again, or leave the parameter out")
    return all(position.offsets.get(p, 0) > offset for p, offset in after.offsets.items())


def _places(runs: list[list[int]]) -> Iterator[PushedPlace]:
    for partition, first, count in runs:
        for offset in range(first, first + count):
            yield PushedPlace(partition, offset)


def _split(digests: bytes) -> Iterator[bytes | None]:
    for start in range(0, len(digests), _DIGEST_BYTES):
        digest = digests[start : start + _DIGEST_BYTES]
        yield None if digest == _UNKNOWN else digest


def _is_run(found: object) -> bool:
    match found:
        case [int(partition), int(first), int(count)]:
            return partition >= 0 and first >= 0 and count >= 1
        case _:
            return False


def _refused(message: str, *, hint: str, value: str | None = None) -> InvalidRequest:
    problem = Problem(field="read_after", value=value, message=message, hint=hint)
    return InvalidRequest(_SUMMARY, problems=[problem])
