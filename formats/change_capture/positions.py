"""Positions of changes in the log of a database, encoded as bytes whose order is the order of the changes.

Each database has its own parts. A row that a snapshot read (phase 0) is ordered before the changes of the log (phase 1) at the
same position, and after all changes at lower positions. Two changes with equal positions have no defined order.

| database | parts, most significant first |
|---|---|
| PostgreSQL | log position of the last commit before the commit of the change, or of the change itself if the message has none; phase; log position of the change |
| MySQL, MariaDB | number of the log file, position of the event in it, phase, row of the event |
| SQL Server | `commit_lsn`, phase, `change_lsn` (none in a snapshot), `event_serial_no` |
| MongoDB | second of the cluster's time, ordinal in it, phase |
| Oracle | `commit_scn` (`scn` where it is missing), phase, `scn` |
| Maxwell | number of the log file, position in it, phase, number of the row in the transaction; the last row comes after all others |

The parts are given as texts, in the form that the message has. A change has no position if a part is missing or malformed.
Only the following parts may be missing, null or the text `NULL`, because connectors do not always send them:

- PostgreSQL's last commit; the position of the change is used in its place;
- SQL Server's `change_lsn` and `event_serial_no`, in a row that a snapshot read;
- Oracle's `commit_scn`; `scn` is used in its place;
- Maxwell's row of the transaction; 0 is used in its place.

Source: decision 0053.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from braid.lake import comparable_bytes
from braid.schemas import SourceDatabase

PositionParts: TypeAlias = Mapping[str, pa.StringArray]
"""By name of the field, its text in each change; null where a change has none."""

MAXWELL_FIELDS: Final = ("position", "xoffset", "commit")
"""The fields of Maxwell's messages that tell the position."""

_FIELDS: Final[Mapping[SourceDatabase, tuple[str, ...]]] = {
    SourceDatabase.POSTGRESQL: ("sequence",),
    SourceDatabase.MYSQL: ("file", "pos", "row"),
    SourceDatabase.SQLSERVER: ("commit_lsn", "change_lsn", "event_serial_no"),
    SourceDatabase.MONGODB: ("ts_ms", "ord"),
    SourceDatabase.ORACLE: ("commit_scn", "scn"),
}
_SEQUENCE: Final = (
    r'^\[\s*(?:null|"?(?P<commit>[0-9]{1,18})"?)\s*,\s*"?(?P<change>[0-9]{1,18})"?\s*\]$'
)
_WHOLE: Final = r"^(?P<number>[0-9]{1,18})$"
_FILE: Final = r"(?:^|\.)(?P<number>[0-9]{1,18})$"
_PLACE: Final = r"(?:^|\.)(?P<file>[0-9]{1,18}):(?P<pos>[0-9]{1,18})$"
_LSN: Final = r"^[0-9a-fA-F]{8}:[0-9a-fA-F]{8}:[0-9a-fA-F]{4}$"
_LAST: Final = (1 << 62) - 1
_NULL: Final = "NULL"
"""The text of a number that the connector does not know."""


def position_fields(database: SourceDatabase) -> tuple[str, ...]:
    """Return the names of the fields of Debezium's `source` that tell the position of a change."""
    return _FIELDS[database]


def change_positions(
    database: SourceDatabase, parts: PositionParts, is_read: pa.BooleanArray
) -> pa.BinaryArray:
    """Return the positions of changes that Debezium has captured; null where a change has none.

    Args:
        database: The database.
        parts: The fields `position_fields`.
        is_read: Whether each change is a row as a snapshot has read it, without nulls.
    """
    phase = _phase(is_read)
    return _joined(*_PARTS_OF[database](parts, phase))


def maxwell_positions(parts: PositionParts, is_read: pa.BooleanArray) -> pa.BinaryArray:
    """Return the positions of changes that Maxwell has captured; null where a change has none.

    Args:
        parts: The fields `MAXWELL_FIELDS`.
        is_read: Whether each change is a row of a bootstrap, without nulls.
    """
    place = pc.extract_regex(parts["position"], _PLACE)
    is_last = pc.equal(parts["commit"], "true").fill_null(False)
    number = _whole(parts["xoffset"])
    row = pc.if_else(is_last, pa.scalar(_LAST, pa.int64()), number.fill_null(0))
    file, pos = (pc.struct_field(place, name).cast(pa.int64()) for name in ("file", "pos"))
    has_row = pc.or_(is_last, _is_sound(parts["xoffset"], number))
    return _joined([file, pos, _phase(is_read), row], [file.is_valid(), has_row])


