"""Bloom filters of key columns: they exclude files that certainly do not have a key."""

from collections.abc import Sequence

from braid.lake.files.column_mapping import OlderSchemas
from braid.lake.format.data_file import DataFileMeta
from braid.lake.format.indexes.bloom_filter import BloomFilter
from braid.lake.format.indexes.value_hash import HASHED_ROOTS
from braid.lake.format.schema import TableSchema
from braid.lake.read.index_pruning import indexed_names
from braid.lake.read.lookup.wanted_keys import Rows, WantedKeys
from braid.lake.snapshots.file_indexes import FileIndexStore, index_name


class KeyFilters:
    """The file indexes of a bucket's files; safe between threads."""

    def __init__(
        self,
        files: Sequence[DataFileMeta],
        paths: Sequence[str],
        *,
        store: FileIndexStore,
        schema: TableSchema,
        older_schemas: OlderSchemas,
    ) -> None:
        """Wrap the files; none of their indexes is read yet.

        Args:
            files: The bucket's files, by number.
            paths: Paths of the files.
            store: Reads indexes.
            schema: The schema under which records are read.
            older_schemas: By id, the schemas of files that were written with other columns.
        """
        self._files = files
        self._paths = paths
        self._store = store
        self._schema = schema
        self._older_schemas = older_schemas
        self._fields = schema.key_fields
        self._names: dict[int, list[str | None]] = {}
        is_read = schema.table_options.file_index_read_enabled
        is_hashed = any(field.type.root in HASHED_ROOTS for field in self._fields)
        self._is_asked = [is_read and is_hashed and _has_index(file) for file in files]

    def may_have(self, number: int, keys: WantedKeys, wanted: Rows) -> Rows:
        """Return which of the wanted keys a file may have.

        Args:
            number: Number of the file.
            keys: Keys, in the table's types.
            wanted: Numbers of the keys to search for.

        Raises:
            CorruptData: The index is absent, or damaged.
            StorageUnavailable: Storage refuses.
        """
        if not self._is_asked[number]:
            return wanted
        for index, bloom in self._filters(number):
            # Each column's filter sees only the keys that the filters before it let through.
            hashes = keys.value_hashes(index, self._fields[index].type)
            wanted = wanted[bloom.may_have(hashes[wanted])]
        return wanted

    def _filters(self, number: int) -> list[tuple[int, BloomFilter]]:
        """Return the filters of a file, each with the index of its column in the key."""
        file = self._files[number]
        names = self._names.get(file.schema_id)
        if names is None:
            written = self._older_schemas.get(file.schema_id, self._schema)
            names = self._names[file.schema_id] = indexed_names(self._fields, written)
        filters = self._store.filters(self._paths[number], file)
        return [
            (index, filters[name])
            for index, name in enumerate(names)
            if name is not None and name in filters
        ]


def _has_index(file: DataFileMeta) -> bool:
    return file.embedded_file_index is not None or index_name(file) is not None
