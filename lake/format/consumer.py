"""A consumer file: from which snapshot on somebody still reads, as JSON.

`{"nextSnapshot": n}` keeps snapshot n and all later ones from expiring, in every engine of the
format. A lease of ours adds until when it holds and who took it; other engines ignore both keys.

Source: table-format 20.
"""

from dataclasses import dataclass

from lake.format.json_document import JsonDocument, dump_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Consumer:
    """How far a consumer has come.

    Attributes:
        next_snapshot: The oldest snapshot that it still needs.
        deadline_ms: Milliseconds since 1970 UTC after which it counts for nothing; None for a
            consumer that is no lease.
        holder: Free text for people: who took the lease.
    """

    next_snapshot: int
    deadline_ms: int | None = None
    holder: str | None = None


def parse_consumer(data: bytes) -> Consumer:
    """Return what the bytes of a consumer file say.

    Raises:
        CorruptData: No JSON object, or none with a whole number under `nextSnapshot`.

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
