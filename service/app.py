"""Assembly of the FastAPI application: components, routes, layers, and its OpenAPI document.

Each app has its own components; the apps of a process share their routes, which have no state.
"""

import asyncio
import tempfile
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace
from functools import cache, partial

import orjson
from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.openapi.utils import get_openapi
from starlette.concurrency import run_in_threadpool
from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from braid.lake import Catalog, Clock, FileIO, SystemClock, file_io_for, path_for
from braid.records.outgoing_records import RecordProducer
from braid.records.topic_records import TopicRecordReader
from braid.registry.registrar import Registrar
from braid.registry.store.access_tokens import AccessTokens
from braid.registry.store.assignments import AssignmentStore
from braid.registry.store.audit_pages import AuditPages
from braid.registry.store.backfill_reports import BackfillReports
from braid.registry.store.documents import RegistryStore
from braid.registry.store.letter_questions import LetterQuestions
from braid.registry.store.operations import OperationStore
from braid.registry.store.progress import ProgressStore
from braid.registry.store.registry_view import RegistryView
from braid.registry.store.remembered_requests import RememberedRequests
from braid.registry.table_dropper import TableDropper
from braid.schemas import ProblemDocument
from braid.service.access.access_layer import AccessLayer
from braid.service.access.identities import Identities
from braid.service.access.jwt_identities import JwtIdentities
from braid.service.access.route_scopes import RouteScopes
from braid.service.access.token_identities import TokenIdentities
from braid.service.body_thread import BodyThread
from braid.service.braid_app import BraidApp
from braid.service.components import Components
from braid.service.control.dead_letters import LetterReader
from braid.service.control.lists.recent_reports import RecentReports
from braid.service.control.lists.resource_lists import ResourceLists
from braid.service.control.table_tests.required_tests import failed_tests
from braid.service.documented_parameters import describe_parameters
from braid.service.documented_problems import (
    SCHEMA as PROBLEM_SCHEMA,
    SECURITY_SCHEME,
    documented_problems,
    documented_scope,
)
from braid.service.guard.acceptable_types import AcceptableTypes
from braid.service.guard.admission import Admission
from braid.service.guard.body_bounds import BodyBounds
from braid.service.guard.idempotent_posts import PARAMETER as KEY_PARAMETER, IdempotentPosts
from braid.service.guard.request_class import is_remembered
from braid.service.guard.same_site import SameSite
from braid.service.http.access_log import AccessLog
from braid.service.http.conditional_reads import ConditionalReads, document_condition
from braid.service.http.request_context import RequestContext
from braid.service.http.request_traces import RequestTraces
from braid.service.http.row_dispatch import RowDispatch
from braid.service.lifecycle import Lifecycle
from braid.service.metrics import ServiceMetrics
from braid.service.open_tables import OpenTables
from braid.service.operations.operation_pool import Execute, OperationPool
from braid.service.operations.operation_process import execute_in_process, new_executor
from braid.service.problems.error_handlers import install_problem_handlers
from braid.service.problems.operation_problems import operation_problem
from braid.service.process_sampler import sample_process
from braid.service.report_cleaning import clean_reports
from braid.service.reported_metrics import declared_streams, reported_metrics
from braid.service.routes import (
    audit as audit_routes,
    batch_verbs,
    changes,
    completeness as completeness_routes,
    console,
    dead_letters,
    declarations,
    feature_views,
    fleet,
    health,
    history as history_routes,
    inspection,
    lookup_indexes,
    metrics as metrics_route,
    offsets,
    operations as operation_routes,
    patches,
    pushes,
    row_events,
    rows as row_routes,
    schema_changes,
    snapshots,
    stream_plans,
    streams,
    table_operations,
    table_tests,
    tables as table_routes,
)
from braid.service.serving.completeness_counts import CompletenessCounts
from braid.service.serving.followers import Followers
from braid.service.serving.history import HistoryRecorder
from braid.service.serving.index_answers import IndexAnswers
from braid.service.serving.outcome_answers import OutcomeAnswers
from braid.service.serving.row_answers import RowAnswers
from braid.service.serving.row_explainer import RowExplainer
from braid.service.serving.snapshot_waits import SnapshotWaits
from braid.service.settings import ServiceSettings
from braid.service.subscription.subscriptions import Subscriptions
from braid.telemetry.disk_metrics import DiskMetrics
from braid.telemetry.tracing import is_tracing, traced_storage

TITLE = "Braid"
VERSION = "1"  # version of the API, with which addresses begin; not of the program
SUMMARY = "Many Kafka streams, one wide row per key."
# Keeps the framework from documenting its own errors; `_made_openapi_body` replaces it.
_ANY_PROBLEM = "4XX"
_OPENAPI_LOCK = (
    threading.Lock()
)  # those who ask at once wait for one document instead of making one each


