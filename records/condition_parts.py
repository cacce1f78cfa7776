"""Reader of the parts of records that a stream's conditions use: headers, Kafka key, timestamp, partition, offset and topic."""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from braid.formats.declared_digits import with_declared_digits
from braid.formats.fault import Faults
from braid.formats.keys.key_readers import key_reader
from braid.formats.mapped_column import MappedColumn
from braid.formats.schema_registry.schema_source import SchemaSource
from braid.records.part_reader import PART_COLUMNS, PartReader
from braid.records.record_columns import KEY
from braid.schemas import ColumnSource, StreamSpec


class ConditionPartReader:
    """Reads the parts of one stream's records."""

    def __init__(
        self, parts: Sequence[MappedColumn], stream: StreamSpec, schemas: SchemaSource | None
    ) -> None:
        """Prepare to read.

        Args:
            parts: The parts, none of which is a field of the value.
            stream: The stream of the records.
            schemas: The schemas that keys name; None where the stream names no registry.
        """
        topic, declared = stream.topic, stream.key_format
        self._types = {one.name: one.type for one in parts}
        self._parts = PartReader([one for one in parts if not one.source.is_message], topic=topic)
        keys = [one for one in parts if one.source is ColumnSource.KEY]
        # A key is read as one value, or as an object with fields.
        kinds = ([one for one in keys if not one.path], [one for one in keys if one.path])
        self._keys = [(kind, key_reader(kind, declared, schemas)) for kind in kinds if kind]

    def read(self, records: pa.RecordBatch) -> tuple[Mapping[str, pa.Array], Faults]:
        """Return the values of the parts by name, and the faults of records whose parts cannot be read.

        Args:
            records: Kafka records (`record_columns`).
        """
        found = self._parts.read(records.select(PART_COLUMNS))
        values = dict(zip(self._parts.names, found.arrays, strict=True))
        faults = found.faults
        for columns, reader in self._keys:
            of_keys = reader.read(records.column(KEY))
            values |= zip((one.name for one in columns), of_keys.arrays, strict=True)
            faults.add_found(of_keys.faults)
        cut = {
            name: with_declared_digits(array, self._types[name]) for name, array in values.items()
        }
        return cut, faults
