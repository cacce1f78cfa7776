"""Rules for replays of dead letters, and for the reasons by which a request selects letters. Pure.

A replayed record is written long after the records that followed it in the topic. So either the table stores the order of
records, in a sequence group, whose order ends with generation, offset and partition; or the table is an aggregation table in
which no column depends on the order. For all other tables, and for streams that remove rows, replays are refused, because a
replayed record could win over newer records. A replay is not refused if a record that was written before would count twice;
`counts_repetitions` says whether it would.
"""

from collections.abc import Iterator

from braid.formats.dead_letter import DeadLetterReason
from braid.registry.layout.column_functions import column_functions, why_repetition_matters
from braid.registry.layout.delete_options import deletes_of_stream
from braid.registry.rules.arrival_rules import shows_older_rows
from braid.schemas import (
    Deletes,
    FieldProblem,
    LetterSelection,
    MergeEngine,
    OnDelete,
    StreamSpec,
    TableSpec,
)
from braid.schemas.field_problems import problem_at, quoted_list


def check_replay(
    table: TableSpec, stream: StreamSpec, selection: LetterSelection
) -> Iterator[FieldProblem]:
    """Yield why dead letters of a stream cannot be replayed."""
    reasons = [reason.value for reason in DeadLetterReason]
    for index, reason in enumerate(selection.reasons):
        if reason not in reasons:
            yield problem_at(
                "reasons",
                index,
                value=reason,
                message="there is no such reason",
                hint=f"choose from {quoted_list(reasons)}",
            )
    why = _why_not(table, stream)
    if why is not None:
        yield problem_at(
            "stream",
            value=stream.name,
            message=f"{why}, so a replayed record would win over newer ones",
            hint="produce the corrected records to the stream's topic, where they are the newest ones",
        )


def counts_repetitions(table: TableSpec, stream: StreamSpec) -> bool:
    """Return whether a column that the stream writes counts a value again when its record is written again."""
    functions = column_functions(table)
    return any(
        why_repetition_matters(functions[column]) is not None
        for column in stream.column_names
        if column in functions
    )


def _why_not(table: TableSpec, stream: StreamSpec) -> str | None:
    of_table = deletes_of_stream(table, stream.sequence_group)
    by_kind = of_table is Deletes.REMOVE_ROW and "rowkind.field" in table.options
    if by_kind or OnDelete.REMOVE_ROW in (stream.on_delete, stream.on_tombstone):
        return "the stream removes rows, and compactions may have dropped the deletes"
    if table.merge_engine is MergeEngine.FIRST_ROW:
        return "the table keeps the row that was written first, whatever its place in the topic"
    if shows_older_rows(table, stream):
        return "the rows of the table are ordered by when they were written"
    return None
