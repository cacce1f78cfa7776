"""The answers of a service about streams, as text."""

from collections.abc import Iterable

from braid.cli.output import NOTHING, TextTable, cell, facts
from braid.schemas import StreamStatus
from braid.schemas.api import StreamView


def streams_text(streams: Iterable[StreamView]) -> TextTable:
    """Return a line for each stream: what it is declared to be."""
    rows = [
        (
            f"{stream.database}.{stream.table}",
            stream.name,
            stream.spec.topic,
            stream.spec.sequence_group or NOTHING,
            stream.desired_state.value,
            str(stream.version),
        )
        for stream in streams
    ]
    columns = ("table", "stream", "topic", "group", "desired state", "version")
    return TextTable(columns=columns, rows=rows, numbers=frozenset({"version"}))


def stream_text(stream: StreamView) -> TextTable:
    """Return a line for each column of a stream: where its value comes from."""
    rows = [
        (
            column.column,
            column.source.value,
            cell(column.expression or column.constant or column.path or column.column),
            "" if column.on_missing is None else column.on_missing.value,
        )
        for column in stream.spec.columns
    ]
    return TextTable(columns=("column", "source", "from", "if missing"), rows=rows)


def status_text(status: StreamStatus) -> TextTable:
    """Return the state of a stream, a line for each fact that is known."""
    account = status.account
    letters = ", ".join(f"{count} {reason}" for reason, count in status.dead_letters.items())
    failure = status.failure
    return facts(
        (
            ("stream", f"{status.database}.{status.table}/{status.stream}"),
            ("state", status.state.value),
            ("desired state", status.desired_state.value),
            ("failure", None if failure is None else failure.cause),
            ("next attempt", None if failure is None else failure.next_attempt_at),
            ("trace", status.trace if failure is None else None),
            ("runner", status.worker_id),
            ("lag in seconds", status.lag_seconds),
            ("lag in records", status.lag_records),
            ("last commit", None if status.last_commit is None else status.last_commit.time),
            ("offsets", _offsets(status.offsets)),
            ("end of the topic", _offsets(status.end_offsets or {})),
            ("records", account.records),
            ("dead letters", f"{account.dead_lettered}{f' ({letters})' if letters else ''}"),
            ("replayed dead letters", status.replayed_dead_letters or None),
            ("skipped offsets", status.skipped_offsets or None),
            ("columns without values", ", ".join(status.unmatched_columns) or None),
            ("version", status.version),
            ("version in effect", status.followed_version),
        )
    )


def _offsets(offsets: object) -> str | None:
    if not isinstance(offsets, dict) or not offsets:
        return None
    return " ".join(f"{partition}:{offset}" for partition, offset in sorted(offsets.items()))
