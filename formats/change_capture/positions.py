"""Positions of changes in the log of their database, as bytes that compare as the changes follow each other.

Each database has parts of its own. A read of a snapshot (phase 0) is below the changes of the log (phase 1) at the same
position, and above all changes before it. Positions that are equal have no order of their own.

| database | parts, most significant first |
|---|---|
| PostgreSQL | log position of the last commit before the change's own, or of the change itself behind a snapshot; phase; log position of the change |
| MySQL, MariaDB | number of the log file, position of the event in it, phase, row of the event |
| SQL Server | `commit_lsn`, phase, `change_lsn` (none in a snapshot), `event_serial_no` |
| MongoDB | second of the cluster's time, ordinal in it, phase |
| Oracle | `commit_scn` (`scn` in a snapshot), phase, `scn` |
| Maxwell | number of the log file, position in it, phase, row of the transaction; its last row is behind the others |

The parts come as texts, in whatever form a message has them. A change has no position without its place in the log: the
position of the change (PostgreSQL), file and position (MySQL, MariaDB, Maxwell), `commit_lsn`, both of MongoDB's numbers,
`scn`. Other parts may be missing.

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
    row = pc.if_else(is_last, pa.scalar(_LAST, pa.int64()), _whole(parts["xoffset"]).fill_null(0))
    file, pos = (pc.struct_field(place, name).cast(pa.int64()) for name in ("file", "pos"))
    return _joined([file, pos, _phase(is_read), row], [file])


_Parts: TypeAlias = tuple[Sequence[pa.Array], Sequence[pa.Array]]
"""The parts, most significant first, and those without which there is no position."""


def _postgresql(parts: PositionParts, phase: pa.Array) -> _Parts:
    sequence = pc.extract_regex(parts["sequence"], _SEQUENCE)
    change = pc.struct_field(sequence, "change").cast(pa.int64())
    # A group that did not match is empty.
    text = pc.struct_field(sequence, "commit")
    commit = pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text).cast(pa.int64())
    return [pc.coalesce(commit, change), phase, change], [change]


def _mysql(parts: PositionParts, phase: pa.Array) -> _Parts:
    file = pc.struct_field(pc.extract_regex(parts["file"], _FILE), "number").cast(pa.int64())
    pos = _whole(parts["pos"])
    return [file, pos, phase, _whole(parts["row"]).fill_null(0)], [file, pos]


def _sqlserver(parts: PositionParts, phase: pa.Array) -> _Parts:
    commit, change = (_log_sequence_number(parts[name]) for name in ("commit_lsn", "change_lsn"))
    serial = _whole(parts["event_serial_no"]).fill_null(0)
    return [commit, phase, change, serial], [commit]


def _mongodb(parts: PositionParts, phase: pa.Array) -> _Parts:
    moment, ordinal = (_whole(parts[name]) for name in ("ts_ms", "ord"))
    return [moment, ordinal, phase], [moment, ordinal]


def _oracle(parts: PositionParts, phase: pa.Array) -> _Parts:
    change = _whole(parts["scn"])
    commit = pc.coalesce(_whole(parts["commit_scn"]), change)
    return [commit, phase, change], [change]


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


def _joined(parts: Sequence[pa.Array], needed: Sequence[pa.Array]) -> pa.BinaryArray:
    found = comparable_bytes(parts)
    for part in needed:
        found = pc.if_else(part.is_valid(), found, pa.scalar(None, found.type))
    return found
