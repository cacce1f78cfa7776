"""Consumer files: the oldest snapshot that a reader still needs, as JSON.

`{"nextSnapshot": n}` keeps snapshot n and all later ones from expiring, in every engine of the
format. With `consumer.changelog-only` it keeps only their changelogs. The file of a lease, which
only this engine has, also names its holder and its deadline, after which this engine ignores the
file. Other engines ignore both keys. For leases this engine ignores `consumer.changelog-only`.

Source: table-format 20.
"""

from dataclasses import dataclass

from braid.lake.format.json_document import JsonDocument, dump_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Consumer:
    """The progress of a consumer.

    Attributes:
        next_snapshot: The oldest snapshot that the consumer still needs.
        deadline_ms: Time after which the lease keeps no snapshot any more, milliseconds since 1970 UTC;
            None for a consumer that is not a lease.
        holder: Description of the lease's holder, for people.
    """

    next_snapshot: int
    deadline_ms: int | None = None
    holder: str | None = None


def parse_consumer(data: bytes) -> Consumer:
    """Return the consumer in the bytes of a consumer file.

    Raises:
        CorruptData: The bytes are not a JSON object with a whole number under `nextSnapshot`, or a key of a
            lease has a value of the wrong kind.

    Example:
        >>> parse_consumer(b'{"nextSnapshot": 5, "later": true}').next_snapshot
        5
    """
    document = JsonDocument.parse(data, what="consumer")
    return Consumer(
        next_snapshot=document.integer("nextSnapshot"),
        deadline_ms=document.optional_integer("leaseUntilMillis"),
        holder=document.optional_text("leaseHolder"),
    )


def serialize_consumer(consumer: Consumer) -> bytes:
    """Return the bytes of a consumer file."""
    return dump_json(
        {
            "nextSnapshot": consumer.next_snapshot,
            "leaseUntilMillis": consumer.deadline_ms,
            "leaseHolder": consumer.holder,
        }
    )
