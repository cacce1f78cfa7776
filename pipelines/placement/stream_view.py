"""The registered streams as a runner sees them: by key, with what each asks of a runner; made anew when they have changed."""

from collections.abc import Iterator, Mapping

from braid.pipelines.stream.stream_query import RegisteredStream
from braid.registry.placement.admission import NeededStream, table_of
from braid.registry.placement.needed_streams import needed_stream, needs_runner
from braid.registry.store.documents import RegisteredTables
from braid.registry.store.progress import stream_key
from braid.registry.store.stored_documents import missing_features
from braid.schemas import StreamEntry, TableDocument


class StreamView:
    """The streams of all tables that could be read last. Belongs to one thread."""

    def __init__(self) -> None:
        """Create a view in which nothing is registered."""
        self._tables: RegisteredTables | None = None
        self._documents: dict[str, TableDocument] = {}
        self._streams: dict[str, RegisteredStream] = {}
        self._needs: dict[str, NeededStream] = {}
        self._unreadable: frozenset[str] = frozenset()
        self.needed: Mapping[str, NeededStream] = {}
        self.version = 0

    def update(self, tables: RegisteredTables) -> None:
        """Take over what was read; `version` and `needed` are other ones only if something has changed."""
        if tables is self._tables:
            return
        self._tables = tables
        unreadable = frozenset(tables.unreadable)
        changed = unreadable != self._unreadable
        self._unreadable = unreadable
        documents: dict[str, TableDocument] = {}
        for document in tables.documents:
            known = self._documents.get(document.identifier)
            is_same = known is document or known == document
            documents[document.identifier] = known if known is not None and is_same else document
            changed = changed or not is_same
        # The streams of a table whose document cannot be read stay as they were.
        for identifier in unreadable & self._documents.keys():
            documents[identifier] = self._documents[identifier]
        if changed or documents.keys() != self._documents.keys():
            self._documents = documents
            self._index()

    def entry(self, key: str) -> StreamEntry | None:
        """Return the entry of a stream, whichever version can run it; None: it is not registered."""
        found = self._streams.get(key)
        return None if found is None else found.entry

    def registered(self, key: str) -> RegisteredStream | None:
        """Return a stream; None: it is not registered, or only a newer version can run it."""
        found = self._streams.get(key)
        if found is None or missing_features(found.document, found.entry):
            return None
        return found

    def streams(self) -> Iterator[tuple[NeededStream, RegisteredStream]]:
        """Yield the streams that this version can run, with what each asks of a runner."""
        for key, need in self._needs.items():
            found = self.registered(key)
            if found is not None:
                yield need, found

    def is_unreadable(self, key: str) -> bool:
        """Return whether the document of a stream's table cannot be read now."""
        return table_of(key) in self._unreadable

    def _index(self) -> None:
        self.version += 1
        self._streams = {
            stream_key(document.identifier, name): RegisteredStream(document=document, entry=entry)
            for document in self._documents.values()
            for name, entry in document.streams.items()
            if not entry.spec.is_from_spark
        }
        self._needs = {
            key: needed_stream(stream.document, stream.entry)
            for key, stream in self._streams.items()
        }
        self.needed = {
            key: need for key, need in self._needs.items() if needs_runner(self._streams[key].entry)
        }
