"""Readers of the values of a stream by its plan: of rows, and of captured changes."""

from collections.abc import Sequence

from braid.formats.change_capture.changes import ChangeReader
from braid.formats.change_capture.event_columns import database_columns
from braid.formats.change_capture.readers import change_reader
from braid.formats.mapped_column import MappedColumn
from braid.formats.message_reader import MessageReader
from braid.formats.readers import message_reader
from braid.formats.schema_registry.schema_source import SchemaSource
from braid.records.stream_plan import StreamPlan
from braid.schemas import ChangeFormat, OnNewField


def reader_of_changes(plan: StreamPlan, schemas: SchemaSource | None) -> ChangeReader | None:
    """Return the reader of a stream's events; None where its messages are rows.

    Args:
        plan: The stream.
        schemas: The schemas that messages name; None where the stream's format names no registry.
    """
    declared = plan.spec.format
    if not isinstance(declared, ChangeFormat):
        return None
    key = frozenset(plan.written.key)
    return change_reader(
        declared,
        plan.change_columns,
        has_position=bool(plan.position_columns),
        key_fields=frozenset(c.path[0] for c in plan.value_columns if c.name in key),
        schemas=schemas,
        tells_types=plan.spec.on_new_field is OnNewField.EVOLVE,
    )


def value_readers(
    plan: StreamPlan,
    of_deletes: Sequence[MappedColumn],
    changes: ChangeReader | None,
    schemas: SchemaSource | None,
) -> tuple[MessageReader, MessageReader | None]:
    """Return the readers of a stream's values, and of the values of its deletes; None: it has no deletes.

    Args:
        plan: The stream.
        of_deletes: The columns that are read from deletes.
        changes: Reads the events of captured changes; None where records are rows.
        schemas: The schemas that messages name; None where the stream's format names no registry.
    """
    finds_undeclared = plan.spec.on_new_field is not OnNewField.IGNORE
    if changes is not None:
        rows = changes.rows(
            database_columns(plan.value_columns),
            paths_of_other_streams=plan.paths_of_other_streams,
            finds_undeclared=finds_undeclared,
        )
        if not plan.spec.has_deletes:
            return rows, None
        return rows, changes.rows(database_columns(of_deletes), of_deletes=True)
    values = message_reader(
        plan.spec.format,
        plan.value_columns,
        fields=plan.fields,
        paths_of_other_streams=plan.paths_of_other_streams,
        finds_undeclared=finds_undeclared,
        schemas=schemas,
    )
    if not plan.spec.has_deletes:
        return values, None
    deletes = message_reader(plan.spec.format, of_deletes, fields=plan.fields, schemas=schemas)
    return values, deletes
