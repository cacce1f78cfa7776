"""Rules for a declared format of Kafka keys (`key_format`).

Pure. With a key format, at least one column or condition has to read the key. If the values name a schema
registry, it is the same one. A key in Protobuf is read by its fields. Streams of captured changes have no key
format. `arrival_rules` says which columns may be read from the key.
"""

from collections.abc import Iterator

from braid.formats.part_conditions import parse_condition, source_of
from braid.lake import InvalidRequest
from braid.schemas import ColumnSource, FieldProblem, StreamSpec, schema_registry_of
from braid.schemas.field_problems import problem_at

_PATH = ("key_format",)


def check_key_format(stream: StreamSpec) -> Iterator[FieldProblem]:
    """Yield the problems of the format of a stream's Kafka keys.

    Args:
        stream: The completed stream.
    """
    declared = stream.key_format
    if declared is None:
        return
    if stream.captures_changes:
        yield problem_at(
            *_PATH,
            value=declared.type,
            message="the key of a captured change is read from its row",
            hint="leave `key_format` out, and `source` of the key's columns",
        )
        return
    columns = [
        (index, column)
        for index, column in enumerate(stream.columns)
        if column.source is ColumnSource.KEY
    ]
    paths = [*(column.source_path for _, column in columns), *_conditions_of_key(stream)]
    if not paths:
        yield problem_at(
            *_PATH,
            value=declared.type,
            message="no column and no condition is read from the Kafka key",
            hint='leave it out, or declare columns of the primary key with `"source": "key"`',
        )
    of_values = schema_registry_of(stream.format)
    if of_values is not None and of_values != declared.schema_registry:
        yield problem_at(
            *_PATH,
            "schema_registry",
            value=declared.schema_registry,
            message=f"the schema ids in values belong to the schema registry `{of_values}`",
            hint="name the same registry for keys and values",
        )
    if declared.type == "protobuf" and () in paths:
        where = next((index for index, column in columns if not column.source_path), None)
        yield problem_at(
            *(_PATH if where is None else ("columns", where, "path")),
            value=None,
            message="a Protobuf key is a message, which cannot be read as one value",
            hint="name the field of the message",
        )


def _conditions_of_key(stream: StreamSpec) -> Iterator[tuple[str, ...]]:
    for condition in (stream.where, stream.delete_when):
        if condition is None:
            continue
        try:
            comparisons = parse_condition(condition)
        except InvalidRequest:
            continue  # a problem of the condition
        for comparison in comparisons:
            if source_of(comparison) is ColumnSource.KEY:
                yield comparison.path
