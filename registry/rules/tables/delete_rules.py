"""Rules for the declared effect of deletes, which differ by merge engine.

Pure. A delete reaches a table as a record of kind -D or -U: from a stream whose rows have their kind in the column of
`rowkind.field`, from one that declares deletes (`delete_when`, tombstones, captured changes: `record_kind_rules`), or
from another engine's writer.

| engine | ignore | clear_columns | remove_row |
|---|---|---|---|
| deduplicate | yes | no: rows are replaced whole | yes; also when not declared |
| partial-update | yes | groups without aggregates | yes, see 3 |
| aggregation | yes | no: a combined value does not keep its parts | yes, see 3 |
| first-row | yes | no | no: the first row stays |

1. Deletes are ignored by a whole table or not at all.
2. `clear_columns` is an upsert of nulls under the record's order. It leads to the same row in any order of
   arrival (`braid.lake.write.rows.null_deletes`). Aggregate functions ignore nulls, so groups with aggregated
   columns cannot be cleared.
3. Unless the table declares `unordered: allowed`, `remove_row` is allowed only in deduplicate tables without
   `sequence.field`, and in partial-update tables without aggregates whose only sequence group is ordered by arrival
   and has all columns outside the key. In other tables a late record would restore the row. With two groups, or with
   columns without a group, timing would decide which values outlive the delete. If one commit folds the delete into a
   later record, a function would continue from the values before the delete. `unordered: allowed` of a column does
   not allow `remove_row`.
4. A table whose rows have their kind in a column has at most one sequence group, and declares the effect of deletes,
   unless it is deduplicate.
"""

from collections.abc import Iterator

from braid.registry.layout.column_functions import column_functions, sequence_fields
from braid.registry.layout.delete_options import deletes_by_group
from braid.registry.layout.physical_table import ungrouped_columns
from braid.registry.rules.tables.aggregate_function_rules import function_path
from braid.schemas import Deletes, FieldProblem, MergeEngine, TableSpec, Unordered
from braid.schemas.field_problems import problem_at, quoted_list
from braid.schemas.problem import JsonPath

ROW_KIND_FIELD = "rowkind.field"
_REMOVE = Deletes.REMOVE_ROW
_ALLOWED = "accept the risk for the table with `unordered: allowed`"
_REFUSED = {
    (MergeEngine.DEDUPLICATE, Deletes.CLEAR_COLUMNS): "rows replace each other whole",
    (MergeEngine.AGGREGATION, Deletes.CLEAR_COLUMNS): (
        "a column that combines values does not know which of the values a delete retracts"
    ),
    (MergeEngine.FIRST_ROW, Deletes.CLEAR_COLUMNS): "the first row stays as it is",
    (MergeEngine.FIRST_ROW, Deletes.REMOVE_ROW): "the first row stays as it is",
}


def check_deletes(spec: TableSpec) -> Iterator[FieldProblem]:
    """Yield the problems of the declared deletes."""
    yield from _check_engine(spec)
    yield from _check_mixture(spec)
    yield from _check_clearing(spec)
    yield from _check_removal(spec)
    yield from _check_row_kinds(spec)


def _declarations(spec: TableSpec) -> Iterator[tuple[JsonPath, str | None, Deletes]]:
    """Yield every declaration of deletes: its path, its group or None, and its value."""
    if spec.deletes is not None:
        yield ("deletes",), None, spec.deletes
    for index, group in enumerate(spec.sequence_groups):
        if group.deletes is not None:
            yield ("sequence_groups", index, "deletes"), group.name, group.deletes


def _check_engine(spec: TableSpec) -> Iterator[FieldProblem]:
    for path, _, deletes in _declarations(spec):
        reason = _REFUSED.get((spec.merge_engine, deletes))
        if reason is not None:
            yield problem_at(
                *path,
                value=deletes.value,
                message=f"deletes cannot have this effect in {spec.merge_engine.value} tables: {reason}",
                hint="use `remove_row` or `ignore`"
                if spec.merge_engine is MergeEngine.DEDUPLICATE
                else "use `ignore`",
            )
        # Columns without a group have no stream of their own whose delete could clear them.
        is_partial = spec.merge_engine is MergeEngine.PARTIAL_UPDATE
        if is_partial and deletes is Deletes.CLEAR_COLUMNS and not spec.sequence_groups:
            yield problem_at(
                *path,
                value=deletes.value,
                message="the table has no sequence groups, and only their columns can be cleared",
                hint="declare a sequence group, or use `remove_row` or `ignore`",
            )


