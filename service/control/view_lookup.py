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
from braid.service.column_mask import ColumnMask
from braid.service.control.row_lookup import LookedUp, RowNotFound, WriteRow, row_not_found
from braid.service.control.row_status import StatusRules

_STRONGEST_FIRST: Final = (InsteadOfRow.NOT_FOUND, InsteadOfRow.NULL, InsteadOfRow.ANSWER)


class ViewNotFound(LakeError):
    """The table has no feature view of that name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewPlan:
    """A feature view of a table with one schema.

    Attributes:
        view: The declaration.
        rules: The rules of a row's status: those of the groups of the view alone, stale and complete as the view declares.
        schema: The table's schema.
        columns: The columns that are looked up: those of the view, and those that the status is computed from.
        write_row: Returns the JSON values of the view's columns, by their names in the table.
        write_text_row: The same with values of BIGINT as text.
    """

    view: ViewSpec
    rules: StatusRules
    schema: TableSchema
    columns: tuple[str, ...]
    write_row: WriteRow
    write_text_row: WriteRow


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
    declared = {
        "sequence_groups": tuple(g for g in spec.sequence_groups if _is_of_view(view, g)),
        "staleness": view.staleness or spec.staleness,
        "completeness": view.completeness,
    }
    of_view = document.model_copy(update={"table": spec.model_copy(update=declared)})
    rules = StatusRules(of_view, schema)
    fields = [schema.field(column) for column in columns]
    return ViewPlan(
        view=view,
        rules=rules,
        schema=schema,
        columns=tuple(dict.fromkeys([*columns, *rules.columns])),
        write_row=json_writer(fields),
        write_text_row=json_writer(fields, integers_as_text=True),
    )


def find_view_row(
    at: LookedUp,
    plan: ViewPlan,
    parameters: Sequence[tuple[str, str]],
    *,
    mask: ColumnMask,
    columns: Sequence[str] | None = None,
    integers_as_text: bool = False,
) -> dict[str, Any]:
    """Return what a view answers for a key, as the JSON values of `ViewRow` without its snapshot.

    Args:
        at: The snapshot.
        plan: The view, with the schema of the snapshot.
        parameters: The key's columns and their texts.
        mask: The columns of the table that the client may not see.
        columns: Names of the view's columns to answer, in order; None: all that the client may see.
        integers_as_text: Values of BIGINT are text.

    Raises:
        RowNotFound: The row does not exist, or the view answers that it does not; the message says why.
        KeyRefused: The parameters are not a key of the table.
        InvalidRequest: The view has no column of a name in `columns`.
    """
    shown = _shown_columns(plan, columns, mask)
    key = parse_key(plan.schema, parameters)
    row = at.get(key, columns=plan.columns)
    if row is None:
        raise row_not_found(at, key)
    answered = _Answered(plan, shown, at.snapshot, at.verified_ms, integers_as_text)
    status = answered.status(key, row)
    answer = answered.answer(row, status)
    if answer is None:
        message = f"{row_not_found(at, key)} that the view answers: {_reason(status)}"
        raise RowNotFound(message, at.snapshot)
    return answer


def find_view_rows(
    at: LookedUp,
    plan: ViewPlan,
    keys: Sequence[Mapping[str, str | int | float]],
    *,
    mask: ColumnMask,
    columns: Sequence[str] | None = None,
    integers_as_text: bool = False,
) -> list[dict[str, Any] | None]:
    """Return what a view answers for several keys, in their order, None instead of not found; see `find_view_row`."""
    shown = _shown_columns(plan, columns, mask)
    parsed = parse_keys(plan.schema, keys)
    rows = at.lookup.get_many(parsed, columns=plan.columns)
    answered = _Answered(plan, shown, at.snapshot, at.verified_ms, integers_as_text)
    return [
        None if row is None else answered.answer(row, answered.status(key, row))
        for key, row in zip(parsed, rows, strict=True)
    ]


def _is_of_view(view: ViewSpec, group: SequenceGroupSpec) -> bool:
    columns = {one.column for one in view.columns}
    named = view.completeness.groups
    return not columns.isdisjoint((*group.columns, *(group.ordering or ()))) or (
        named != "all" and group.name in named
    )


def _shown_columns(plan: ViewPlan, names: Sequence[str] | None, mask: ColumnMask) -> dict[str, str]:
    """Return the table's column for each name in the answer, in its order.

    Raises:
        InvalidRequest: The view has no column of a name.
        ColumnMasked: The client may not see a column of a name, or the status of the row.
    """
    view = plan.view
    known = {one.shown_name: one.column for one in view.columns}
    mask.check_status_columns(plan.rules.columns)
    if names is None:
        hidden = mask.hidden
        return {name: column for name, column in known.items() if column not in hidden}
    unknown = [name for name in names if name not in known]
    if unknown:
        hint = f"columns: {quoted_list(known)}"
        message = "the feature view has no such column"
        problems = [
            Problem(field="columns", value=name, message=message, hint=hint) for name in unknown
        ]
        summary = f"the feature view {view.name} has no column {unknown[0]}"
        raise InvalidRequest(summary, problems=problems)
    mask.check_named(known[name] for name in names)
    return {name: known[name] for name in names}


@dataclass(frozen=True, slots=True)
class _Answered:
    """What is the same for all rows of a request.

    Attributes:
        plan: The view.
        shown: The table's column for each name in the answer.
        snapshot: The snapshot.
        now_ms: The time at which ages are measured, milliseconds since 1970.
        integers_as_text: Values of BIGINT are text.
    """

    plan: ViewPlan
    shown: Mapping[str, str]
    snapshot: SnapshotInfo
    now_ms: int
    integers_as_text: bool

    def status(self, key: Mapping[str, object], row: Mapping[str, object]) -> RowStatus:
        """Return the status of a row by the rules of the view."""
        return self.plan.rules.status(
            key=key,
            row=row,
            now_ms=self.now_ms,
            snapshot=self.snapshot,
            integers_as_text=self.integers_as_text,
        )

    def answer(self, row: Mapping[str, object], status: RowStatus) -> dict[str, Any] | None:
        """Return the answer about a row that exists; None for not found."""
        view = self.plan.view
        is_stale = any(
            status.groups[name].state is GroupState.STALE for name in status.complete_when
        )
        found = {
            InsteadOfRow.ANSWER if status.complete else view.on_incomplete,
            view.on_stale if is_stale else InsteadOfRow.ANSWER,
        }
        strongest = next(one for one in _STRONGEST_FIRST if one in found)
        if strongest is InsteadOfRow.NOT_FOUND:
            return None
        values = None
        if strongest is InsteadOfRow.ANSWER:
            plan = self.plan
            written = (plan.write_text_row if self.integers_as_text else plan.write_row)(row)
            values = {name: written[column] for name, column in self.shown.items()}
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
