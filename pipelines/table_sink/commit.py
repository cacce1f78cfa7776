"""Commit of a write: the files of all tasks in one snapshot, once."""

from collections.abc import Sequence
from dataclasses import replace

from braid.lake import (
    BATCHES,
    ROWS,
    BatchAccount,
    CommitConflict,
    CommitMessage,
    InvalidRequest,
    LakeError,
    QueryBatch,
    QueryTurn,
    StreamBatch,
    Table,
    commit_or_discard,
    parse_messages,
    write_digest,
)
from braid.pipelines.table_sink.stream_target import StreamTarget
from braid.pipelines.table_sink.write_task import WrittenRows
from braid.schemas import SPARK_TOPIC

_DYNAMIC_BUCKETS = -1


def commit_rows(target: StreamTarget, parts: Sequence[WrittenRows]) -> bool:
    """Publish the rows of all tasks of a batch.

    Args:
        target: The stream, as it is registered now.
        parts: The reports of the tasks, one at least.

    Returns:
        Whether the rows were added; False: the table had the batch already.

    Raises:
        CommitConflict: The batch has to be written again; nothing was committed, and its files are deleted.
        StreamFenced: Another query has taken the stream.
        CommitUnknown: It is unknown whether the batch is in the table; written again, it is recognized.
        LakeError: What `TableCommitter.commit_stream_batch` raises.
    """
    messages = messages_of(parts)
    try:
        turn = _turn(target, parts)
        if turn is None:
            target.table.delete_uncommitted(messages)
            return False
        _check_tasks(target.table, parts)
        if turn.needs_claim:
            target.table.committer().claim_query(parts[0].batch, turn)
    except LakeError:
        target.table.delete_uncommitted(messages)
        raise
    batch = _stream_batch(parts, turn, parts[0].batch)
    result = commit_or_discard(
        lambda: target.table.committer().commit_stream_batch(
            messages,
            batch,
            max_sequence_number=max(part.max_sequence_number for part in parts),
        ),
        discard=lambda: target.table.delete_uncommitted(messages),
    )
    return not result.are_files_unused


def messages_of(parts: Sequence[WrittenRows]) -> list[CommitMessage]:
    """Return the commit messages of all tasks."""
    return [message for part in parts if part.messages for message in parse_messages(part.messages)]


def _turn(target: StreamTarget, parts: Sequence[WrittenRows]) -> QueryTurn | None:
    """Return what all tasks have written with; None: the table has the batch already."""
    turns = {part.turn for part in parts}
    if len(turns) == 1 and target.table.committer().query_turn(parts[0].batch) in turns:
        return parts[0].turn
    if target.table.committer().query_turn(parts[0].batch) is None:
        return None
    message = (
        f"the stream {target.plan.key} was written by others since the tasks began: write again"
    )
    raise CommitConflict(message)


def _check_tasks(table: Table, parts: Sequence[WrittenRows]) -> None:
    written = sum(part.accepted > 0 for part in parts)
    if table.schema.table_options.bucket == _DYNAMIC_BUCKETS and written > 1:
        message = (
            f"{written} tasks have written rows, and a table with `bucket = -1` has one writer at a time"
            "\nhint: write `frame.coalesce(1)`"
        )
        raise InvalidRequest(message)


def _stream_batch(parts: Sequence[WrittenRows], turn: QueryTurn, batch: QueryBatch) -> StreamBatch:
    account = BatchAccount(
        accepted=sum(part.accepted for part in parts),
        folded=sum(part.folded for part in parts),
        ignored=sum(part.ignored for part in parts),
    )
    tasks = max(part.task for part in parts) + 1
    made = StreamBatch(
        stream=batch.stream,
        epoch=turn.epoch,
        batch_id=turn.batch,
        topic=SPARK_TOPIC,
        topic_id=batch.query,
        start={ROWS: turn.rows, BATCHES: turn.batch},
        # Numbers for the tasks, and for as many rows as the account has.
        end={ROWS: turn.rows + max(tasks, account.records), BATCHES: turn.batch + 1},
        account=account,
    )
    return made if batch.write is None else replace(made, write=write_digest(batch.write))
