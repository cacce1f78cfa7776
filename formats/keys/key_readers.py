"""Choice of the reader of a stream's Kafka keys by the declared format."""

from collections.abc import Sequence
from typing import Protocol

import pyarrow as pa

from braid.formats.json.key_reader import KeyReader
from braid.formats.keys.registered_keys import RegisteredJsonKeys, RegisteredKeys
from braid.formats.mapped_column import MappedColumn
from braid.formats.message_reader import ReadMessages
from braid.formats.schema_registry.schema_source import SchemaSource
from braid.schemas import KeyFormat


class RecordKeyReader(Protocol):
    """Reads the Kafka keys of one stream."""

    def read(self, keys: pa.BinaryArray) -> ReadMessages:
        """Return the columns of a batch of keys; a record without a key has null in each.

        Raises:
            StorageUnavailable: The schema registry of the keys does not answer.
        """
        ...


def key_reader(
    columns: Sequence[MappedColumn], declared: KeyFormat | None, schemas: SchemaSource | None
) -> RecordKeyReader:
    """Return the reader of a stream's keys.

    Args:
        columns: The columns that are read from the key: with a path in it, or without.
        declared: The format of keys that name a schema; None: keys are one value, or a JSON object.
        schemas: The registry that the stream names; None if it names none.
    """
    if declared is None:
        return KeyReader(columns)
    assert schemas is not None, "the registry that a format names is given"
    if declared.type == "json":
        return RegisteredJsonKeys(columns, schemas)
    return RegisteredKeys(columns, declared.type, schemas)
