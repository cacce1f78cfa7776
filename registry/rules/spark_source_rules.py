"""Rules for streams that Spark feeds: no field that is about a topic, its messages or its query is declared.

Pure. Columns come from the columns of the rows, by name. Whether a row is a delete, the program says with the option
`row-kind.column`.
"""

from collections.abc import Iterator
from typing import Final

from braid.registry.rules.stream_completion import default_dead_letter_topic
from braid.schemas import (
    SPARK_TOPIC,
    FieldProblem,
    OnDelete,
    StreamColumn,
    StreamDefinition,
    StreamSpec,
)
from braid.schemas.field_problems import problem_at

_DECLARED: Final = (
    "name",
    "source",
    "columns",
    "sequence_group",
    "on_null_ordering",
    "on_delete",
    "labels",
    "owner",
    "weight",
)
_HINT: Final = "leave it out, or let a runner read the records from a topic"


def check_spark_source(stream: StreamSpec) -> Iterator[FieldProblem]:
    """Yield the problems of a stream that Spark feeds; none of a stream from Kafka."""
    if not stream.is_from_spark:
        return
    completed = {
        "topic": SPARK_TOPIC,
        "dead_letter_topic": default_dead_letter_topic(stream.topic),
        "trigger": StreamSpec.model_fields["trigger"].default,
    }
    for name, field in StreamDefinition.model_fields.items():
        if name in _DECLARED:
            continue
        default = completed.get(name, field.get_default(call_default_factory=True))
        found = getattr(stream, name)
        if found != default:
            yield problem_at(
                name,
                value=found if isinstance(found, str) else None,
                message="cannot be declared: the source of the stream is Spark",
                hint=_HINT,
            )
    for index, column in enumerate(stream.columns):
        if column != StreamColumn(column=column.column):
            yield problem_at(
                "columns",
                index,
                value=column.column,
                message="a column of a stream from Spark is read from the column of its name alone",
                hint="name the column only, and compute its values in Spark",
            )
    if stream.on_delete is OnDelete.DEAD_LETTER:
        yield problem_at(
            "on_delete",
            value=stream.on_delete.value,
            message="a stream from Spark has no dead letters: a write with a row that is refused fails",
            hint="leave it out: deletes are then refused",
        )
