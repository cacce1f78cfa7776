"""Rows and their status by key, from the lookup of one snapshot, with the snapshot and its freshness.

`verified_ms` is a time just before the snapshot was determined: an answer from the newest snapshot contains
everything that was committed until then.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson
import pyarrow as pa

from braid.formats.json_values import json_row
from braid.formats.key_values import parse_key, parse_keys
from braid.lake import HiddenRecords, LakeError, LimitExceeded, Snapshot, SnapshotLookup
from braid.registry.layout.physical_table import shown_fields
from braid.schemas import RowStatus, SnapshotInfo
from braid.service.control.row_status import StatusRules
from braid.service.limits import ROWS_BYTES_MAX
from braid.service.times import iso_utc

_KEYS_AT_ONCE: Final = 100

WriteRow = Callable[[Mapping[str, object]], dict[str, Any]]
"""Returns the JSON values of a row (`json_writer`)."""


class SnapshotNotReached(LakeError):
    """The table has no snapshot yet that is as new as the request demands."""


class RowNotFound(LakeError):
    """The table has no row of that key in the requested state, whose snapshot is `snapshot`."""

    def __init__(self, message: str, snapshot: SnapshotInfo) -> None:
        self.snapshot = snapshot
        super().__init__(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class LookedUp:
    """A snapshot in which rows are looked up.

    Attributes:
        lookup: Rows at the snapshot.
        verified_ms: When the snapshot was determined, milliseconds since 1970.
        write_row: The function for rows of the snapshot's schema.
        shown: The columns that are read where a request names none; None: all.
        may_read: Whether a row may be read from storage; else `NotCopied` is raised.
        is_newest: Whether the snapshot was the newest at `verified_ms`.
    """

    lookup: SnapshotLookup
    verified_ms: int
    write_row: WriteRow
    shown: tuple[str, ...] | None = None
    may_read: bool = True
    is_newest: bool = True

    def get(
        self, key: Mapping[str, object], *, columns: Sequence[str] | None = None
    ) -> Mapping[str, object] | None:
        """Return the row of a key as `SnapshotLookup.get` does."""
        get = self.lookup.get if self.may_read else self.lookup.get_copied
        return get(key, columns=self.shown if columns is None else columns)

    @property
    def snapshot(self) -> SnapshotInfo:
        """The snapshot as answers have it."""
        return SnapshotInfo(**self.snapshot_fields)

    @property
    def snapshot_fields(self) -> dict[str, Any]:
        """The same as JSON values."""
        return snapshot_fields(self.lookup.snapshot, self.verified_ms, hidden=self.lookup.hidden)


def snapshot_fields(
    snapshot: Snapshot | None, verified_ms: int, *, hidden: HiddenRecords | None = None
) -> dict[str, Any]:
    """Return the fields of `SnapshotInfo` for a snapshot that was determined at a time.

    Args:
        snapshot: The snapshot; None for a table without one.
        verified_ms: Milliseconds since 1970.
        hidden: What readers of the snapshot do not see; None: they see everything.
    """
    fields: dict[str, Any] = {
        "id": None if snapshot is None else snapshot.id,
        "commit_time": None if snapshot is None else iso_utc(snapshot.time_millis),
        "verified_at": iso_utc(verified_ms),
    }
    if hidden is not None:
        fields["hidden"] = {"records": hidden.records, "files": hidden.files}
    return fields


def measured_ms(snapshot: Snapshot | None, verified_ms: int, *, is_newest: bool) -> int:
    """Return the time at which ages are measured: now for the newest state, the commit for an older one."""
    return verified_ms if is_newest or snapshot is None else snapshot.time_millis


def find_row(
    at: LookedUp,
    parameters: Sequence[tuple[str, str]],
    *,
    columns: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Return the row of a key, as JSON values in the order of the columns.

    Args:
        at: The snapshot.
        parameters: The key's columns and their texts.
        columns: The columns to return, which `at.write_row` writes; None: those of the table that are shown.

    Raises:
        RowNotFound: The row does not exist; the message has the key and the snapshot.
        KeyRefused: The parameters are not a key of the table.
        InvalidRequest: The table has no column of a name in `columns`.
    """
    key = parse_key(at.lookup.schema, parameters)
    row = at.get(key, columns=columns)
    if row is None:
        raise row_not_found(at, key)
    return at.write_row(row)