def create_app(
    settings: ServiceSettings,
    *,
    catalog: Catalog | None = None,
    file_io: FileIO | None = None,
    clock: Clock | None = None,
    producer: RecordProducer | None = None,
    topic_records: TopicRecordReader | None = None,
    metrics: ServiceMetrics | None = None,
) -> BraidApp:
    """Return the application.

    Args:
        settings: The settings of the process.
        catalog: The warehouse's tables; None: created from the settings.
        file_io: The warehouse's storage, for the registry; None: chosen by the warehouse's address.
        clock: The clock; None: the machine's.
        producer: Sends pushed records, and is closed with the app; None: pushes are refused.
        topic_records: Reads the records that explanations show, and is closed with the app; None: none is shown.
        metrics: Where requests are counted; None: new metrics of this process.
    """
    clock = clock or SystemClock()
    metrics = metrics or ServiceMetrics()
    warehouse = settings.warehouse
    can_share = file_io is None  # storage that other processes can reach
    if file_io is None:
        file_io, warehouse = traced_storage(file_io_for(warehouse)), path_for(warehouse)
    catalog = catalog or Catalog(warehouse, file_io=file_io, clock=clock, lookups=settings.lookups)
    store = RegistryStore(file_io, warehouse, clock, audit_retention_ms=settings.audit_retention_ms)
    view = RegistryView(store, file_io, warehouse)
    bodies = BodyThread()
    tables = OpenTables(catalog, clock=clock)
    registrar = Registrar(
        store,
        catalog,
        clock,
        clusters=settings.clusters,
        check_tests=partial(failed_tests, clock=clock),
    )
    followers = Followers(
        tables=tables, registrar=registrar, clock=clock, follow_ms=settings.follow_ms
    )
    waits = SnapshotWaits(followers, settings.limits, metrics)
    subscriptions = Subscriptions(
        followers, follow_ms=settings.follow_ms, heartbeat_s=settings.limits.heartbeat_seconds
    )
    progress = ProgressStore(file_io, warehouse, clock)
    reports = RecentReports(progress, clock)
    lists = ResourceLists(view, reports, clock, runner_timeout_ms=settings.runner_timeout_ms)
    completeness = CompletenessCounts(clock)
    history = HistoryRecorder(
        reports, completeness, clock, runner_timeout_ms=settings.runner_timeout_ms
    )
    explainer = RowExplainer(
        followers, waits, clock, clusters=settings.clusters, topic_records=topic_records
    )
    letters = LetterReader(
        LetterQuestions(file_io, warehouse),
        clock,
        wait_seconds=settings.limits.letter_wait_seconds,
    )
    metrics.sample_with(lambda: metrics.set_copies(catalog.copy_usage))
    metrics.sample_with(lambda: metrics.subscriptions.set(subscriptions.open_count))
    metrics.sample_with(lambda: followers.sample(metrics))
    declared = declared_streams(view)
    outcomes = OutcomeAnswers(explainer, followers, waits, letters)
    identities = None
    if settings.access is not None:
        tokens = TokenIdentities(AccessTokens(file_io, warehouse, clock), clock)
        jwt_identities = JwtIdentities(settings.access.issuers, clock)
        identities = Identities([tokens, jwt_identities])
        metrics.sample_with(lambda: metrics.set_issuer_key_ages(jwt_identities.key_ages_s()))
    requests = RememberedRequests(file_io, warehouse, clock)
    executor = new_executor(file_io, warehouse, catalog, clock=clock, describe=operation_problem)
    execute: Execute = (
        partial(execute_in_process, settings.warehouse, operation_problem)
        if can_share
        else lambda operation_id, _: executor.execute(operation_id)
    )
    operations = OperationPool(
        OperationStore(file_io, warehouse, clock),
        requests,
        execute,
        workers=settings.operation_workers,
        clock=clock,
    )

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        history.start()
        sampling = asyncio.create_task(sample_process(metrics))
        following = asyncio.create_task(declared.follow())
        cleaning = asyncio.create_task(
            clean_reports(progress, view, retention_ms=settings.report_retention_ms)
        )
        operations.start()
        async with nullcontext() if identities is None else identities.followed():
            yield
        operations.close()
        sampling.cancel()
        following.cancel()
        cleaning.cancel()
        declared.close()
        history.close()
        subscriptions.close()
        waits.close()
        outcomes.close()
        followers.close()
        completeness.close()
        if producer is not None:
            await run_in_threadpool(producer.close)
        if topic_records is not None:
            topic_records.close()

    app = BraidApp(
        title=TITLE,
        version=VERSION,
        summary=SUMMARY,
        openapi_url=None,  # the framework would make the document while all other requests wait
        docs_url=None,  # these pages would load scripts from other hosts
        redoc_url=None,
        lifespan=lifespan,
    )
    app.openapi = lambda: orjson.loads(_openapi_body())  # type: ignore[method-assign]  # as FastAPI documents it
    rows = RowAnswers(followers, waits, clock, metrics)
    app.state.components = Components(
        settings=replace(settings, warehouse=warehouse),
        file_io=file_io,
        clock=clock,
        tables=tables,
        registry=store,
        registrar=registrar,
        audit=AuditPages(store, file_io),
        dropper=TableDropper(store, catalog, file_io=file_io, warehouse=warehouse, clock=clock),
        progress=progress,
        metrics=metrics.registry_of_all(
            reported_metrics(
                reports,
                view,
                clock,
                runner_timeout_ms=settings.runner_timeout_ms,
                declared=declared,
            ),
            DiskMetrics(
                {
                    "warehouse": warehouse,
                    "copies": settings.lookups.directory or tempfile.gettempdir(),
                }
            ),
        ),
        backfills=BackfillReports(file_io, warehouse, clock),
        followers=followers,
        rows=rows,
        subscriptions=subscriptions,
        reports=reports,
        assignments=AssignmentStore(file_io, warehouse, clock),
        lists=lists,
        completeness=completeness,
        history=history,
        explainer=explainer,
        outcomes=outcomes,
        indexes=IndexAnswers(followers),
        operations=OperationStore(file_io, warehouse, clock),
        operation_pool=operations,
        producer=producer,
        bodies=bodies,
        lifecycle=Lifecycle(),
        started_ms=clock.now_ms(),
    )
    # Not `async`: it has a thread of its own.
    app.add_route("/v1/openapi.json", _openapi_response, include_in_schema=False)
    app.router.routes.extend(_routes())
    install_problem_handlers(app)
    routes = RouteScopes(app.routes)
    app.wrap(
        lambda framework: layers(
            IdempotentPosts(framework, requests, wait_seconds=settings.limits.repeat_wait_seconds),
            rows=rows,
            bodies=bodies,
            settings=settings,
            metrics=metrics,
            routes=routes,
            identities=identities,
        )
    )
    return app


