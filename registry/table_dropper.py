"""Removal of registered tables: the document first, then the files, each step repeatable.

```
document: marked as dropped   from here on no stream is started and the table is not changed
table: schemas, files deleted unless the data is kept
document: deleted             the name is free
```

A process that dies in between leaves a table that is not registered; a repeated drop continues.
"""

from braid.lake import Catalog, Clock, FileIO, TableNotFound
from braid.registry import names
from braid.registry.errors import RegistryConflict
from braid.registry.stopped_streams import check_streams_stopped
from braid.registry.store.document_writer import ATTEMPTS, check_features, too_many_conflicts
from braid.registry.store.documents import RegistryStore


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
        """Unregister a table with its streams, and delete its files.

        Args:
            identifier: `<database>.<table>`; registered, or a table of the warehouse, or both.
            keep_data: Keep the files: the warehouse then has a table that is not registered.

        Raises:
            TableNotFound: No such table, neither registered nor in the warehouse.
            StreamNotStopped: A stream's desired state is not STOPPED, or a runner still holds one.
            FeaturesMissing: A newer version has registered it, and this one must not change it.
            RegistryConflict: Every attempt lost a race against other writers of the document.
            LakeError: Storage does not answer; call again.
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
        """Mark the table as dropped; return whether it was registered."""
        for _ in range(ATTEMPTS):
            stored = self._store.stored(identifier)
            if stored is None:
                return False
            check_features(stored.value)
            # Checked on the version that the mark supersedes: a stream that is started after this check
            # creates that version first, and the mark conflicts.
            check_streams_stopped(self._file_io, self._warehouse, identifier, clock=self._clock)
            try:
                self._store.mark_dropped(identifier, expected_version=stored.version)
            except RegistryConflict:
                continue
            return True
        raise too_many_conflicts(identifier)