_Parts: TypeAlias = tuple[Sequence[pa.Array], Sequence[pa.Array]]
"""The parts, most significant first, and what has to be true of a change that has a position."""


def _postgresql(parts: PositionParts, phase: pa.Array) -> _Parts:
    sequence = pc.extract_regex(parts["sequence"], _SEQUENCE)
    change = pc.struct_field(sequence, "change").cast(pa.int64())
    # A group that did not match is empty.
    text = pc.struct_field(sequence, "commit")
    commit = pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text).cast(pa.int64())
    return [pc.coalesce(commit, change), phase, change], [change.is_valid()]


def _mysql(parts: PositionParts, phase: pa.Array) -> _Parts:
    file = pc.struct_field(pc.extract_regex(parts["file"], _FILE), "number").cast(pa.int64())
    pos, row = _whole(parts["pos"]), _whole(parts["row"])
    return [file, pos, phase, row], [part.is_valid() for part in (file, pos, row)]


def _sqlserver(parts: PositionParts, phase: pa.Array) -> _Parts:
    commit, change = (_log_sequence_number(parts[name]) for name in ("commit_lsn", "change_lsn"))
    serial = _whole(parts["event_serial_no"])
    is_read = pc.equal(phase, 0)
    has_all = pc.and_(change.is_valid(), serial.is_valid())
    are_sound = pc.and_(
        _is_sound(parts["change_lsn"], change), _is_sound(parts["event_serial_no"], serial)
    )
    needed = [commit.is_valid(), pc.if_else(is_read, are_sound, has_all)]
    return [commit, phase, change, serial.fill_null(0)], needed


def _mongodb(parts: PositionParts, phase: pa.Array) -> _Parts:
    moment, ordinal = (_whole(parts[name]) for name in ("ts_ms", "ord"))
    return [moment, ordinal, phase], [moment.is_valid(), ordinal.is_valid()]


def _oracle(parts: PositionParts, phase: pa.Array) -> _Parts:
    change = _whole(parts["scn"])
    commit = _whole(parts["commit_scn"])
    needed = [change.is_valid(), _is_sound(parts["commit_scn"], commit)]
    return [pc.coalesce(commit, change), phase, change], needed


_PARTS_OF: Final[Mapping[SourceDatabase, Callable[[PositionParts, pa.Array], _Parts]]] = {
    SourceDatabase.POSTGRESQL: _postgresql,
    SourceDatabase.MYSQL: _mysql,
    SourceDatabase.SQLSERVER: _sqlserver,
    SourceDatabase.MONGODB: _mongodb,
    SourceDatabase.ORACLE: _oracle,
}


def _phase(is_read: pa.BooleanArray) -> pa.Array:
    return pc.invert(is_read).cast(pa.int8())


def _whole(texts: pa.StringArray) -> pa.Array:
    """Return the numbers of texts; null where a text is none of up to 18 digits."""
    return pc.struct_field(pc.extract_regex(texts, _WHOLE), "number").cast(pa.int64())


def _log_sequence_number(texts: pa.StringArray) -> pa.StringArray:
    """Return log sequence numbers of SQL Server, whose digits compare as they do; null for other texts."""
    is_number = pc.match_substring_regex(texts, _LSN)
    return pc.utf8_lower(pc.if_else(is_number, texts, pa.scalar(None, pa.string())))


def _is_sound(texts: pa.StringArray, found: pa.Array) -> pa.BooleanArray:
    """Return where a part has been read from its text, or is missing; false where it is malformed."""
    return pc.or_(found.is_valid(), pc.equal(texts, _NULL).fill_null(True))


def _joined(parts: Sequence[pa.Array], needed: Sequence[pa.BooleanArray]) -> pa.BinaryArray:
    found = comparable_bytes(parts)
    for is_there in needed:
        found = pc.if_else(is_there, found, pa.scalar(None, found.type))
    return found
