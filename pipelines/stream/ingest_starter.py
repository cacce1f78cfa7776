"""Starter of ingest queries: makes a running query from a stream's entry in the registry.

Before the start it adds arrival columns to a table that was created without them. When a stream with the trigger
`available_now` has read all its records, it records in the registry that the stream is completed.
"""

from braid.formats.clusters.kafka_clusters import KafkaClusters
from braid.lake import BatchAccount, Catalog, FileIO, InvalidRequest, StreamFallback, StreamPosition
from braid.pipelines.kafka.stream_cluster import resolve_cluster
from braid.pipelines.kafka.stream_schemas import resolve_schemas
from braid.pipelines.plan_changes.current_plan import RegistryPlans
from braid.pipelines.plan_changes.stream_evolver import RegistryEvolver
from braid.pipelines.stream.ingest import Ingest, IngestContext
from braid.records.stream_plan import plan_stream
from braid.registry.declared_table import read_declared_table
from braid.registry.live_fields import can_apply_live
from braid.registry.registrar import Registrar
from braid.registry.store.audit_log import UNKNOWN_ACTOR
from braid.registry.store.documents import RegistryStore
from braid.registry.store.progress import ProgressStore, newest_report, stream_key
from braid.schemas import Actor, StreamEntry, StreamSpec, TableDocument


class IngestStarter:
    """Starts the ingest queries of one process."""

    def __init__(
        self,
        context: IngestContext,
        *,
        warehouse: str,
        file_io: FileIO,
        progress: ProgressStore,
        clusters: KafkaClusters,
        actor: Actor = UNKNOWN_ACTOR,
    ) -> None:
        """Make a starter.

        Args:
            context: What the queries of the process share.
            warehouse: Where the tables are.
            file_io: The warehouse's storage.
            progress: Reports of runners: the last source of positions for a table that has lost those of its
                streams.
            clusters: The Kafka clusters and schema registries that streams may read from.
            actor: Whom the audit log names as the one who adds columns for new fields.
        """
        self._context = context
        self._warehouse = warehouse
        self._file_io = file_io
        self._progress = progress
        self._clusters = clusters
        self._actor = actor

    def start(self, document: TableDocument, entry: StreamEntry) -> Ingest:
        """Claim the stream and return its running query.

        Raises:
            InvalidRequest: The stream cannot run as declared.
            RegistryError: Arrival columns that the table lacks cannot be added.
            LakeError: What `Ingest.start` raises.
        """
        # Opened anew for each query: a table object caches, and is not shared between threads.
        catalog = Catalog(self._warehouse, file_io=self._file_io, clock=self._context.clock)
        registry = RegistryStore(self._file_io, self._warehouse, self._context.clock)
        registrar = Registrar(registry, catalog, self._context.clock, actor=self._actor)
        registrar.add_arrival_columns(document.identifier)
        # Read before the registration: a deletion in between leads to a missing entry, and a later deletion
        # to another epoch, which the claim refuses.
        positions = catalog.table(document.identifier).committer().stream_positions()
        position = positions.get(entry.spec.name)
        state = read_declared_table(registry, catalog, document.identifier)
        # The entry given may be older than the newest declaration.
        newest = state.document.streams.get(entry.spec.name)
        if newest is None:
            message = f"the stream {entry.spec.name} of {document.identifier} was deleted"
            raise InvalidRequest(message)
        plan = plan_stream(
            table=document.identifier,
            spec=state.document.table,
            stream=newest.spec if can_apply_live(entry.spec, newest.spec) else entry.spec,
            schema=state.table.schema,
            generation=entry.restart_generation,
            version=newest.version,
            other_streams=[other.spec for other in state.document.streams.values()],
        )
        ingest = Ingest(
            self._context,
            plan=plan,
            table=state.table,
            cluster=resolve_cluster(entry.spec, self._clusters),
            schemas=resolve_schemas(entry.spec, self._clusters),
            fallback=self._fallback(document.identifier, entry.spec),
            expected_epoch=0 if position is None else position.epoch,
            former_epoch=newest.former_epoch,
            plans=RegistryPlans(registry=registry, catalog=catalog),
            evolver=RegistryEvolver(registrar=registrar),
        )
        try:
            ingest.start()
        except BaseException:
            ingest.stop()
            raise
        return ingest

    def record_completion(self, table: str, stream: str, *, generation: int) -> None:
        """Record in the registry that a stream has read all that it was started for.

        Raises:
            LakeError, RegistryError: It could not be recorded; call again.
        """
        catalog = Catalog(self._warehouse, file_io=self._file_io, clock=self._context.clock)
        registry = RegistryStore(self._file_io, self._warehouse, self._context.clock)
        registrar = Registrar(registry, catalog, self._context.clock)
        registrar.complete_stream(table, stream, generation=generation)

    def _fallback(self, table: str, stream: StreamSpec) -> StreamFallback | None:
        key = stream_key(table, stream.name)
        report = newest_report(self._progress.read_all().runners, key)
        if report is None or report.progress.epoch is None:
            return None
        reported = report.progress
        position = StreamPosition(
            stream=stream.name,
            epoch=reported.epoch or 0,
            topic=stream.topic,
            topic_id=reported.topic_id or "",
            offsets=dict(reported.offsets),
            account=BatchAccount(
                accepted=reported.account.accepted,
                folded=reported.account.folded,
                ignored=reported.account.ignored,
                dead_lettered=reported.account.dead_lettered,
            ),
            batch_id=-1 if reported.batch_id is None else reported.batch_id,
            commit_time_ms=reported.last_commit_ms or 0,
            generation=reported.generation or 0,
        )
        return StreamFallback(position=position, snapshot_id=reported.last_commit_snapshot)
