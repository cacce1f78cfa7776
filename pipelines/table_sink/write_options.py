"""Options of writes with the format `braid`: the table, the stream, row kinds, and what identifies the write."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from braid.lake import Problem
from braid.pipelines.spark.source_options import (
    TABLE,
    WAREHOUSE,
    by_known_name,
    refuse,
    unknown_options,
)

STREAM: Final = "stream"
ROW_KIND_COLUMN: Final = "row-kind.column"
WRITE_ID: Final = "write.id"
TAKEOVER: Final = "takeover"
OPTIONS: Final = (WAREHOUSE, TABLE, STREAM, ROW_KIND_COLUMN, WRITE_ID, TAKEOVER)
_OF_SPARK: Final = ("checkpointlocation", "queryname")
"""Options that Spark passes on to sinks."""
_WRITE_ID_MAX: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOptions:
    """The options of one write, parsed.

    Attributes:
        warehouse: Address of the warehouse.
        table: `db.table`.
        stream: Name of the stream, which is registered with the source `spark`.
        row_kind_column: Name of the column with the kinds of rows; None: every row is an upsert.
        write_id: Name of a batch write, by which a retry is recognized; None: each write is a new one.
        takeover: Id of the query from which the stream may be taken; None: from none.
    """

    warehouse: str
    table: str
    stream: str
    row_kind_column: str | None = None
    write_id: str | None = None
    takeover: str | None = None


def write_options(options: Mapping[str, str], *, is_streaming: bool) -> WriteOptions:
    """Return the options with their values parsed.

    Args:
        options: The options as Spark passes them; the case of names does not matter.
        is_streaming: Whether a streaming query writes.

    Raises:
        InvalidRequest: `problems` has each option that is unknown, missing or malformed.
    """
    given = by_known_name(options, OPTIONS)
    problems = unknown_options(given, OPTIONS, passed_on=_OF_SPARK)
    problems += [
        Problem(
            field=key,
            value=None,
            message="missing",
            hint="name the warehouse, the table (`db.name`), and the stream that the rows belong to",
        )
        for key in (WAREHOUSE, TABLE, STREAM)
        if not given.get(key)
    ]
    write_id = given.get(WRITE_ID)
    if write_id is not None and not 0 < len(write_id) <= _WRITE_ID_MAX:
        message = f"expected a text of 1 to {_WRITE_ID_MAX} characters"
        problems.append(Problem(field=WRITE_ID, value=write_id, message=message))
    if write_id is not None and is_streaming:
        problems.append(
            Problem(
                field=WRITE_ID,
                value=write_id,
                message="a streaming query has no such option",
                hint="leave it out: the checkpoint identifies the query and its batches",
            )
        )
    refuse(problems)
    return WriteOptions(
        warehouse=given[WAREHOUSE],
        table=given[TABLE],
        stream=given[STREAM],
        row_kind_column=given.get(ROW_KIND_COLUMN),
        write_id=write_id,
        takeover=given.get(TAKEOVER),
    )
