"""Removal of registered tables: the document first, then the files, each step repeatable.

```
document: dropped      nobody starts a stream or changes the table from here on
table: schemas, files  unless the data are kept
document: gone         the name is free
```

A process that dies in between leaves a table that is not registered; dropping it again goes on.
"""

from lake import Catalog, Clock, FileIO, TableNotFound
from registry.errors import RegistryConflict
from registry.rules import names
from registry.stopped_streams import check_streams_stopped
from registry.store.document_writer import ATTEMPTS, check_features, too_many_conflicts
from registry.store.documents import RegistryStore


class TableDropper:
    """Drops tables of one warehouse."""

    def __init__(
        self,
        store: RegistryStore,
        catalog: Catalog,
        *,
        file_io: FileIO,
        warehouse: str,
        clock: Clock,
    ) -> None:
        self._store = store
        self._catalog = catalog
        self._file_io = file_io
        self._warehouse = warehouse
        self._clock = clock

    def drop(self, identifier: str, *, keep_data: bool = False) -> None:
        """Forget a table and its streams, and delete its files.

        Args:
            identifier: `<database>.<table>`; registered, or a table of the warehouse, or both.
            keep_data: The files stay: the warehouse then has a table that is not registered.

        Raises:
            TableNotFound: There is none of that name.
            StreamNotStopped: A stream is wanted to run, or a runner still works on one.
            FeaturesMissing: A newer version has registered it, and this one must not change it.
            RegistryConflict: Others go on changing the table's document.
            LakeError: The storage does not answer; the same call again.
        """
        if not names.is_identifier(identifier):
            message = f"no table {identifier} is registered"
            raise TableNotFound(message)
        is_registered = self._mark(identifier)
        if not keep_data:
            try:
                self._catalog.drop_table(identifier)
            except TableNotFound:
                if not is_registered:
                    message = f"there is no table {identifier}"
                    raise TableNotFound(message) from None
        elif not is_registered:
            message = f"no table {identifier} is registered"
            raise TableNotFound(message)
        self._store.forget(identifier)

    def _mark(self, identifier: str) -> bool:
        """Write down that the table is dropped; return whether it was registered."""
        for _ in range(ATTEMPTS):
            stored = self._store.stored(identifier)
            if stored is None:
                return False
            check_features(stored.value)
            # On the very version that is superseded: a stream that is started now changes it.
            check_streams_stopped(self._file_io, self._warehouse, identifier, clock=self._clock)
            try:
                self._store.mark_dropped(identifier, expected_version=stored.version)
            except RegistryConflict:
                continue
            return True
        raise too_many_conflicts(identifier)
