"""Routes of what is not of one table: the API itself, aggregate functions, the streams of all tables, runners, clusters."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from typing import Annotated

from fastapi import APIRouter, Depends, Response

from braid.registry.placement.assignment import Assignment
from braid.registry.runner_drains import check_runner_name, drain_of, drain_revision, set_drained
from braid.registry.store.stored_documents import FEATURES
from braid.schemas import ExecutorsProgress, MergeEngine
from braid.schemas.access import AccessScope
from braid.schemas.message_format import FORMAT_TYPES
from braid.schemas.resource_lists import (
    AggregationList,
    ApiDescription,
    ClientView,
    ClusterList,
    ClusterView,
    ExecutorsView,
    RunnerDrain,
    RunnerList,
    RunnerView,
    StreamSummaryList,
)
from braid.service.control.aggregations import list_aggregations
from braid.service.control.shown_limits import service_limits
from braid.service.dependencies import ActorOf, ComponentsOf, PreconditionOf, PrincipalOf, set_etag
from braid.service.routes.list_parameters import ListQueryOf
from braid.service.times import iso_utc

API_VERSION = "1"
_VERSION = version("braid-lake")

router = APIRouter(prefix="/v1")


@router.get("", tags=["health"])
async def describe_api(components: ComponentsOf, principal: PrincipalOf) -> ApiDescription:
    """Return the version of the API and of the program, what this service can do, and what the client may do."""
    return ApiDescription(
        api=API_VERSION,
        version=_VERSION,
        formats=FORMAT_TYPES,
        merge_engines=tuple(one.value for one in MergeEngine),
        features=tuple(sorted(FEATURES)),
        pushes=components.producer is not None and components.settings.clusters.allow_pushes,
        client=ClientView(name=principal.name, grants=principal.grants),
        limits=service_limits(components.settings.limits),
    )


@router.get("/aggregations", tags=["tables"])
def get_aggregations() -> AggregationList:
    """List the aggregate functions that columns may have, with their types and options."""
    return list_aggregations()


@router.get("/streams", tags=["streams"])
def list_all_streams(components: ComponentsOf, query: ListQueryOf) -> StreamSummaryList:
    """List the streams of all tables, page by page: by conditions on name, table, labels, owner and state."""
    # The failure of a stream may quote values: those of tables with masked columns are left out.
    return components.shown(components.lists.streams(replace(query, may_see=query.sees_all)))


@router.get("/runners", tags=["runners"])
def list_runners(components: ComponentsOf, principal: PrincipalOf) -> RunnerList:
    """List the runners that have ever reported, with their streams and the tables that they compact, as far as the client may read them."""
    may_see = partial(principal.may, AccessScope.READ)
    reports = components.reports.get()
    assignment = components.assignments.read().value
    joined = assignment.runners
    alive_since_ms = components.clock.now_ms() - components.settings.runner_timeout_ms
    return RunnerList(
        runners=tuple(
            RunnerView(
                name=one.runner,
                alive=one.is_alive(alive_since_ms),
                started_at=iso_utc(one.started_ms),
                reported_at=iso_utc(one.updated_ms),
                streams={
                    name: stream.state
                    for name, stream in sorted(one.streams.items())
                    if may_see(name.partition("/")[0])
                },
                tables=tuple(sorted(filter(may_see, one.tables))),
                labels=joined[one.runner].labels if one.runner in joined else {},
                streams_max=joined[one.runner].streams_max if one.runner in joined else None,
                drained=one.runner in assignment.drained,
                ending=one.runner in joined and joined[one.runner].is_leaving,
                executors=None if one.executors is None else _executors_view(one.executors),
            )
            for one in reports.runners
        ),
        unreadable=reports.unreadable,
    )


async def get_drain_change(
    components: ComponentsOf,
    actor: ActorOf,
    precondition: PreconditionOf,
    runner: str,
    response: Response,
) -> Callable[[bool], RunnerDrain]:
    """Return the function that drains the request's runner, or ends its drain."""

    def change(is_drained: bool) -> RunnerDrain:
        assignment = set_drained(
            components.assignments,
            components.registry.audit,
            runner,
            is_drained=is_drained,
            actor=actor,
            precondition=precondition,
        )
        return _shown_drain(assignment, runner, response)

    return change


DrainChangeOf = Annotated[Callable[[bool], RunnerDrain], Depends(get_drain_change)]


@router.put("/runners/{runner}/drain", tags=["runners"])
def drain_runner(change: DrainChangeOf) -> RunnerDrain:
    """Drain a runner: it gets no stream any more, and gives its streams away one by one, each when the one before has started."""
    return change(True)


@router.delete("/runners/{runner}/drain", tags=["runners"])
def undrain_runner(change: DrainChangeOf) -> RunnerDrain:
    """End the drain of a runner, which then gets streams again; no effect if it is not drained."""
    return change(False)


@router.get("/runners/{runner}/drain", tags=["runners"])
def get_drain(components: ComponentsOf, runner: str, response: Response) -> RunnerDrain:
    """Return whether a runner is drained, and which streams it still has."""
    check_runner_name(runner)
    return _shown_drain(components.assignments.read().value, runner, response)


def _shown_drain(assignment: Assignment, runner: str, response: Response) -> RunnerDrain:
    revision = drain_revision(assignment, runner)
    if revision is not None:
        set_etag(response, revision)
    return drain_of(assignment, runner)


def _executors_view(reported: ExecutorsProgress) -> ExecutorsView:
    lost_ms = reported.last_lost_ms
    return ExecutorsView(
        running=reported.running,
        lost=reported.lost,
        last_lost_host=reported.last_lost_host,
        last_lost_reason=reported.last_lost_reason,
        last_lost_at=None if lost_ms is None else iso_utc(lost_ms),
    )


@router.get("/clusters", tags=["clusters"])
def list_clusters(components: ComponentsOf) -> ClusterList:
    """List the Kafka clusters and schema registries that streams may name; neither addresses nor logins."""
    clusters = components.settings.clusters
    return ClusterList(
        clusters=tuple(
            ClusterView(name=name, push=bool(cluster.push))
            for name, cluster in sorted(clusters.by_name.items())
        ),
        schema_registries=tuple(sorted(clusters.schema_registries)),
    )
