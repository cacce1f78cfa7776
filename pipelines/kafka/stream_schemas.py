"""Schemas of a stream's messages and keys: the schema registry that their formats name, with its secrets resolved.

The stream may have been registered before the operators' file was changed, or by a service with another file. So the
registry's name and the topic are checked again before the stream gets a login.
"""

from braid.formats.clusters.kafka_clusters import KafkaClusters
from braid.formats.schema_registry.registry_connection import connect
from braid.formats.schema_registry.registry_schemas import RegistrySchemas
from braid.formats.schema_registry.schema_source import SchemaSource
from braid.lake import InvalidRequest, Problem
from braid.schemas import StreamSpec, schema_registry_of


def resolve_schemas(stream: StreamSpec, clusters: KafkaClusters) -> SchemaSource | None:
    """Return the schemas that a stream's messages and keys name; None where their formats name no registry.

    Raises:
        InvalidRequest: The file names no such registry, does not allow it for the topic, or refers to a secret
            that does not exist.
    """
    name = stream.schema_registry
    if name is None:
        return None
    registry = clusters.schema_registries.get(name)
    if registry is None:
        raise _refusal(
            stream,
            name=name,
            message=f"no schema registry is called `{name}`",
            hint="start the runner or the command with a `--clusters` file that contains "
            f"[schema_registries.{name}]",
        )
    if not registry.may_serve(stream.topic):
        raise _refusal(
            stream,
            name=name,
            message=f"the schema registry `{name}` does not allow the topic `{stream.topic}`",
            hint=f"add it to `topics` of [schema_registries.{name}], or choose another registry",
        )
    return RegistrySchemas(connection=connect(registry))


def _refusal(stream: StreamSpec, *, name: str, message: str, hint: str) -> InvalidRequest:
    part = "key_format" if schema_registry_of(stream.format) is None else "format"
    problem = Problem(field=f"{part}.schema_registry", value=name, message=message, hint=hint)
    summary = f"stream {stream.name} cannot read its schemas"
    return InvalidRequest(summary, problems=[problem])
