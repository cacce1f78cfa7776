"""What a declared table does with deletes, and what it can promise about them.

Pure. A delete reaches a table as a record of kind -D or -U, from a stream whose rows say so in the
column of `rowkind.field`, or from another engine's writer.

| engine | ignore | clear_columns | remove_row |
|---|---|---|---|
| deduplicate | yes | no: rows are replaced whole | yes; also when not declared |
| partial-update | yes | groups without aggregates | yes, see 3 |
| aggregation | yes | no: nobody knows what a value was made of | yes, see 3 |
| first-row | yes | no | no: the first row stays |

1. Deletes are ignored by a whole table or not at all.
2. `clear_columns` is an upsert of nulls under the record's order, which any order of arrival leaves
   at the same row (`lake.write.null_deletes`). Columns with an aggregate function take it for nothing,
   so their groups cannot be cleared.
3. `remove_row` without `unordered: allowed` is for tables in which nothing arrives late and nobody
   else writes: deduplicate ones without `sequence.field`, and partial-update ones of one sequence
   group in the order of arrival, without aggregates. A late record would bring the row back, of two
   groups the other would outlive the delete or not, as it happens, and a function goes on from what
   the row held if a commit folds the delete into what follows.
4. A table whose rows say their kind declares what deletes do, unless it is deduplicate.
"""

from collections.abc import Iterator

from registry.layout.column_functions import column_functions, sequence_fields
from registry.layout.delete_options import deletes_by_group
from registry.rules.aggregate_function_rules import place_of_function
from schemas import Deletes, FieldProblem, MergeEngine, TableSpec, Unordered
from schemas.field_problems import problem_at, quoted_list
from schemas.problem import JsonPath

ROW_KIND_FIELD = "rowkind.field"
_REMOVE = Deletes.REMOVE_ROW
_ALLOWED = "accept the risk for the table with `unordered: allowed`"
_REFUSED = {
    (MergeEngine.DEDUPLICATE, Deletes.CLEAR_COLUMNS): "rows replace each other whole",
    (MergeEngine.AGGREGATION, Deletes.CLEAR_COLUMNS): (
        "a column that combines values does not know which of them a delete takes back"
    ),
    (MergeEngine.FIRST_ROW, Deletes.CLEAR_COLUMNS): "the first row stays as it is",
    (MergeEngine.FIRST_ROW, Deletes.REMOVE_ROW): "the first row stays as it is",
}


def check_deletes(spec: TableSpec) -> Iterator[FieldProblem]:
    """Yield what is wrong with the declared deletes."""
    yield from _check_engine(spec)
    yield from _check_mixture(spec)
    yield from _check_clearing(spec)
    yield from _check_removal(spec)
    yield from _check_row_kinds(spec)


def _places(spec: TableSpec) -> Iterator[tuple[JsonPath, str | None, Deletes]]:
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
            yield problem_at(
                *place,
                value=deletes.value,
                message=f"not in {spec.merge_engine.value} tables: {reason}",
                hint="use `remove_row` or `ignore`"
                if spec.merge_engine is MergeEngine.DEDUPLICATE
                else "use `ignore`",
            )
        is_partial = spec.merge_engine is MergeEngine.PARTIAL_UPDATE
        if is_partial and deletes is Deletes.CLEAR_COLUMNS and not spec.sequence_groups:
            yield problem_at(
                *place,
                value=deletes.value,
                message="the table has no sequence groups, and only their columns can be cleared",
                hint="declare a sequence group, or use `remove_row` or `ignore`",
            )


def _check_mixture(spec: TableSpec) -> Iterator[FieldProblem]:
    effective = deletes_by_group(spec)
    others = [name for name, deletes in effective.items() if deletes not in (None, Deletes.IGNORE)]
    ignoring = [name for name, deletes in effective.items() if deletes is Deletes.IGNORE]
    if not others or not ignoring:
        return
    for place, group, deletes in _places(spec):
        if group in ignoring and deletes is Deletes.IGNORE:
            yield problem_at(
                *place,
                value=deletes.value,
                message="deletes are ignored by a whole table or not at all, and the group "
                f"{quoted_list(others[:1])} does not ignore them",
                hint="use `clear_columns`, or let every group ignore them",
            )
        elif group is None and deletes is Deletes.IGNORE:
            yield problem_at(
                *place,
                value=deletes.value,
                message="deletes are ignored by a whole table or not at all, and the group "
                f"{quoted_list(others[:1])} declares otherwise",
                hint="use `clear_columns`, or let every group ignore them",
            )


def _check_clearing(spec: TableSpec) -> Iterator[FieldProblem]:
    group_of = {name: group.name for group in spec.sequence_groups for name in group.columns}
    deletes = deletes_by_group(spec)
    for column, function in column_functions(spec).items():
        group = group_of.get(column)
        if group is not None and deletes[group] is Deletes.CLEAR_COLUMNS:
            yield problem_at(
                *place_of_function(spec, column),
                value=function.function,
                message=f"deletes clear the columns of the group `{group}`, and a column that "
                "combines values does not know which of them a delete takes back",
                hint="leave the `aggregate` out, or use `deletes: ignore`",
            )


def _check_removal(spec: TableSpec) -> Iterator[FieldProblem]:
    if spec.unordered is Unordered.ALLOWED:
        return
    message = _why_removal_harms(spec)
    if message is None:
        return
    clears = spec.merge_engine is MergeEngine.PARTIAL_UPDATE and not column_functions(spec)
    instead = "use `clear_columns`, which is safe in any order, or " if clears else ""
    places = [(place, deletes.value) for place, _, deletes in _places(spec) if deletes is _REMOVE]
    if spec.merge_engine is MergeEngine.DEDUPLICATE and spec.deletes is None:
        # Its deletes remove rows by themselves.
        name = spec.options.get(ROW_KIND_FIELD)
        places = [] if name is None else [(("options", ROW_KIND_FIELD), name)]
    for place, value in places:
        yield problem_at(*place, value=value, message=message, hint=f"{instead}{_ALLOWED}")


def _why_removal_harms(spec: TableSpec) -> str | None:
    """Return whom a removed row can wrong: a late record or another stream; None: nobody."""
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
            "a delete and a later record that one commit brings are one record, which adds to what "
            "the row held before the delete"
        )
    return None


def _check_row_kinds(spec: TableSpec) -> Iterator[FieldProblem]:
    name = spec.options.get(ROW_KIND_FIELD)
    if name is None:
        return
    place = ("options", ROW_KIND_FIELD)
    groups = spec.sequence_groups
    if len(groups) > 1:
        yield problem_at(
            *place,
            value=name,
            message="every record says its kind in this column, and a column has one stream, while "
            f"the table has a stream for each of {quoted_list(group.name for group in groups)}",
            hint="leave it out, or make a table with one sequence group",
        )
    is_declared = spec.deletes is not None or any(group.deletes is not None for group in groups)
    if not is_declared and spec.merge_engine is not MergeEngine.DEDUPLICATE:
        yield problem_at(
            *place,
            value=name,
            message="a row of this table can say that it deletes, and what deletes do is not said",
            hint="declare `deletes`: `ignore`, `clear_columns` or `remove_row`",
        )
