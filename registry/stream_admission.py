"""Admission of streams: completion of a requested definition, and the checks that it has to pass.

The checks are the rules for streams, the operators' file, takeovers, and the topic and group of the position in the
table. The registrar then fences former owners and writes the document.
"""

from typing import Final

from braid.formats.clusters.kafka_clusters import KafkaClusters
from braid.lake import StreamPosition, Table
from braid.registry.errors import DefinitionDiffers, DefinitionRefused
from braid.registry.rules.kafka_rules import check_kafka
from braid.registry.rules.schema_registry_rules import check_schema_registry
from braid.registry.rules.stream_bounds import check_bounds, check_trigger
from braid.registry.rules.stream_completion import complete_stream
from braid.registry.rules.stream_rules import check_stream
from braid.registry.takeover import (
    check_takeover,
    has_started,
    is_start_given,
    positions_in,
)
from braid.schemas import FieldProblem, StreamDefinition, StreamSpec, TableDocument
from braid.schemas.field_problems import display_text, problem_at

FIXED_ONCE_STARTED: Final = ("topic", "sequence_group")
"""Fields that cannot change once the table holds a stream's offsets in its topic, and what it has written to its group."""
_START_HINT = (
    "a former stream of this name has read that topic; set where this one starts "
    "(`starting_offsets`: "
    "`earliest`, `latest`), or choose another name"
)
_DELETE_HINT = "stop and delete this stream, and register it again with `starting_offsets`"


class StreamAdmission:
    """Checks definitions of streams against a table's document, its table and the clusters."""

    def __init__(self, clusters: KafkaClusters) -> None:
        self._clusters = clusters

    def admit(
        self,
        document: TableDocument,
        name: str,
        definition: StreamDefinition,
        *,
        table: Table | None,
    ) -> StreamSpec:
        """Return the completed definition of a stream that is to be registered or changed.

        Args:
            document: The newest document of the table.
            name: The stream's name, from the address.
            definition: The requested definition.
            table: The table; None: it does not exist yet.

        Raises:
            DefinitionRefused: The definition breaks rules, or the stream may not take over the columns of
                another one; `problems` has all reasons.
            DefinitionDiffers: The table holds offsets of this stream, and the change would make
                them those of another topic or group.
        """
        problems = _check_given_name(name, definition)
        streams = {other: entry.spec for other, entry in document.streams.items()}
        spec = complete_stream(document.table, definition, name=name, known=streams.get(name))
        # These are checked only here, and not when the table of a registered stream changes: the
        # operators' file may have changed since, and the runner enforces it at every start.
        if not spec.is_from_spark:
            problems += check_kafka(spec, self._clusters)
            problems += check_schema_registry(spec, self._clusters)
        problems += check_bounds(spec)
        problems += check_trigger(definition)
        problems += check_stream(document.table, streams, spec)
        old = streams.get(name)
        if old == spec and not problems:
            return spec
        if not problems:
            problems += check_takeover(document, table, spec, definition)
        if problems:
            message = f"the stream {name} cannot be registered on {document.identifier}"
            raise DefinitionRefused(message, problems=problems)
        assert spec.name == name, "the address names the stream"
        position = positions_in(table).get(name)
        if position is None or not position.topic:  # a stream of this name never read anything
            return spec
        # A stream with a requested start may read any topic, until it is started: it does not continue a position.
        if not has_started(document.streams.get(name), position) and not is_start_given(definition):
            _check_position(document.identifier, None, spec, position)
        if old is not None:
            _check_position(document.identifier, old, spec, position)
        return spec


def _check_position(
    identifier: str, old: StreamSpec | None, new: StreamSpec, position: StreamPosition
) -> None:
    """Refuse a topic or group that a stream's position in the table does not belong to.

    Args:
        identifier: `<database>.<table>`.
        old: The stream as registered; None for one that is not started yet: a former stream of its name has read the
            position's topic.
        new: The stream as it would be registered.
        position: The position of its name.
    """
    before = {"topic": position.topic}
    if old is not None:
        before = {field: getattr(old, field) for field in FIXED_ONCE_STARTED}
    problems = [
        problem_at(
            field,
            value=getattr(new, field),
            message=f"was `{display_text(value)}` and cannot change, because the table holds "
            "records that were read with it",
            hint=_DELETE_HINT if old is not None else _START_HINT,
        )
        for field, value in before.items()
        if getattr(new, field) != value
    ]
    if problems:
        message = f"the stream {new.name} of {identifier} cannot be changed to this"
        raise DefinitionDiffers(message, kind="stream", problems=problems)


def _check_given_name(name: str, definition: StreamDefinition) -> list[FieldProblem]:
    if definition.name in (None, name):
        return []
    hint = f"leave it out, or write `{name}`"
    message = f"the address names `{name}`"
    return [problem_at("name", value=definition.name, message=message, hint=hint)]
