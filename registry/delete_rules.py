"""What a declared table does with deletes, and what it can promise about them.

Pure. A delete reaches a table as a record of kind -D or -U, from a stream whose rows say so in the
column of `rowkind.field`, or from another engine's writer.

| engine | ignore | clear_columns | remove_row |
|---|---|---|---|
| deduplicate | yes | no: rows are replaced whole | yes; also when not declared |
| partial-update | yes | with sequence groups | yes, see 3 |
| aggregation | yes | each column takes its value back | yes |
| first-row | yes | no | no: the first row stays |

1. Deletes are ignored by a whole table or not at all.
2. `clear_columns` needs functions that can take a value back, or columns with `ignore_retract`.
   Under partial-update the delete that comes first gives the row its own values, so such functions
   depend on order.
3. `remove_row` under partial-update is safe while nothing can arrive late and nobody else writes:
   one sequence group, ordered by Kafka's offsets. A late record would bring the row back, and of
   two groups the other would outlive the delete or not, as it happens.
4. A table whose rows say their kind declares what deletes do, unless it is deduplicate.
"""

from collections.abc import Iterator, Mapping

from registry.aggregate_rules import place_of_function
from registry.column_functions import column_functions, why_not_taken_back
from registry.findings import Place, found_at, listed
from schemas import Deletes, FieldProblem, MergeEngine, TableSpec, Unordered

ROW_KIND_FIELD = "rowkind.field"
_ALLOWED = "accept the risk for the table with `unordered: allowed`"
_REFUSED = {
    (MergeEngine.DEDUPLICATE, Deletes.CLEAR_COLUMNS): "rows replace each other whole",
    (MergeEngine.FIRST_ROW, Deletes.CLEAR_COLUMNS): "the first row stays as it is",
    (MergeEngine.FIRST_ROW, Deletes.REMOVE_ROW): "the first row stays as it is",
}


def check_deletes(spec: TableSpec) -> Iterator[FieldProblem]:
    """Yield what is wrong with the declared deletes."""
    yield from _check_engine(spec)
    yield from _check_mixture(spec)
    yield from _check_taking_back(spec)
    yield from _check_removal(spec)
    yield from _check_row_kinds(spec)


def deletes_of(spec: TableSpec, group: str | None) -> Deletes | None:
    """Return what deletes do in a group, or in the whole table for None; None: not declared."""
    declared = None if group is None else spec.sequence_group(group)
    return spec.deletes if declared is None or declared.deletes is None else declared.deletes


