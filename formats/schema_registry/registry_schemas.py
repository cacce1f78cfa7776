"""Source of the schemas of one registry, in a form that can be sent to the processes that read messages."""

from dataclasses import dataclass
from functools import lru_cache

from braid.formats.schema_registry.registry_client import RegistryClient
from braid.formats.schema_registry.registry_connection import RegistryConnection
from braid.formats.schema_registry.schema_cache import SchemaCache
from braid.formats.schema_registry.schema_source import RegisteredSchema

_REGISTRIES_MAX = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrySchemas:
    """The schemas of a registry (a `SchemaSource`).

    It can be pickled. All copies in a process share what the process has fetched, so a process that reads one
    micro-batch after the other does not ask the registry for the same schemas each time.

    Attributes:
        connection: The registry.
    """

    connection: RegistryConnection

    def schema(self, schema_id: int) -> RegisteredSchema:
        """Return a schema (see `SchemaSource.schema`)."""
        return _cache(self.connection).schema(schema_id)


# By the whole connection: after a change of the login the registry decides anew.
@lru_cache(maxsize=_REGISTRIES_MAX)
def _cache(connection: RegistryConnection) -> SchemaCache:
    return SchemaCache(RegistryClient(connection))
