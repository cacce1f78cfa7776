"""Read-after tokens: the pushed records that a snapshot must have taken in, readable by every service process.

    base64url of JSON: table, stream, topic id, highest offset by partition

The positions of streams are properties of each snapshot, so the service keeps no state.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import orjson

from braid.lake import InvalidRequest, Problem, Snapshot, positions_of
from braid.service.control.page_token import decode_token, encode_token

_SUMMARY: Final = "the parameter `read_after` is not valid"
_LENGTH_MAX: Final = 100_000  # characters; a partition takes some twenty


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadAfter:
    """Records of a stream.

    Attributes:
        table: `db.table`.
        stream: Name of the stream.
        topic_id: Kafka's id of the topic that they are in; "" if the cluster has no ids.
        offsets: The highest offset of these records, by partition.
    """

    table: str
    stream: str
    topic_id: str
    offsets: Mapping[int, int]


def to_token(after: ReadAfter) -> str:
    """Return the token of some records."""
    offsets = [[partition, offset] for partition, offset in sorted(after.offsets.items())]
    return encode_token(orjson.dumps([after.table, after.stream, after.topic_id, offsets]))


def parse_token(token: str) -> ReadAfter:
    """Return the records that a token stands for.

    Raises:
        InvalidRequest: `to_token` did not return the text.
    """
    try:
        fields = orjson.loads(decode_token(token[:_LENGTH_MAX]))
    except ValueError:  # not base64, or not JSON
        fields = None
    match fields:
        case [str(table), str(stream), str(topic_id), [_, *_] as pairs] if all(
            map(_is_pair, pairs)
        ):
            return ReadAfter(table=table, stream=stream, topic_id=topic_id, offsets=dict(pairs))
    hint = "use `read_after` of the answer to a push, or leave it out"
    message = "not a token of a push"
    raise _refused(message, hint=hint, value=token[:100])


def is_taken_in(after: ReadAfter, snapshot: Snapshot | None, *, table: str) -> bool:
    """Return whether a snapshot of a table has taken in all of the records: as rows, as dead letters, or as ignored records.

    Raises:
        InvalidRequest: The records were pushed to another table; or the stream reads another topic, or one that was
            created again under the same name.
    """
    if after.table != table:
        message = f"the token is of a push to {after.table}"
        raise _refused(message, hint=f"request a row of that table, not of {table}")
    position = None if snapshot is None else positions_of(snapshot).get(after.stream)
    if position is None or not position.topic:  # never claimed
        return False
    if position.topic_id != after.topic_id:
        message = f"stream {after.stream} does not read the topic any more that the records were pushed to"
        raise _refused(message, hint="push the records again, or leave the parameter out")
    return all(position.offsets.get(p, 0) > offset for p, offset in after.offsets.items())


def _is_pair(found: object) -> bool:
    match found:
        case [int(partition), int(offset)]:
            return partition >= 0 and offset >= 0
        case _:
            return False


def _refused(message: str, *, hint: str, value: str | None = None) -> InvalidRequest:
    problem = Problem(field="read_after", value=value, message=message, hint=hint)
    return InvalidRequest(_SUMMARY, problems=[problem])
