"""Access to the dead letters of registered streams, for listing and replaying them.

`RegisteredStreams` returns the reader of a stream's dead-letter topic, the judge of its letters, and a replay that has
not begun. `letter_pages` lists the letters, and `replay_run` replays them. Declarations come from the registry, tables
from the catalog, and clusters and schema registries from the operators' file.
"""

from collections.abc import Callable
from dataclasses import dataclass

from braid.formats.clusters.kafka_clusters import KafkaClusters
from braid.lake import Catalog
from braid.pipelines.kafka.stream_cluster import resolve_cluster
from braid.pipelines.kafka.stream_schemas import resolve_schemas
from braid.pipelines.replay.letter_standing import LetterJudge
from braid.pipelines.replay.letter_topic import LetterTopic
from braid.pipelines.replay.replay_run import (
    ReplayRun,
    ReplayTarget,
    ReplayWithdrawn,
    judge_of,
)
from braid.records.stream_plan import plan_stream
from braid.registry.declared_table import read_declared_table
from braid.registry.errors import DefinitionRefused
from braid.registry.rules.replay_rules import check_replay, counts_repetitions
from braid.registry.store.documents import RegistryStore
from braid.registry.store.stored_documents import check_features
from braid.registry.stream_entries import entry_of
from braid.schemas import LetterSelection, StreamEntry, TableDocument


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredStreams:
    """Where registered streams are read from.

    Attributes:
        registry: The documents of the warehouse.
        catalog: Its tables.
        clusters: The Kafka clusters and schema registries of the operators' file.
    """

    registry: RegistryStore
    catalog: Catalog
    clusters: KafkaClusters

    def letters(self, entry: StreamEntry) -> LetterTopic:
        """Return the dead-letter topic of a stream.

        Raises:
            InvalidRequest: The operators' file does not allow it.
        """
        return LetterTopic(resolve_cluster(entry.spec, self.clusters), entry.spec.dead_letter_topic)

    def judge(self, document: TableDocument, stream: str) -> LetterJudge:
        """Return the judge of a stream's letters.

        Raises:
            StreamNotFound, InvalidRequest: There is no such stream, or it has not been started yet.
            FeaturesMissing: A newer version has registered the stream.
            LakeError: Registry or table cannot be read.
        """
        return judge_of(self.target(document.identifier, stream))

    def replay(
        self,
        document: TableDocument,
        stream: str,
        selection: LetterSelection,
        *,
        request_id: str | None = None,
        on_commit: Callable[[int], None] = lambda _: None,
    ) -> ReplayRun:
        """Return a replay that has not begun.

        Args:
            document: The stream's table.
            stream: The stream's name.
            selection: Which letters.
            request_id: The request that the replay ends with; None: there is none.
            on_commit: Called after each chunk of letters with the number of those replayed so far.

        Raises:
            StreamNotFound: The table has no such stream.
            InvalidRequest: The operators' file does not allow the cluster, or a topic.
        """
        entry = entry_of(document, stream)
        return ReplayRun(
            selection,
            source=self.letters(entry),
            targets=_Targets(self, document.identifier, stream, request_id),
            schemas=resolve_schemas(entry.spec, self.clusters),
            on_commit=on_commit,
        )

    def target(
        self,
        identifier: str,
        stream: str,
        *,
        request_id: str | None = None,
        is_replay: bool = False,
    ) -> ReplayTarget:
        """Return present declaration and table of a stream.

        Args:
            identifier: `<database>.<table>`.
            stream: The stream's name.
            request_id: The request that has to be under way; None: there is none.
            is_replay: Whether rows are written.

        Raises:
            ReplayWithdrawn: The request is not under way any more.
            StreamNotFound: The table has no such stream.
            DefinitionRefused: By this declaration, the result of a replay could not be right.
            FeaturesMissing: A newer version has registered the stream.
            InvalidRequest: The stream does not fit its table.
            LakeError: Registry or table cannot be read.
        """
        state = read_declared_table(self.registry, self.catalog, identifier)
        document = state.document
        entry = document.streams.get(stream) if request_id else entry_of(document, stream)
        if request_id is not None and (
            entry is None or entry.replay is None or entry.replay.id != request_id
        ):
            raise ReplayWithdrawn
        assert entry is not None, "a stream that is not found has raised"
        check_features(document, entry)
        problems = check_replay(document.table, entry.spec, LetterSelection()) if is_replay else ()
        refused = tuple(problems)
        if refused:
            message = f"dead letters of the stream {stream} of {identifier} cannot be replayed"
            raise DefinitionRefused(message, problems=refused)
        return ReplayTarget(
            plan=plan_stream(
                table=identifier,
                spec=document.table,
                stream=entry.spec,
                schema=state.table.schema,
                version=entry.version,
                other_streams=[other.spec for other in document.streams.values()],
            ),
            table=state.table,
            counts_repetitions=counts_repetitions(document.table, entry.spec),
        )


@dataclass(frozen=True, slots=True)
class _Targets:
    streams: RegisteredStreams
    identifier: str
    stream: str
    request_id: str | None

    def target(self) -> ReplayTarget:
        """Return declaration and table (see `TargetSource`)."""
        return self.streams.target(
            self.identifier, self.stream, request_id=self.request_id, is_replay=True
        )