def row_not_found(at: LookedUp, key: Mapping[str, object]) -> RowNotFound:
    """Return the error for a key without a row; the message has the key and the snapshot."""
    schema, snapshot = at.lookup.schema, at.lookup.snapshot
    shown = json_row(key, [schema.field(name) for name in key])
    where = ": it has no snapshot yet" if snapshot is None else f" at snapshot {snapshot.id}"
    message = f"{at.lookup.identifier} has no row {orjson.dumps(shown).decode()}{where}"
    return RowNotFound(message, at.snapshot)


def find_row_as_arrow(
    at: LookedUp,
    parameters: Sequence[tuple[str, str]],
    *,
    columns: Sequence[str] | None = None,
) -> pa.Table:
    """Return what `find_row` returns as a table of one row, with the columns of `find_rows_as_arrow`."""
    key = parse_key(at.lookup.schema, parameters)
    found = at.lookup.rows_of([key], columns=_arrow_columns(at, columns))
    if not found.num_rows:
        raise row_not_found(at, key)
    return found


def find_rows(
    at: LookedUp,
    keys: Sequence[Mapping[str, str | int | float]],
    *,
    columns: Sequence[str] | None = None,
    bytes_max: int = ROWS_BYTES_MAX,
) -> list[orjson.Fragment | None]:
    """Return the rows of several keys as JSON, in their order, None where there is no row; see `find_row`.

    Raises:
        LimitExceeded: The rows have more than `bytes_max` bytes.
    """
    parsed = parse_keys(at.lookup.schema, keys)
    read = at.shown if columns is None else columns
    rows: list[orjson.Fragment | None] = []
    size = 0
    # In parts, and as bytes at once: rows are large as Python values, and the answer is refused before all are read.
    for start in range(0, len(parsed), _KEYS_AT_ONCE):
        for row in at.lookup.get_many(parsed[start : start + _KEYS_AT_ONCE], columns=read):
            written = None if row is None else orjson.dumps(at.write_row(row))
            size += 0 if written is None else len(written)
            rows.append(None if written is None else orjson.Fragment(written))
        _check_size(size, len(rows), len(parsed), bytes_max)
    return rows


def _check_size(size: int, rows: int, keys: int, bytes_max: int) -> None:
    if size > bytes_max:
        message = (
            f"the first {rows} of {keys} rows have {size} bytes; the limit is {bytes_max}\n"
            "hint: ask for fewer keys, or for some columns"
        )
        raise LimitExceeded(message)


def find_rows_as_arrow(
    at: LookedUp,
    keys: Sequence[Mapping[str, str | int | float]],
    *,
    columns: Sequence[str] | None = None,
    bytes_max: int = ROWS_BYTES_MAX,
) -> pa.Table:
    """Return the rows of those keys that have one, in the order of the keys; with the key's columns, to tell which these are.

    Raises:
        LimitExceeded: The rows have more than `bytes_max` bytes.
    """
    parsed = parse_keys(at.lookup.schema, keys)
    names = _arrow_columns(at, columns)
    parts = [at.lookup.rows_of([], columns=names)]
    size = 0
    for start in range(0, len(parsed), _KEYS_AT_ONCE):
        parts.append(at.lookup.rows_of(parsed[start : start + _KEYS_AT_ONCE], columns=names))
        size += parts[-1].nbytes
        _check_size(size, min(start + _KEYS_AT_ONCE, len(parsed)), len(parsed), bytes_max)
    return pa.concat_tables(parts)


def _arrow_columns(at: LookedUp, columns: Sequence[str] | None) -> list[str]:
    """Return the requested columns, before them those of the key that were not requested."""
    schema = at.lookup.schema
    shown = (field.name for field in shown_fields(schema)) if at.shown is None else at.shown
    names = [*(shown if columns is None else columns)]
    return [*(name for name in schema.primary_keys if name not in names), *names]


def find_row_status(
    at: LookedUp,
    rules: StatusRules,
    key: Mapping[str, object],
    *,
    integers_as_text: bool = False,
) -> RowStatus:
    """Return the status of the row of a key, whether it exists or not; that of an older state is as of its commit."""
    return rules.status(
        key=key,
        row=at.get(key, columns=rules.columns),
        now_ms=measured_ms(at.lookup.snapshot, at.verified_ms, is_newest=at.is_newest),
        snapshot=at.snapshot,
        integers_as_text=integers_as_text,
    )
