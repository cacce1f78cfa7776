"""Statuses without the address of the warehouse."""

from braid.registry.store.paths import without_warehouse
from braid.schemas import (
    OperationDocument,
    OperationProblem,
    OrphanCleaningRequest,
    ProblemCode,
)
from braid.service.control.operation_pages import operation_view
from braid.service.shown_texts import with_shown_texts


def test_texts_inside_of_lists_and_objects_are_replaced() -> None:
    document = OperationDocument(
        id="shop.orders.0",
        database="shop",
        table="orders",
        request=OrphanCleaningRequest(),
        created_ms=0,
        result={"files": [{"path": "/w/parts/a.parquet", "bytes": 4}], "deepest": [["/w/b"]]},
        problem=OperationProblem(code=ProblemCode.CONFLICT, detail="/w/c is there, /wider too"),
    )

    shown = with_shown_texts(operation_view(document), without_warehouse("/w"))

    assert shown.result == {
        "files": [{"path": "<warehouse>/parts/a.parquet", "bytes": 4}],
        "deepest": [["<warehouse>/b"]],
    }
    assert shown.problem is not None
    assert shown.problem.detail == "<warehouse>/c is there, /wider too"