def delete_options(spec: TableSpec, ordering: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """Return the options of the table format that make the declaration true.

    Args:
        spec: The table; `check_deletes` finds nothing.
        ordering: The ordering columns of each sequence group, in the table's order.
    """
    declared = {deletes_of(spec, group) for group in ordering or (None,)}
    if Deletes.IGNORE in declared:
        return {"ignore-delete": "true"}
    if ordering:
        removing = [
            column
            for group, columns in ordering.items()
            if deletes_of(spec, group) is Deletes.REMOVE_ROW
            for column in columns
        ]
        key = "partial-update.remove-record-on-sequence-group"
        return {key: ",".join(removing)} if removing else {}
    engine = spec.merge_engine
    if spec.deletes is not Deletes.REMOVE_ROW or engine is MergeEngine.DEDUPLICATE:
        return {}
    return {f"{engine.value}.remove-record-on-delete": "true"}


def _places(spec: TableSpec) -> Iterator[tuple[Place, str | None, Deletes]]:
    """Yield every declaration of deletes: where, of which group, what."""
    if spec.deletes is not None:
        yield ("deletes",), None, spec.deletes
    for index, group in enumerate(spec.sequence_groups):
        if group.deletes is not None:
            yield ("sequence_groups", index, "deletes"), group.name, group.deletes


def _check_engine(spec: TableSpec) -> Iterator[FieldProblem]:
    for place, _, deletes in _places(spec):
        reason = _REFUSED.get((spec.merge_engine, deletes))
        if reason is not None:
            yield found_at(
                *place,
                value=deletes.value,
                message=f"not in a {spec.merge_engine.value} table: {reason}",
                hint="use `remove_row` or `ignore`"
                if spec.merge_engine is MergeEngine.DEDUPLICATE
                else "use `ignore`",
            )
        is_partial = spec.merge_engine is MergeEngine.PARTIAL_UPDATE
        if is_partial and deletes is Deletes.CLEAR_COLUMNS and not spec.sequence_groups:
            yield found_at(
                *place,
                value=deletes.value,
                message="the table has no sequence groups, and only their columns can be cleared",
                hint="declare a sequence group, or use `remove_row` or `ignore`",
            )


def _check_mixture(spec: TableSpec) -> Iterator[FieldProblem]:
    effective = {group.name: deletes_of(spec, group.name) for group in spec.sequence_groups}
    others = [name for name, deletes in effective.items() if deletes not in (None, Deletes.IGNORE)]
    ignoring = [name for name, deletes in effective.items() if deletes is Deletes.IGNORE]
    if not others or not ignoring:
        return
    for place, group, deletes in _places(spec):
        if group in ignoring and deletes is Deletes.IGNORE:
            yield found_at(
                *place,
                value=deletes.value,
                message="deletes are ignored by a whole table or not at all, and the group "
                f"{listed(others[:1])} does not ignore them",
                hint="use `clear_columns`, or let every group ignore them",
            )
        elif group is None and deletes is Deletes.IGNORE:
            yield found_at(
                *place,
                value=deletes.value,
                message="deletes are ignored by a whole table or not at all, and the group "
                f"{listed(others[:1])} declares otherwise",
                hint="use `clear_columns`, or let every group ignore them",
            )


def _check_taking_back(spec: TableSpec) -> Iterator[FieldProblem]:
    group_of = {name: group.name for group in spec.sequence_groups for name in group.columns}
    is_partial = spec.merge_engine is MergeEngine.PARTIAL_UPDATE
    for column, function in column_functions(spec).items():
        group = group_of.get(column)
        if deletes_of(spec, group) is not Deletes.CLEAR_COLUMNS or (is_partial and group is None):
            continue
        reason = why_not_taken_back(function)
        hint = "declare the column's `aggregate` with `ignore_retract: true`"
        if reason is not None:
            yield found_at(
                *place_of_function(spec, column),
                value=function.function,
                message=f"deletes clear columns, and {reason}",
                hint=f"{hint}, or use `deletes: ignore`",
            )
        elif is_partial and not function.ignore_retract and spec.unordered is not Unordered.ALLOWED:
            yield found_at(
                *place_of_function(spec, column),
                value=function.function,
                message=f"a delete that arrives before what it takes back from `{column}` gives "
                "the row its own value, so the value depends on the order of arrival",
                hint=f"{hint}, or {_ALLOWED}",
            )


def _check_removal(spec: TableSpec) -> Iterator[FieldProblem]:
    groups = spec.sequence_groups
    if spec.unordered is Unordered.ALLOWED or not groups:
        return
    removing = [g for g in groups if deletes_of(spec, g.name) is Deletes.REMOVE_ROW]
    if len(groups) > 1:
        message = (
            "whether the columns of the other groups outlive the delete depends on which "
            "record arrives first"
        )
    elif groups[0].ordering is not None:
        message = "a record that is older than the delete and arrives after it brings the row back"
    else:
        return
    if not removing:
        return
    for place, _, deletes in _places(spec):
        if deletes is Deletes.REMOVE_ROW:
            yield found_at(
                *place,
                value=deletes.value,
                message=message,
                hint=f"use `clear_columns`, which is safe in any order, or {_ALLOWED}",
            )


def _check_row_kinds(spec: TableSpec) -> Iterator[FieldProblem]:
    name = spec.options.get(ROW_KIND_FIELD)
    if name is None:
        return
    place = ("options", ROW_KIND_FIELD)
    groups = spec.sequence_groups
    if len(groups) > 1:
        yield found_at(
            *place,
            value=name,
            message="every record says its kind in this column, and a column has one stream, while "
            f"the table has a stream for each of {listed(group.name for group in groups)}",
            hint="leave it out, or make a table with one sequence group",
        )
    is_declared = spec.deletes is not None or any(group.deletes is not None for group in groups)
    if not is_declared and spec.merge_engine is not MergeEngine.DEDUPLICATE:
        yield found_at(
            *place,
            value=name,
            message="a row of this table can say that it deletes, and what deletes do is not said",
            hint="declare `deletes`: `ignore`, `clear_columns` or `remove_row`",
        )