def _check_mixture(spec: TableSpec) -> Iterator[FieldProblem]:
    # The format has one option for the whole table, `ignore-delete`, and none for a group.
    effective = deletes_by_group(spec)
    others = [name for name, deletes in effective.items() if deletes not in (None, Deletes.IGNORE)]
    ignoring = [name for name, deletes in effective.items() if deletes is Deletes.IGNORE]
    if not others or not ignoring:
        return
    for path, group, deletes in _declarations(spec):
        if group in ignoring and deletes is Deletes.IGNORE:
            yield problem_at(
                *path,
                value=deletes.value,
                message="deletes are ignored by a whole table or not at all, and the group "
                f"{quoted_list(others[:1])} does not ignore them",
                hint="use `clear_columns`, or let every group ignore them",
            )
        elif group is None and deletes is Deletes.IGNORE:
            yield problem_at(
                *path,
                value=deletes.value,
                message="deletes are ignored by a whole table or not at all, and the group "
                f"{quoted_list(others[:1])} declares another effect",
                hint="use `clear_columns`, or let every group ignore them",
            )


def _check_clearing(spec: TableSpec) -> Iterator[FieldProblem]:
    group_of = {name: group.name for group in spec.sequence_groups for name in group.columns}
    deletes = deletes_by_group(spec)
    for column, function in column_functions(spec).items():
        group = group_of.get(column)
        if group is not None and deletes[group] is Deletes.CLEAR_COLUMNS:
            yield problem_at(
                *function_path(spec, column),
                value=function.function,
                message=f"deletes clear the columns of the group `{group}`, and a column that "
                "combines values does not know which of them a delete retracts",
                hint="leave the `aggregate` out, or use `deletes: ignore`",
            )


def _check_removal(spec: TableSpec) -> Iterator[FieldProblem]:
    if spec.unordered is Unordered.ALLOWED:
        return
    message = why_removal_harms(spec)
    if message is None:
        return
    instead = ""
    if spec.merge_engine is MergeEngine.PARTIAL_UPDATE and not column_functions(spec):
        instead = (
            "use `clear_columns`, which is safe in any order, or "
            if spec.sequence_groups
            else "declare one sequence group with all columns and without `ordering`, or "
        )
    declared = [
        (path, deletes.value) for path, _, deletes in _declarations(spec) if deletes is _REMOVE
    ]
    if spec.merge_engine is MergeEngine.DEDUPLICATE and spec.deletes is None:
        # In such a table deletes remove rows even where nothing is declared.
        name = spec.options.get(ROW_KIND_FIELD)
        declared = [] if name is None else [(("options", ROW_KIND_FIELD), name)]
    for path, value in declared:
        yield problem_at(*path, value=value, message=message, hint=f"{instead}{_ALLOWED}")


def why_removal_harms(spec: TableSpec) -> str | None:
    """Return why removing rows gives results that depend on timing; None when it does not."""
    groups = spec.sequence_groups
    late = "a record that is older than the delete and arrives after it brings the row back"
    if spec.merge_engine is MergeEngine.DEDUPLICATE:
        return late if sequence_fields(spec) else None
    if len(groups) > 1:
        return (
            "whether the columns of the other groups outlive the delete depends on which record "
            "arrives first"
        )
    if groups and groups[0].ordering is not None:
        return late
    if column_functions(spec):
        return (
            "a delete and a later record in one commit become one record, which is added to the "
            "values that the row had before the delete"
        )
    is_partial = spec.merge_engine is MergeEngine.PARTIAL_UPDATE
    if is_partial and (not groups or ungrouped_columns(spec)):
        return (
            "nothing orders a delete among the records of columns without a sequence group, so the "
            "order in which records arrive decides what is left of the row"
        )
    return None


def _check_row_kinds(spec: TableSpec) -> Iterator[FieldProblem]:
    name = spec.options.get(ROW_KIND_FIELD)
    if name is None:
        return
    path = ("options", ROW_KIND_FIELD)
    groups = spec.sequence_groups
    if len(groups) > 1:
        yield problem_at(
            *path,
            value=name,
            message="every record has its kind in this column, which only one stream can write, "
            "but the table has a stream for each of the groups "
            f"{quoted_list(group.name for group in groups)}",
            hint="leave it out, or make a table with one sequence group",
        )
    is_declared = spec.deletes is not None or any(group.deletes is not None for group in groups)
    if not is_declared and spec.merge_engine is not MergeEngine.DEDUPLICATE:
        yield problem_at(
            *path,
            value=name,
            message="a row of this table can be a delete, but the effect of deletes is not declared",
            hint="declare `deletes`: `ignore`, `clear_columns` or `remove_row`",
        )
