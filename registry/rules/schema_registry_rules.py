"""Rules for the schema registry of a stream: one that operators have named, and that the topic may use.

Pure. The runner checks its own file again when it starts the stream.
"""

from collections.abc import Iterator

from braid.formats.clusters.kafka_clusters import KafkaClusters
from braid.schemas import FieldProblem, StreamSpec, schema_registry_of
from braid.schemas.field_problems import problem_at, quoted_list

_OPERATORS = "operators name registries in the file of `--clusters`"


def check_schema_registry(stream: StreamSpec, clusters: KafkaClusters) -> Iterator[FieldProblem]:
    """Yield the problem of a stream's schema registry.

    Args:
        stream: The completed stream.
        clusters: The clusters and registries that this process knows.
    """
    name = stream.schema_registry
    if name is None:
        return
    path = (
        "key_format" if schema_registry_of(stream.format) is None else "format",
        "schema_registry",
    )
    registry = clusters.schema_registries.get(name)
    if registry is None:
        known = sorted(clusters.schema_registries)
        yield problem_at(
            *path,
            value=name,
            message="no schema registry of this name",
            hint=f"schema registries: {quoted_list(known)}; {_OPERATORS}" if known else _OPERATORS,
        )
    elif not registry.may_serve(stream.topic):
        yield problem_at(
            *path,
            value=name,
            message=f"streams of the topic `{stream.topic}` may not use this registry",
            hint=f"topics that may use it: {quoted_list(registry.topics)}",
        )
