"""Backfills in snapshots: their names among the streams, and the generations of their records. Pure.

A backfill writes older records into the sequence group of a stream, while the stream may run. It
has a position of its own. This position is stored, claimed and advanced like that of a stream,
under a name that no stream can have:

```
braid.stream.payments/backfill/history    StreamPosition of the backfill `history` of the stream `payments`
```

Generations of streams begin with 0, those of backfills with -32,768: every record of a stream is newer than every
record of a backfill, unless a declared ordering column decides. Each backfill of a table has a generation of its
own, so that records of two backfills never tie, and a later backfill corrects an earlier one.
"""

from collections.abc import Mapping
from typing import Final

from braid.lake.commit.streams.group_order import GENERATION_MIN
from braid.lake.commit.streams.stream_position import StreamPosition
from braid.lake.errors import LimitExceeded

BACKFILLS_MAX: Final = 100
"""Largest number of backfills of one table: every snapshot carries their positions."""
_INFIX: Final = "/backfill/"


def backfill_name(stream: str, name: str) -> str:
    """Return the name of a backfill among the positions of a table, which is also its commit user.

    Example:
        >>> backfill_name("payments", "history")
        'payments/backfill/history'
    """
    assert stream, "a backfill belongs to a stream"
    assert name, "a backfill has a name"
    return f"{stream}{_INFIX}{name}"


def split_backfill_name(position: str) -> tuple[str, str] | None:
    """Return the stream and the name of a backfill; None where a position is that of a stream.

    Example:
        >>> split_backfill_name("payments/backfill/history"), split_backfill_name("payments")
        (('payments', 'history'), None)
    """
    stream, infix, name = position.partition(_INFIX)
    return (stream, name) if infix else None


def next_backfill_generation(positions: Mapping[str, StreamPosition]) -> int:
    """Return the generation of a table's next backfill.

    Raises:
        LimitExceeded: The table has had as many backfills as it can.
    """
    taken = [
        position.generation
        for name, position in positions.items()
        if split_backfill_name(name) is not None
    ]
    if len(taken) >= BACKFILLS_MAX:
        message = (
            f"the table has had {len(taken)} backfills, which is the limit"
            "\nhint: give one backfill a folder with several files"
        )
        raise LimitExceeded(message)
    generation = max(taken, default=GENERATION_MIN - 1) + 1
    assert generation < 0, "backfills are older than streams"
    return generation
