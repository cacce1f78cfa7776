"""Rows of feature views by key: the columns of a view, and the status of the row by the rules of the view.

| row | answer |
|---|---|
| does not exist | not found |
| a group of the view's completeness is absent or deleted | as `on_incomplete` says |
| a group of the view's completeness is stale | as `on_stale` says |
| both | the stronger of the two: not found, then null, then the row |
| otherwise | the row |
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from braid.formats.json_values import json_writer
from braid.formats.key_values import parse_key, parse_keys
from braid.lake import InvalidRequest, LakeError, Problem, SchemaMismatch, TableSchema
from braid.schemas import (
    GroupState,
    InsteadOfRow,
    RowStatus,
    SequenceGroupSpec,
    SnapshotInfo,
    TableDocument,
    ViewSpec,
)
from braid.schemas.field_problems import display_text, quoted_list
from braid.service.control.row_lookup import LookedUp, RowNotFound, WriteRow, row_not_found
from braid.service.control.row_status import row_status, status_columns

_STRONGEST_FIRST: Final = (InsteadOfRow.NOT_FOUND, InsteadOfRow.NULL, InsteadOfRow.ANSWER)


class ViewNotFound(LakeError):
    """The table has no feature view of that name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewPlan:
    """A feature view of a table with one schema.

    Attributes:
        view: The declaration.
        rules: The table's document with the groups of the view alone, and the view's rules for stale and complete rows.
        schema: The table's schema.
        columns: The columns that are looked up: those of the view, and those that the status is computed from.
        write_row: Returns the JSON values of the view's columns, by their names in the table.
    """

    view: ViewSpec
    rules: TableDocument
    schema: TableSchema
    columns: tuple[str, ...]
    write_row: WriteRow


def view_plan(document: TableDocument, schema: TableSchema, name: str) -> ViewPlan:
    """Return the plan of a table's feature view.

    Args:
        document: The table's document.
        schema: The table's schema.
        name: The name of the view.

    Raises:
        ViewNotFound: The table has no view of that name.
        SchemaMismatch: The table was changed without the registry, and a column of the view is gone.
    """
    spec = document.table
    view = next((one for one in spec.views if one.name == name), None)
    if view is None:
        known = quoted_list(one.name for one in spec.views)
        message = f"{document.identifier} has no feature view {display_text(name)}; views: {known}"
        raise ViewNotFound(message)
    columns = tuple(dict.fromkeys(one.column for one in view.columns))
    gone = [column for column in columns if column not in schema.fields_by_name]
    if gone:
        message = (
            f"the feature view {name} of {document.identifier} has columns that the table does not have any more: "
            f"{quoted_list(gone)}\nhint: declare the view without them"
        )
        raise SchemaMismatch(message)
    rules = {
        "sequence_groups": tuple(g for g in spec.sequence_groups if _is_of_view(view, g)),
        "staleness": view.staleness or spec.staleness,
        "completeness": view.completeness,
    }
    document = document.model_copy(update={"table": spec.model_copy(update=rules)})
    of_status = status_columns(document, schema)
    return ViewPlan(
        view=view,
        rules=document,
        schema=schema,
        columns=tuple(dict.fromkeys([*columns, *of_status])),
        write_row=json_writer(schema.field(column) for column in columns),
    )


def find_view_row(
    at: LookedUp,
    plan: ViewPlan,
    parameters: Sequence[tuple[str, str]],
    *,
    columns: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Return what a view answers for a key, as the JSON values of `ViewRow` without its snapshot.

    Args:
        at: The snapshot.
        plan: The view, with the schema of the snapshot.
        parameters: The key's columns and their texts.
        columns: Names of the view's columns to answer, in order; None: all.

    Raises:
        RowNotFound: The row does not exist, or the view answers that it does not; the message says why.
        KeyRefused: The parameters are not a key of the table.
        InvalidRequest: The view has no column of a name in `columns`.
    """
    shown = _shown_columns(plan.view, columns)
    key = parse_key(plan.schema, parameters)
    row = at.get(key, columns=plan.columns)
    if row is None:
        raise row_not_found(at, key)
    status = _status(at.snapshot, plan, key, row, now_ms=at.verified_ms)
    answer = _answer(plan, shown, row, status)
    if answer is None:
        message = f"{row_not_found(at, key)} that the view answers: {_reason(status)}"
        raise RowNotFound(message)
    return answer


def find_view_rows(
    at: LookedUp,
    plan: ViewPlan,
    keys: Sequence[Mapping[str, str | int | float]],
    *,
    columns: Sequence[str] | None = None,
) -> list[dict[str, Any] | None]:
    """Return what a view answers for several keys, in their order, None instead of not found; see `find_view_row`."""
    shown = _shown_columns(plan.view, columns)
    parsed = parse_keys(plan.schema, keys)
    rows = at.lookup.get_many(parsed, columns=plan.columns)
    snapshot = at.snapshot
    return [
        None
        if row is None
        else _answer(plan, shown, row, _status(snapshot, plan, key, row, now_ms=at.verified_ms))
        for key, row in zip(parsed, rows, strict=True)
    ]


def _is_of_view(view: ViewSpec, group: SequenceGroupSpec) -> bool:
    columns = {one.column for one in view.columns}
    named = view.completeness.groups
    return not columns.isdisjoint((*group.columns, *(group.ordering or ()))) or (
        named != "all" and group.name in named
    )


def _shown_columns(view: ViewSpec, names: Sequence[str] | None) -> dict[str, str]:
    """Return the table's column for each name in the answer, in its order."""
    known = {one.shown_name: one.column for one in view.columns}
    if names is None:
        return known
    unknown = [name for name in names if name not in known]
    if unknown:
        hint = f"columns: {quoted_list(known)}"
        message = "the feature view has no such column"
        problems = [
            Problem(field="columns", value=name, message=message, hint=hint) for name in unknown
        ]
        summary = f"the feature view {view.name} has no column {unknown[0]}"
        raise InvalidRequest(summary, problems=problems)
    return {name: known[name] for name in names}


def _status(
    snapshot: SnapshotInfo,
    plan: ViewPlan,
    key: Mapping[str, object],
    row: Mapping[str, object],
    *,
    now_ms: int,
) -> RowStatus:
    return row_status(plan.rules, plan.schema, key=key, row=row, now_ms=now_ms, snapshot=snapshot)


def _answer(
    plan: ViewPlan, shown: Mapping[str, str], row: Mapping[str, object], status: RowStatus
) -> dict[str, Any] | None:
    """Return the answer about a row that exists; None for not found."""
    is_stale = any(status.groups[name].state is GroupState.STALE for name in status.complete_when)
    found = {
        InsteadOfRow.ANSWER if status.complete else plan.view.on_incomplete,
        plan.view.on_stale if is_stale else InsteadOfRow.ANSWER,
    }
    strongest = next(one for one in _STRONGEST_FIRST if one in found)
    if strongest is InsteadOfRow.NOT_FOUND:
        return None
    values = None
    if strongest is InsteadOfRow.ANSWER:
        written = plan.write_row(row)
        values = {name: written[column] for name, column in shown.items()}
    return {
        "row": values,
        "complete": status.complete,
        "stale": is_stale,
        "groups": {name: one.model_dump(mode="json") for name, one in status.groups.items()},
    }


def _reason(status: RowStatus) -> str:
    """Return which groups of the completeness are not present, and their states."""
    states = ((name, status.groups[name].state) for name in status.complete_when)
    return ", ".join(
        f"{name} is {state.value}" for name, state in states if state is not GroupState.PRESENT
    )
