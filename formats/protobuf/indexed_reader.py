"""Reader of Protobuf messages that name their type by its index in the schema's file (`indexed_types`)."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from braid.formats.fault import Faults, malformed
from braid.formats.joined_messages import ReadPart, joined_messages
from braid.formats.mapped_column import MappedColumn
from braid.formats.message_reader import ReadMessages
from braid.formats.protobuf.errors import ProtobufSchemaError
from braid.formats.protobuf.indexed_types import IndexedTypes, split_indexes
from braid.formats.protobuf.reader import ProtobufReader
from braid.formats.schema_registry.recent_entries import RecentEntries

_FIRST: Final = b"\x00"
_READERS_MAX: Final = 256


class IndexedProtobufReader:
    """Reads Protobuf messages of the types of one file."""

    def __init__(
        self,
        files: Mapping[str, Any],
        columns: Sequence[MappedColumn],
        *,
        paths_of_other_streams: Sequence[tuple[str, ...]] = (),
        finds_undeclared: bool = False,
    ) -> None:
        """Prepare to read.

        Args:
            files: The descriptors of the schema's file (`REGISTERED`) and of all that it imports, by name.
            columns: The columns, with their paths in the message.
            paths_of_other_streams: Paths that other streams of the table read from the same topic.
            finds_undeclared: Whether messages with fields from which no column is read are reported.

        Raises:
            ProtobufSchemaError: The files have no message, or are wrong.
        """
        self._types = IndexedTypes(files)
        self._columns = tuple(columns)
        self._options: dict[str, Any] = {
            "paths_of_other_streams": paths_of_other_streams,
            "finds_undeclared": finds_undeclared,
        }
        self._readers = RecentEntries[tuple[int, ...], ProtobufReader](
            count_max=_READERS_MAX, size_max=_READERS_MAX
        )
        self._reader((0,))

    def read(self, payloads: pa.BinaryArray) -> ReadMessages:
        """Return the columns of a batch of messages (see `MessageReader.read`)."""
        if pc.all(pc.equal(pc.binary_slice(payloads, 0, 1), _FIRST)).as_py():
            # Not `binary_slice`: without an end it computes a negative size.
            return self._reader((0,)).read(pc.binary_replace_slice(payloads, 0, 1, b""))
        faults = Faults(len(payloads))
        found: dict[tuple[int, ...], tuple[list[int], list[bytes]]] = {}
        for row, payload in enumerate(payloads.to_pylist()):
            if payload is None:
                continue
            try:
                indexes, body = split_indexes(payload)
            except ValueError as error:
                faults.add(row, malformed(str(error)))
                continue
            rows, bodies = found.setdefault(indexes, ([], []))
            rows.append(row)
            bodies.append(body)
        parts = []
        for indexes, (rows, bodies) in found.items():
            try:
                reader = self._reader(indexes)
            except ProtobufSchemaError as error:
                faults.add_all(rows, malformed(str(error)))
            else:
                messages = reader.read(pa.array(bodies, pa.binary()))
                parts.append(ReadPart(np.array(rows, np.int64), messages))
        return joined_messages(parts, self._columns, faults)

    def tree(self, payload: bytes) -> Any:
        """Return a message as dicts, lists and scalars (see `MessageReader.tree`)."""
        indexes, body = split_indexes(payload)
        return self._reader(indexes).tree(body)

    def _reader(self, indexes: tuple[int, ...]) -> ProtobufReader:
        known = self._readers.get(indexes)
        if known is not None:
            return known
        reader = ProtobufReader(self._types.type_at(indexes), self._columns, **self._options)
        self._readers.put(indexes, reader, size=1)
        return reader
