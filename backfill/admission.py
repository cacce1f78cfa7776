"""Admission of a backfill: whether older records can be written into a table beside its live stream. Pure.

| what the stream writes | when a backfill is allowed |
|---|---|
| a sequence group | at any time: the group's order decides, and the backfill's generation is below that of the stream |
| columns with functions that count a repeated value twice, such as `sum` | if it begins before the stream has read its first record; never from the stream's own topic, nor from a source that another backfill of the stream has read |
| rows that are ordered by when they are written, or removed by deletes | if it begins on a table without rows, and while the stream has read no record; if the stream is started meanwhile, the backfill's commits fail |
| columns whose functions depend neither on order nor on repetition | at any time |
| captured changes | never: rows of files have no place in the log of a database |

If several lines apply, a backfill has to fulfil all of them. With `--bulk`, which fills the table in one commit of
sorted runs, the table must also have no rows, and no deletes of the stream may remove rows.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from braid.lake import InvalidRequest, Problem, StreamPosition
from braid.registry.layout.column_functions import column_functions, why_repetition_matters
from braid.registry.rules.arrival_rules import shows_older_rows
from braid.schemas import MergeEngine, OnDelete, StreamSpec, TableSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class TableNow:
    """The table when a backfill starts.

    Attributes:
        position: The position of the live stream; None: it was never started.
        has_rows: Whether the table has rows.
        is_begun: Whether the backfill has been begun before.
        same_source: Name of another backfill of the stream with the same source, begun or ended; None without one.
    """

    position: StreamPosition | None
    has_rows: bool
    is_begun: bool
    same_source: str | None = None

    @property
    def has_read(self) -> bool:
        """Whether the live stream has read a record."""
        return self.position is not None and self.position.account.records > 0


def needs_idle_stream(table: TableSpec, stream: StreamSpec) -> bool:
    """Return whether the order of writing decides between a row of the stream and an older one of a backfill."""
    is_first_row = table.merge_engine is MergeEngine.FIRST_ROW and stream.sequence_group is None
    return is_first_row or shows_older_rows(table, stream)


def check_admission(
    table: TableSpec,
    stream: StreamSpec,
    now: TableNow,
    *,
    own_topic: bool,
    is_bulk: bool = False,
) -> None:
    """Refuse a backfill that would leave other rows than the stream alone.

    Args:
        table: The table as declared.
        stream: The stream.
        now: The table as it is.
        own_topic: Whether the records come from the stream's own topic.
        is_bulk: Whether one commit fills the table with sorted runs.

    Raises:
        InvalidRequest: For the reasons that `problems` has.
    """
    problems = [
        *_changes(stream),
        *_order(table, stream, now),
        *_repetition(table, stream, now, own_topic),
    ]
    problems += _bulk(stream, now) if is_bulk else ()
    if problems:
        message = f"the stream {stream.name} cannot be backfilled"
        raise InvalidRequest(message, problems=problems)


def _changes(stream: StreamSpec) -> Iterator[Problem]:
    if stream.captures_changes:
        yield Problem(
            field="STREAM",
            value=stream.name,
            message="a stream of captured changes cannot be backfilled: rows of files have no position in the log of a database",
            hint="take a snapshot with the connector, whose reads are older than all later changes, or set the "
            "position of the stream back",
        )


def _order(table: TableSpec, stream: StreamSpec, now: TableNow) -> Iterator[Problem]:
    if not needs_idle_stream(table, stream):
        return
    why = (
        "an older row that is written later would win, because this table orders rows by the time of writing "
        "(also where their values of `sequence.field` are equal), or because deletes remove its rows"
    )
    hint = "backfill the empty table first, and start the stream afterwards"
    if now.has_read:
        yield Problem(
            field="STREAM",
            value=stream.name,
            message=f"the stream has read records already; {why}",
            hint=hint,
        )
    elif now.has_rows and not now.is_begun:
        yield Problem(
            field="TABLE", value=None, message=f"the table has rows already; {why}", hint=hint
        )


def _bulk(stream: StreamSpec, now: TableNow) -> Iterator[Problem]:
    if now.has_rows:
        yield Problem(
            field="--bulk",
            value=None,
            message="the table has rows already, and --bulk fills only an empty table",
            hint="backfill without --bulk",
        )
    if OnDelete.REMOVE_ROW in (stream.on_delete, stream.on_tombstone):
        yield Problem(
            field="--bulk",
            value=None,
            message="the stream has deletes that remove rows, and --bulk cannot write deletes, because it writes to "
            "the highest level",
            hint="backfill without --bulk",
        )


def _repetition(
    table: TableSpec, stream: StreamSpec, now: TableNow, own_topic: bool
) -> Iterator[Problem]:
    functions = column_functions(table)
    counted = [
        name
        for name in stream.column_names
        if name in functions and why_repetition_matters(functions[name]) is not None
    ]
    if not counted:
        return
    shown = ", ".join(counted)
    if own_topic:
        yield Problem(
            field="--topic",
            value=stream.topic,
            message=f"the stream reads this topic itself, and {shown} would count its records twice",
            hint="set the position of the stream instead: records that it has not read count once",
        )
    elif now.same_source is not None:
        yield Problem(
            field="--name",
            value=None,
            message=f"the backfill {now.same_source} has read the same files, and {shown} would count them "
            "twice",
            hint="continue that backfill: give its name",
        )
    elif now.has_read and not now.is_begun:
        yield Problem(
            field="STREAM",
            value=stream.name,
            message=f"the stream has read records already, and {shown} would count records twice "
            "that are also in the files",
            hint="begin the backfill before the stream reads its first record",
        )
