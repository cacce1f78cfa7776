"""The answers of a service about operations, as text."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from braid.cli.output import NOTHING, TextTable, cell, facts
from braid.schemas import OperationList, OperationProgress, OperationView

if TYPE_CHECKING:
    from braid.client import Client


def operation_list(client: "Client", *, table: str | None, state: str | None) -> OperationList:
    """Return all pages of the list of operations as one.

    Raises:
        BraidError: The service refuses, or does not answer.
    """
    from braid.client import pages

    found = pages(client.operations, table=table, state=state)
    return OperationList(operations=tuple(one for page in found for one in page.operations))


def operations_text(operations: Iterable[OperationView]) -> TextTable:
    """Return a line for each operation."""
    columns = ("operation", "kind", "state", "progress", "created at", "finished at")
    rows = [
        (
            view.id,
            view.kind,
            view.state.value,
            NOTHING if view.progress is None else count_text(view.progress),
            view.created_at,
            view.finished_at or NOTHING,
        )
        for view in operations
    ]
    return TextTable(columns=columns, rows=rows)


def operation_text(view: OperationView) -> TextTable:
    """Return an operation, a line for each fact that is known."""
    request = view.request.model_dump(mode="json", exclude={"kind"})
    problem = view.problem
    return facts(
        (
            ("operation", view.id),
            ("kind", view.kind),
            ("table", f"{view.database}.{view.table}"),
            ("state", view.state.value),
            ("canceled by request", True if view.cancel_requested else None),
            ("progress", None if view.progress is None else count_text(view.progress)),
            *((f"request: {name}", value) for name, value in request.items()),
            ("requested by", view.requested_by),
            ("created at", view.created_at),
            ("started at", view.started_at),
            ("finished at", view.finished_at),
            ("attempts", view.attempts),
            *((f"result: {name}", cell(value)) for name, value in (view.result or {}).items()),
            ("problem", None if problem is None else f"{problem.code.value}: {problem.detail}"),
        )
    )


def count_text(progress: OperationProgress) -> str:
    """Return how far an operation is, such as `3 of 8 buckets`."""
    return f"{progress.done} of {progress.total} {progress.unit}"
