"""Rules for tables whose rows expire (`record-level.expire-time`).

All rules hold whenever a table is created, altered or rescaled. Some of them also decide whether a
table of another engine can be compacted (`uncompactable_expiry`). The reference accepts any
duration, and any changelog producer; the changelogs of the reference do not contain the removal of
expired rows.

Source: merge-semantics 7.4; the bound of the duration and the conflict with changelogs are ours.
"""

from collections.abc import Iterator
from typing import Final

from braid.lake.declaration.rule_problems import conflict, find_field, unknown_column
from braid.lake.errors import Problem
from braid.lake.format.schema import TableSchema
from braid.lake.merge.row_expiry import EXPIRY_ROOTS
from braid.lake.options.table_options import ChangelogProducer, TableOptions

EXPIRE_TIME: Final = "record-level.expire-time"
TIME_FIELD: Final = "record-level.time-field"
_TYPES: Final = "INT, BIGINT, TIMESTAMP or TIMESTAMP_LTZ"


def row_expiry_problems(schema: TableSchema, options: TableOptions) -> Iterator[Problem]:
    """Yield a problem for each rule of expiry that the declaration of a new, altered or rescaled table breaks."""
    expire_ms, name = options.record_level_expire_time_ms, options.record_level_time_field
    yield from uncompactable_expiry(schema, options)
    if expire_ms is None:
        if name is not None:
            yield from _time_field_problems(schema, name)
        return
    declared = schema.options[EXPIRE_TIME]
    if expire_ms < 1_000:
        yield Problem(
            field=EXPIRE_TIME,
            value=declared,
            message="expected a duration of at least 1 s",
            hint="leave it out to keep rows until they are deleted; fractions of seconds do not count",
        )


def uncompactable_expiry(schema: TableSchema, options: TableOptions) -> Iterator[Problem]:
    """Yield a problem for everything that hinders a compaction from removing expired rows."""
    if options.record_level_expire_time_ms is None:
        return
    declared, name = schema.options[EXPIRE_TIME], options.record_level_time_field
    if name is None:
        yield Problem(
            field=TIME_FIELD,
            value=None,
            message=f"`{EXPIRE_TIME}` needs the time from which it counts",
            hint=f"name a column of type {_TYPES}",
        )
    else:
        yield from _time_field_problems(schema, name)
    producer = options.changelog_producer
    if producer in (ChangelogProducer.LOOKUP, ChangelogProducer.FULL_COMPACTION):
        yield conflict(
            EXPIRE_TIME,
            declared,
            f"changelog-producer = {producer}",
            "rows expire by time alone, so the changelog would keep rows that the table has no more",
        )


def _time_field_problems(schema: TableSchema, name: str) -> Iterator[Problem]:
    field = find_field(schema, name)
    if field is None:
        yield unknown_column(TIME_FIELD, name, schema)
    elif field.type.root not in EXPIRY_ROOTS:
        yield Problem(
            field=TIME_FIELD,
            value=name,
            message=f"column `{name}` is {field.type}, expected {_TYPES}",
            hint="whole numbers are seconds since 1970, or milliseconds from 10^12 on in a BIGINT",
        )
