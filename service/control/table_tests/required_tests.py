"""Required tests of a table: the problems of a declaration whose tests fail.

The registrar calls it with the document that it is about to write, so that a change that makes a required test fail is
refused. A test of streams that are not registered yet is skipped; it counts once the last of them is registered.
"""

from collections.abc import Iterator

from braid.lake import Clock
from braid.schemas import CaseOutcome, CaseResult, FieldProblem, TableDocument
from braid.schemas.field_problems import display_text, problem_at
from braid.service.control.table_tests.table_run import run_tests


def failed_tests(document: TableDocument, *, clock: Clock) -> list[FieldProblem]:
    """Return a problem for each difference of the required tests of a table, located in its declaration.

    Args:
        document: The declaration of the table and of its streams; it breaks no rule.
        clock: Measures the time of the run.
    """
    tests = document.table.tests
    if not tests.required:
        return []
    report = run_tests(document, tests.cases, clock=clock)
    return [
        problem
        for index, result in enumerate(report.cases)
        if result.outcome is CaseOutcome.FAILED
        for problem in _problems(index, result)
    ]


def _problems(index: int, result: CaseResult) -> Iterator[FieldProblem]:
    path = ("tests", "cases", index)
    what = f"the test `{result.name}` fails"
    hint = "change the declaration, or what the test expects; `POST …:test` shows all results"
    if result.message is not None:
        yield problem_at(*path, message=f"{what}: {result.message}", hint=hint)
    for difference in result.differences:
        yield problem_at(
            *path,
            *difference.path,
            value=None if difference.found is None else display_text(difference.found),
            message=f"{what}: {difference.message}",
            hint=hint,
        )
