"""Components of the service: created once per app, and available to each request."""

from dataclasses import dataclass
from typing import TypeVar

from prometheus_client.registry import Collector
from pydantic import BaseModel
from pydantic_core import to_json

from braid.lake import Clock, FileIO, Table
from braid.records.outgoing_records import RecordProducer
from braid.registry.registrar import Registrar
from braid.registry.store.assignments import AssignmentStore
from braid.registry.store.audit_pages import AuditPages
from braid.registry.store.backfill_reports import BackfillReports
from braid.registry.store.documents import RegistryStore
from braid.registry.store.operations import OperationStore
from braid.registry.store.paths import without_warehouse
from braid.registry.store.progress import ProgressStore
from braid.registry.table_dropper import TableDropper
from braid.schemas import TableDocument
from braid.service.body_thread import BodyThread
from braid.service.control.lists.recent_reports import RecentReports
from braid.service.control.lists.resource_lists import ResourceLists
from braid.service.lifecycle import Lifecycle
from braid.service.open_tables import OpenTables
from braid.service.operations.operation_pool import OperationPool
from braid.service.serving.completeness_counts import CompletenessCounts
from braid.service.serving.followers import Followers
from braid.service.serving.history import HistoryRecorder
from braid.service.serving.index_answers import IndexAnswers
from braid.service.serving.outcome_answers import OutcomeAnswers
from braid.service.serving.row_answers import RowAnswers
from braid.service.serving.row_explainer import RowExplainer
from braid.service.settings import ServiceSettings
from braid.service.shown_texts import with_shown_texts
from braid.service.subscription.subscriptions import Subscriptions

ModelT = TypeVar("ModelT", bound=BaseModel)


@dataclass(frozen=True, slots=True, kw_only=True)
class Components:
    """Everything that a route may need; there is no other state.

    Attributes:
        settings: The settings of the process.
        file_io: The warehouse's storage.
        clock: The clock.
        tables: The warehouse's tables, opened.
        registry: Reads documents.
        registrar: Changes documents.
        audit: Reads the audit log.
        dropper: Drops tables.
        progress: Reads the reports of runners.
        metrics: The metrics of the service and of the reports of runners.
        backfills: Reads the reports of backfills.
        followers: What is served of the tables in use.
        rows: Answers requests for rows.
        indexes: Answers requests by lookup indexes.
        subscriptions: Opens subscriptions to rows.
        reports: The reports of runners, as of the last second.
        assignments: Which runner has which stream.
        lists: Lists of tables and streams.
        completeness: Counts of tables' rows by their states.
        history: Samples of tables and streams for charts.
        explainer: Explains rows.
        outcomes: Tells what has become of pushed records.
        operations: Reads and changes operations.
        operation_pool: Carries operations out.
        producer: Sends pushed records; None: the process has no Kafka client, and accepts none.
        bodies: The thread in which bodies are parsed.
        lifecycle: Whether the process takes requests.
        started_ms: Start of the app, milliseconds since the epoch, UTC.
    """

    settings: ServiceSettings
    file_io: FileIO
    clock: Clock
    tables: OpenTables
    registry: RegistryStore
    registrar: Registrar
    audit: AuditPages
    dropper: TableDropper
    progress: ProgressStore
    metrics: Collector
    backfills: BackfillReports
    followers: Followers
    rows: RowAnswers
    indexes: IndexAnswers
    subscriptions: Subscriptions
    reports: RecentReports
    assignments: AssignmentStore
    lists: ResourceLists
    completeness: CompletenessCounts
    history: HistoryRecorder
    explainer: RowExplainer
    outcomes: OutcomeAnswers
    operations: OperationStore
    operation_pool: OperationPool
    producer: RecordProducer | None
    bodies: BodyThread
    lifecycle: Lifecycle
    started_ms: int

    def shown(self, status: ModelT) -> ModelT:
        """Return a status whose texts do not have the warehouse's address."""
        warehouse = self.settings.warehouse
        # Few statuses have it. To search the text of one takes a tenth of the time of looking at each value.
        if to_json(warehouse)[1:-1] not in to_json(status):
            return status
        return with_shown_texts(status, without_warehouse(warehouse))

    def registered(self, identifier: str) -> tuple[TableDocument, Table]:
        """Return a table's document and the table; the document is at least as new as the table's schema.

        Raises:
            TableNotFound: There is no table of that name.
        """
        document = self.registrar.document(identifier)
        table = self.tables.get(identifier)
        if table.schema.id > document.schema_id:
            # The schema changed between the two reads, or without the registry. A document that is
            # read now is not older than the schema.
            document = self.registrar.document(identifier)
        return document, table
