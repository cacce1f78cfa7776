"""The state of a table to read: that of a snapshot, of a tag or of a point in time."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, TypeAlias

from braid.lake.errors import InvalidRequest, Problem
from braid.lake.table.arguments import check_snapshot_id, refuse_argument

_LONG_MIN, _LONG_MAX = -(1 << 63), (1 << 63) - 1
_DIGITS_MAX: Final = 19
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EXPECTED: Final = (
    "milliseconds since 1970 UTC, or ISO 8601 with a zone, such as `2026-01-31T05:15:00Z`"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadAt:
    """A state of a table, named by at most one of three attributes; without any, the newest state.

    Attributes:
        snapshot_id: The id of a snapshot, from 1.
        tag: The name of a tag; it can be read even after its snapshot has expired.
        timestamp: A time, which names the newest snapshot committed at that time or before:
            milliseconds since 1970 UTC (a number, or its digits as text), ISO 8601 text or a
            `datetime`, both with a zone. A time without a zone would depend on the machine, so it
            is refused.

    Raises:
        InvalidRequest: More than one attribute is given, or a value is of the wrong kind.

    Example:
        >>> ReadAt(timestamp="1970-01-01T00:00:02Z").time_ms
        2000
        >>> print(ReadAt(tag="month-end"))
        tag month-end
    """

    snapshot_id: int | None = None
    tag: str | None = None
    timestamp: int | str | datetime | None = None

    def __post_init__(self) -> None:
        """Refuse values of the wrong kind, and more than one."""
        if self.snapshot_id is not None:
            check_snapshot_id(self.snapshot_id)
        if self.tag is not None and not isinstance(self.tag, str):
            refuse_argument("tag", self.tag, "the name of a tag")
        given = [
            name for name in ("snapshot_id", "tag", "timestamp") if getattr(self, name) is not None
        ]
        if len(given) > 1:
            problems = [
                Problem(
                    field=name,
                    value=str(getattr(self, name)),
                    message=f"cannot be given together with {given[0]}",
                )
                for name in given[1:]
            ]
            message = "a state is named by only one of a snapshot, a tag and a timestamp"
            raise InvalidRequest(message, problems=problems)
        if self.timestamp is not None:
            _milliseconds(self.timestamp)

    @staticmethod
    def of(at: "SnapshotRef | None") -> "ReadAt":
        """Return the state that an argument `at` of a read method names.

        Args:
            at: A number is the id of a snapshot, None the newest state.

        Raises:
            InvalidRequest: `at` is neither of these nor a `ReadAt`, or the number is no id.
        """
        if at is None:
            return NEWEST
        if isinstance(at, ReadAt):
            return at
        if not isinstance(at, int):
            refuse_argument("at", at, "the id of a snapshot, or a `ReadAt`")
        return ReadAt(snapshot_id=at)

    @property
    def is_newest(self) -> bool:
        """Whether no attribute is given, which names the newest state."""
        return self.snapshot_id is None and self.tag is None and self.timestamp is None

    @property
    def time_ms(self) -> int | None:
        """The timestamp in milliseconds since 1970 UTC; None where none is given.

        Digits below a millisecond are cut off, because commit times are in milliseconds.
        """
        return None if self.timestamp is None else _milliseconds(self.timestamp)

    def __str__(self) -> str:
        """Return the state as text for messages."""
        if self.snapshot_id is not None:
            return f"snapshot {self.snapshot_id}"
        if self.tag is not None:
            return f"tag {self.tag}"
        return "the newest snapshot" if self.timestamp is None else f"the state of {self.timestamp}"


NEWEST: Final = ReadAt()
"""The newest state."""

SnapshotRef: TypeAlias = int | ReadAt
"""The argument `at` of the read methods: the id of a snapshot, or a state."""


def _milliseconds(timestamp: object) -> int:
    """Return a timestamp in milliseconds since 1970 UTC."""
    if isinstance(timestamp, int) and not isinstance(timestamp, bool):
        if not _LONG_MIN <= timestamp <= _LONG_MAX:
            refuse_argument("timestamp", timestamp, "a whole number of 64 bits")
        return timestamp
    if isinstance(timestamp, str):
        digits = timestamp.removeprefix("-")
        if digits.isascii() and digits.isdigit() and len(digits) <= _DIGITS_MAX:
            return _milliseconds(int(timestamp))
        try:
            time = datetime.fromisoformat(timestamp)
        except ValueError:
            time = None
        if time is None or time.utcoffset() is None:
            refuse_argument("timestamp", timestamp, _EXPECTED)
        return _milliseconds(time)
    if not isinstance(timestamp, datetime) or timestamp.utcoffset() is None:
        shown = timestamp.isoformat() if isinstance(timestamp, datetime) else timestamp
        refuse_argument("timestamp", shown, _EXPECTED)
    return (timestamp - _EPOCH) // timedelta(milliseconds=1)
