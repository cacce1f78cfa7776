"""Renaming of a column in a declaration: in its columns, keys, groups, retention, feature views, lookup indexes, tests and options.

Pure. `table_changes` has already refused to rename a column that `row_ttl` names, or an option that is not renamed with it.
"""

from braid.lake import rename_in_options
from braid.schemas import ExpectedRow, TableSpec, TableTest, TableTests, ViewSpec


def renamed_declaration(spec: TableSpec, old: str, new: str) -> TableSpec:
    """Return the declaration with a column renamed; feature views still answer it under the same name.

    Args:
        spec: The declaration.
        old: The column's name so far.
        new: The column's name from now on.
    """

    def renamed(names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(new if name == old else name for name in names)

    groups = tuple(
        group.model_copy(
            update={
                "ordering": None if group.ordering is None else renamed(group.ordering),
                "columns": renamed(group.columns),
                "keep": renamed(group.keep),
            }
        )
        for group in spec.sequence_groups
    )
    retention = spec.delete_retention
    if retention is not None and retention.columns is not None:
        retention = retention.model_copy(update={"columns": renamed(retention.columns)})
    columns = tuple(
        column.model_copy(update={"name": new}) if column.name == old else column
        for column in spec.columns
    )
    return spec.model_copy(
        update={
            "columns": columns,
            "primary_key": renamed(spec.primary_key),
            "partition_keys": renamed(spec.partition_keys),
            "sequence_groups": groups,
            "delete_retention": retention,
            "views": tuple(_renamed_view(view, old, new) for view in spec.views),
            "lookup_indexes": tuple(
                index.model_copy(update={"columns": renamed(index.columns)})
                for index in spec.lookup_indexes
            ),
            "tests": _renamed_tests(spec.tests, old, new),
            "options": rename_in_options(spec.options, old, new),
        }
    )


def _renamed_view(view: ViewSpec, old: str, new: str) -> ViewSpec:
    columns = tuple(
        one.model_copy(update={"column": new, "name": one.shown_name}) if one.column == old else one
        for one in view.columns
    )
    return view.model_copy(update={"columns": columns})


def _renamed_tests(tests: TableTests, old: str, new: str) -> TableTests:
    """Return the tests with a column renamed in what they expect; given records name fields of messages."""

    def renamed(row: ExpectedRow) -> ExpectedRow:
        update = {
            field: {new if name == old else name: value for name, value in values.items()}
            for field, values in (("key", row.key), ("row", row.row), ("reasons", row.reasons))
        }
        return row.model_copy(update=update)

    def of_case(case: TableTest) -> TableTest:
        rows = tuple(map(renamed, case.expect.rows))
        return case.model_copy(update={"expect": case.expect.model_copy(update={"rows": rows})})

    return tests.model_copy(update={"cases": tuple(map(of_case, tests.cases))})
