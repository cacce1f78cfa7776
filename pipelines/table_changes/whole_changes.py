"""Tables whose changes are whole rows in the order in which they came to be. Pure.

| `changelog-producer` | changes | whole rows |
|---|---|---|
| `lookup`, `full-compaction` | the effect on rows, with the row before | always |
| `input` | the records, with the kinds that they were given | where a record replaces its row: `deduplicate` without `sequence.field` |
| `none` | the records of appends | likewise; each is an upsert or a delete, without the row before |

Elsewhere a record is a part of a row (partial-update, aggregation), or has no effect (first-row, a late record). Such
records are read only if they are asked for as they are.
"""

from braid.lake import ChangelogProducer, InvalidRequest, MergeEngine, Problem, TableSchema

_OF_RECORDS = (ChangelogProducer.NONE, ChangelogProducer.INPUT)


def check_whole_changes(schema: TableSchema, *, is_raw: bool) -> None:
    """Refuse a table whose changes are only parts of rows, unless records are asked for as they were written.

    Raises:
        InvalidRequest: The changes are partial.
    """
    options = schema.table_options
    if is_raw or options.changelog_producer not in _OF_RECORDS:
        return
    reason = _why_partial(schema)
    if reason is not None:
        problem = Problem(
            field="changelog-producer",
            value=options.changelog_producer.value,
            message=reason,
            hint="set the table's option `changelog-producer` to `lookup` or `full-compaction`, or read the records as they "
            "were written with the option `raw`; a batch read has no start",
        )
        message = "the table has no changelog of whole rows"
        raise InvalidRequest(message, problems=[problem])


def _why_partial(schema: TableSchema) -> str | None:
    options = schema.table_options
    match options.merge_engine:
        case MergeEngine.DEDUPLICATE:
            if options.sequence_field:
                return "a record may be late, and then has no effect on its row"
            return None
        case MergeEngine.FIRST_ROW:
            return "only the first record of a key has an effect"
        case _:
            return "a record has only a part of its row"
