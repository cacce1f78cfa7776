"""Rules for the tests of a table: names, keys, columns, groups and reasons that the table and its streams can have.

Pure. Whether the streams of given records exist is not checked: streams are registered after their table.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from braid.formats.dead_letter import DeadLetterReason
from braid.lake import Reason
from braid.registry.layout.physical_table import physical_groups
from braid.registry.rules.tables.row_rules import check_group
from braid.schemas import ExpectedRow, FieldProblem, TableSpec, TableTest
from braid.schemas.explanation import KEPT
from braid.schemas.field_problems import problem_at, quoted_list
from braid.schemas.table_test import RECORDS_MAX

_REASONS: Final = tuple(reason.value for reason in DeadLetterReason)
_REASONS_OF_VERSIONS: Final = (*(reason.value for reason in Reason), KEPT)


def check_table_tests(spec: TableSpec) -> Iterator[FieldProblem]:
    """Yield the problems of the table's own tests."""
    yield from check_cases(spec, spec.tests.cases, "tests", "cases")


def check_cases(
    spec: TableSpec, cases: Sequence[TableTest], *path: str | int
) -> Iterator[FieldProblem]:
    """Yield the problems of tests.

    Args:
        spec: The declaration of their table.
        cases: The tests.
        *path: Their place in the declaration or request.
    """
    records = sum(len(case.given) for case in cases)
    if records > RECORDS_MAX:
        yield problem_at(
            *path,
            value=str(records),
            message=f"the tests have {records} records, expected at most {RECORDS_MAX}",
            hint="give each test only the records that it needs",
        )
    names: set[str] = set()
    for index, case in enumerate(cases):
        if case.name in names:
            yield problem_at(
                *path,
                index,
                "name",
                value=case.name,
                message="another test has this name",
                hint="give each test a name of its own",
            )
        names.add(case.name)
        for place, row in enumerate(case.expect.rows):
            yield from _check_row(spec, row, *path, index, "expect", "rows", place)
        for place, letter in enumerate(case.expect.dead_letters):
            if letter.reason not in _REASONS:
                yield problem_at(
                    *path,
                    *(index, "expect", "dead_letters", place, "reason"),
                    value=letter.reason,
                    message="no such reason",
                    hint=f"reasons: {quoted_list(_REASONS)}",
                )


def _check_row(spec: TableSpec, row: ExpectedRow, *path: str | int) -> Iterator[FieldProblem]:
    if set(row.key) != set(spec.primary_key):
        yield problem_at(
            *path,
            "key",
            value=row.key,
            message="expected a value for each column of the primary key, and no others",
            hint=f"key: {quoted_list(spec.primary_key)}",
        )
    if row.row and not row.exists:
        yield problem_at(
            *path,
            "row",
            message="a row that does not exist has no values",
            hint="leave out `row`, or `exists`",
        )
    generated = [
        name
        for group in physical_groups(spec)
        for name in group.generated_columns
        if name not in {kept.order_column for kept in group.kept_columns}
    ]
    known = {*spec.column_names, *generated}
    named = [("row", name) for name in row.row] + [("reasons", name) for name in row.reasons]
    for field, name in named:
        if name not in known or (field == "reasons" and name in spec.primary_key):
            yield problem_at(
                *path,
                *(field, name),
                value=name,
                message="no such column",
                hint=f"columns: {quoted_list([*spec.column_names, *generated])}",
            )
    for name, reasons in row.reasons.items():
        unknown = [reason for reason in reasons if reason not in _REASONS_OF_VERSIONS]
        if unknown:
            yield problem_at(
                *path,
                *("reasons", name),
                value=unknown[0],
                message="no such reason",
                hint=f"reasons: {quoted_list(_REASONS_OF_VERSIONS)}",
            )
    for name in row.groups:
        yield from check_group(spec, name, *path, "groups", name)


def tests_with_column(spec: TableSpec, column: str) -> list[str]:
    """Return the names of the tests that expect values of a column."""
    return [
        case.name
        for case in spec.tests.cases
        if any(column in {*row.row, *row.reasons, *row.key} for row in case.expect.rows)
    ]
