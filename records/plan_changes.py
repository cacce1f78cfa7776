"""Reader of the captured changes of a stream, by its plan."""

from braid.formats.change_capture.changes import ChangeReader
from braid.formats.change_capture.readers import change_reader
from braid.formats.schema_registry.schema_source import SchemaSource
from braid.records.stream_plan import StreamPlan
from braid.schemas import ChangeFormat


def plan_changes(plan: StreamPlan, schemas: SchemaSource | None) -> ChangeReader | None:
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
    )
