"""Completion of requested stream definitions with defaults that depend on the table, the format and the topic.

Pure; it checks nothing. It adds the sequence group (the group with the stream's name), the columns, the effects of
deletes and tombstones, the dead-letter topic, and `trigger_ms` if `trigger` is an interval. All other defaults are
those of the fields of `StreamDefinition`.
"""

import hashlib

from braid.registry.layout.delete_options import deletes_of_stream
from braid.registry.layout.physical_table import ungrouped_columns
from braid.registry.names import TOPIC_LENGTH_MAX
from braid.schemas import (
    IntervalTrigger,
    MergeEngine,
    OnDelete,
    StreamColumn,
    StreamDefinition,
    StreamSpec,
    TableSpec,
    has_row_image,
)

DEAD_LETTERS = ".dead-letters"


def complete_stream(
    table: TableSpec, definition: StreamDefinition, *, name: str, known: StreamSpec | None = None
) -> StreamSpec:
    """Return the definition with defaults for all omitted fields; checks nothing.

    Args:
        table: The stream's table.
        definition: The requested definition.
        name: The stream's name, from the address.
        known: The stream as registered; None for a new one. Where the request omits the columns,
            they keep the sources of this one: a column that was renamed since has its old name in messages.
    """
    group_name = definition.sequence_group
    if group_name is None and table.sequence_group(name) is not None:
        group_name = name
    columns = definition.columns
    if not columns:
        read = {} if known is None else {one.column: one for one in known.columns}
        columns = tuple(
            read.get(column) or StreamColumn(column=column)
            for column in _default_columns(table, group_name)
        )
    values = definition.model_dump() | {
        "name": name,
        "on_tombstone": _on_tombstone(definition),
        "on_delete": definition.on_delete or _default_on_delete(table, definition, group_name),
        "sequence_group": group_name,
        "columns": columns,
        "dead_letter_topic": definition.dead_letter_topic
        or default_dead_letter_topic(definition.topic),
    }
    if isinstance(definition.trigger, IntervalTrigger):
        values["trigger_ms"] = definition.trigger.milliseconds
    return StreamSpec.model_validate(values)


def _default_on_delete(
    table: TableSpec, definition: StreamDefinition, group_name: str | None
) -> OnDelete | None:
    """Return the effect that the table declares for deletes; None: none, or the stream has no deletes."""
    deletes = deletes_of_stream(table, group_name)
    has_deletes = definition.delete_when is not None or definition.captures_changes
    return OnDelete(deletes.value) if has_deletes and deletes is not None else None


def _on_tombstone(definition: StreamDefinition) -> OnDelete:
    """Return what is declared; else tombstones of captured changes are repeats of the deletes before them."""
    is_repeat = (
        has_row_image(definition.format) and "on_tombstone" not in definition.model_fields_set
    )
    return OnDelete.IGNORE if is_repeat else definition.on_tombstone


def default_dead_letter_topic(topic: str) -> str:
    """Return `<topic>.dead-letters`; for a topic too long for that, a prefix and a digest of it."""
    name = f"{topic}{DEAD_LETTERS}"
    if len(name) <= TOPIC_LENGTH_MAX:
        return name
    # The digest keeps apart the dead letters of topics that share the prefix.
    digest = hashlib.sha256(topic.encode()).hexdigest()[:16]
    return f"{topic[: TOPIC_LENGTH_MAX - len(DEAD_LETTERS) - 17]}.{digest}{DEAD_LETTERS}"


def _default_columns(table: TableSpec, group_name: str | None) -> tuple[str, ...]:
    if table.merge_engine is not MergeEngine.PARTIAL_UPDATE:
        return table.column_names
    needed = set(table.primary_key)
    group = None if group_name is None else table.sequence_group(group_name)
    if group is not None:
        needed.update(group.columns, group.ordering or ())
    else:
        needed.update(table.unordered_columns.intersection(ungrouped_columns(table)))
    return tuple(name for name in table.column_names if name in needed)