def layers(
    framework: ASGIApp,
    *,
    rows: RowAnswers,
    bodies: BodyThread,
    settings: ServiceSettings,
    metrics: ServiceMetrics,
    routes: RouteScopes,
    identities: Identities | None,
) -> ASGIApp:
    """Return the framework inside of the service's layers; a request passes the last one first."""
    app: ASGIApp = RowDispatch(ConditionalReads(framework), rows=rows, bodies=bodies)
    app = Admission(app, limits=settings.limits, metrics=metrics)
    app = BodyBounds(app, limits=settings.limits, thread=bodies)
    app = AcceptableTypes(app)
    app = AccessLayer(
        app,
        routes=routes,
        identities=identities,
        allows_signed=settings.clusters.check_signatures,
    )
    app = SameSite(app, hosts=settings.hosts, origins=settings.origins, bound_host=settings.host)
    app = RequestContext(app)
    if is_tracing():
        app = RequestTraces(app)
    return AccessLog(app, metrics)


@cache
def _routes() -> Sequence[BaseRoute]:
    """Return the routes, which all apps of the process share.

    The framework derives what it needs of a route when the first request comes: for all of them a tenth of a second of the processor,
    which each app would take again.
    """
    shared = APIRouter(responses={_ANY_PROBLEM: {"model": ProblemDocument}})
    for module in (
        health,
        table_routes,
        table_tests,
        schema_changes,
        streams,
        fleet,
        patches,
        batch_verbs,
        declarations,
        offsets,
        pushes,
        dead_letters,
        stream_plans,
        row_routes,
        feature_views,
        row_events,
        completeness_routes,
        history_routes,
        lookup_indexes,
        changes,
        inspection,
        snapshots,
        table_operations,
        operation_routes,
        audit_routes,
        console,
        metrics_route,
    ):
        shared.include_router(module.router)
    return shared.routes


def _openapi_response(_: Request) -> Response:
    return Response(_openapi_body(), media_type="application/json")


def _openapi_body() -> bytes:
    """Return the OpenAPI document as JSON, which all apps of the process share as they share their routes.

    It takes half a second of the processor, so it is made once, for the first who asks. As bytes it is no work for garbage
    collections, which stop all threads.
    """
    with _OPENAPI_LOCK:
        return _made_openapi_body()


@cache
def _made_openapi_body() -> bytes:
    schema = get_openapi(title=TITLE, version=VERSION, summary=SUMMARY, routes=_routes())
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            del operation["responses"][_ANY_PROBLEM]
            describe_parameters(operation.get("parameters", ()))
            operation["responses"] |= documented_problems(method.upper(), path)
            if method == "get" and "application/json" in operation["responses"].get("200", {}).get(
                "content", {}
            ):
                document_condition(operation)
            if is_remembered(method.upper(), path):
                operation.setdefault("parameters", []).append(KEY_PARAMETER)
            operation["security"] = documented_scope(method.upper(), path)
    schema["components"]["securitySchemes"] = {
        SECURITY_SCHEME: {"type": "http", "scheme": "bearer"}
    }
    models = schema["components"]["schemas"]
    models[PROBLEM_SCHEMA] = models.pop(ProblemDocument.__name__)
    schema["components"]["schemas"] = dict(sorted(models.items()))
    return orjson.dumps(schema)
