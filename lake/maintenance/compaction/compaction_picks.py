"""Choice of the files of a bucket to compact, in full and in due compactions, and the state kept between choices.

The rules about the size and number of runs are in `braid.lake.lsm`. This module has two more rules: files with old
retracts are chosen by the age of the file, and files with expired rows by the share of such rows that statistics
estimate.

Source: merge-semantics 7.2, 7.3.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, TypeAlias

from braid.lake.files.column_mapping import OlderSchemas
from braid.lake.format.bucket import BucketId
from braid.lake.format.schema import TableSchema
from braid.lake.lsm.compaction_pick import CompactionUnit, PickState, first_pick_state
from braid.lake.lsm.compaction_plan import full_compaction_unit
from braid.lake.lsm.level_0_merge import pick_merge_or_compaction
from braid.lake.lsm.levels import Levels
from braid.lake.merge.row_expiry import row_expiry
from braid.lake.merge.spec import merge_spec
from braid.lake.options.table_options import TableOptions
from braid.lake.read.expired_files import expired_shares

Pick: TypeAlias = Callable[[BucketId, Levels, frozenset[str]], CompactionUnit | None]
"""From a bucket, its levels, and the names of its files with deletion vectors to the files to compact, if any."""

ExpiredShares: TypeAlias = Callable[[Levels], Mapping[str, float]]
"""From the levels of a bucket to its files that may have expired rows, by name, with the estimated share of such
rows, 0 to 1."""

_EXPIRED_SHARE_DUE: Final = 0.5


@dataclass(slots=True)
class CompactionMemory:
    """State of picking per bucket, such as the time of its last full compaction; not thread-safe.

    Attributes:
        states: State of each bucket, by bucket.
    """

    states: dict[BucketId, PickState] = field(default_factory=dict)


def full_pick(schema: TableSchema, expired: ExpiredShares, *, now_ms: int) -> Pick:
    """Return the pick of a full compaction: all files of a bucket.

    In a bucket that is one run on the highest level already, only the files with rows to drop are picked (see
    `full_compaction_unit`).

    Args:
        schema: Schema of the table.
        expired: Estimates the expired rows of files.
        now_ms: Milliseconds since 1970 UTC.
    """
    options = schema.table_options

    def pick(_bucket_id: BucketId, levels: Levels, marked: frozenset[str]) -> CompactionUnit | None:
        old = _with_old_retracts(levels, options, now_ms=now_ms)
        return full_compaction_unit(levels, options, marked=marked | old | expired(levels).keys())

    return pick


def due_pick(
    schema: TableSchema, memory: CompactionMemory, expired: ExpiredShares, *, now_ms: int
) -> Pick:
    """Return the pick of due compactions, by the rules of universal compaction or merges of level 0.

    Where these rules find nothing, a full compaction (`full_compaction_unit`) is picked for files with deletes
    past their retention. It includes newer files, which may have a late record that only the delete suppresses.
    The same is done for files that may have expired rows, once about half of the rows of the highest level are
    expired. So an expired row takes room for about twice its time to live at most, and the rewrite of a live row
    is paid by the removal of another row.

    Args:
        schema: Schema of the table.
        memory: State of earlier calls, which the pick updates.
        expired: Estimates the expired rows of files.
        now_ms: Milliseconds since 1970 UTC; off-peak hours are in this machine's time zone.
    """
    spec, options = merge_spec(schema), schema.table_options
    local_hour = datetime.fromtimestamp(now_ms / 1000).astimezone().hour

    def pick(bucket_id: BucketId, levels: Levels, _marked: frozenset[str]) -> CompactionUnit | None:
        state = memory.states.get(bucket_id) or first_pick_state(levels, utc_ms_of=_utc_ms)
        picked = pick_merge_or_compaction(
            levels, spec, options, state, now_ms=now_ms, local_hour=local_hour
        )
        memory.states[bucket_id] = picked.state
        if picked.unit is not None:
            return picked.unit
        old = _with_old_retracts(levels, options, now_ms=now_ms)
        old |= _with_many_expired(levels, expired)
        return full_compaction_unit(levels, options, marked=old) if old else None

    return pick


def expired_in(schema: TableSchema, older_schemas: OlderSchemas, *, now_ms: int) -> ExpiredShares:
    """Return the function that estimates the expired rows of files, by statistics.

    Args:
        schema: Schema of the table.
        older_schemas: By id, the schemas of files that were written with other columns.
        now_ms: Milliseconds since 1970 UTC.
    """
    expiry = row_expiry(schema)
    if expiry is None:
        return lambda _levels: {}
    live = expiry.at(now_ms)
    return lambda levels: expired_shares(levels.files, live, schema, older_schemas)


def _with_many_expired(levels: Levels, expired: ExpiredShares) -> frozenset[str]:
    """Return the names of files with expired rows if about half of the highest level's rows are expired."""
    bottom = [file for file in levels.files if file.level == levels.max_level]
    if not bottom:
        return frozenset()
    shares = expired(levels)
    rows = sum(file.row_count for file in bottom)
    gone = sum(file.row_count * shares.get(file.file_name, 0.0) for file in bottom)
    if gone < rows * _EXPIRED_SHARE_DUE:
        return frozenset()
    return frozenset(file.file_name for file in bottom if file.file_name in shares)


def _with_old_retracts(levels: Levels, options: TableOptions, *, now_ms: int) -> frozenset[str]:
    """Return the names of files on the highest level whose kept retracts are past their retention.

    The age of the file decides, so the file is not read: when it is older than the retention, so are all
    retracts in it.
    """
    retention_ms = options.delete_retention_ms
    if retention_ms is None:
        return frozenset()
    return frozenset(
        file.file_name
        for file in levels.files
        if file.level == levels.max_level
        and file.delete_row_count != 0
        and (
            file.creation_time_ms is None or now_ms - _utc_ms(file.creation_time_ms) > retention_ms
        )
    )


def _utc_ms(wall_ms: int) -> int:
    """Return the instant of a wall time in this machine's zone, as the format stores creation times."""
    wall = datetime.fromtimestamp(wall_ms / 1000, tz=UTC).replace(tzinfo=None)
    return round(wall.astimezone().timestamp() * 1000)
