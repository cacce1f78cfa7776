"""Run of the tests of a table, one after another, in bounded time."""

from collections.abc import Sequence
from typing import Final

from braid.lake import Clock, LimitExceeded
from braid.registry.errors import DefinitionRefused
from braid.registry.rules.tables.table_test_rules import check_cases
from braid.schemas import CaseOutcome, TableDocument, TableTest, TableTestReport
from braid.service.control.table_tests.case_run import CaseRuns

SECONDS_MAX: Final = 30
"""The longest run of all tests of one request."""


def requested_tests(
    document: TableDocument, cases: Sequence[TableTest] | None, *, clock: Clock
) -> TableTestReport:
    """Return the results of the tests of a request.

    Args:
        document: The document of the table.
        cases: The tests; None: those of the declaration.
        clock: Measures the time of the run.

    Raises:
        DefinitionRefused: The tests break rules.
    """
    if cases is None:
        return run_tests(document, document.table.tests.cases, clock=clock)
    problems = list(check_cases(document.table, cases, "cases"))
    if problems:
        message = f"the tests do not fit the table {document.identifier}"
        raise DefinitionRefused(message, problems=problems)
    return run_tests(document, cases, clock=clock)


def run_tests(
    document: TableDocument,
    cases: Sequence[TableTest],
    *,
    clock: Clock,
    seconds_max: float = SECONDS_MAX,
) -> TableTestReport:
    """Return the results of tests; nothing of the table is read or written.

    Args:
        document: The declaration of the table and of its streams; it breaks no rule.
        cases: The tests, which break no rule either.
        clock: Measures the time of the run.
        seconds_max: The longest run; tests that are not finished by then fail.
    """
    end_ms = clock.now_ms() + seconds_max * 1_000

    def check_time() -> None:
        if clock.now_ms() > end_ms:
            message = f"the tests take longer than {seconds_max:g} seconds"
            raise LimitExceeded(message)

    runs = CaseRuns(document, check_time)
    results = tuple(runs.run(case) for case in cases)
    outcomes = {result.outcome for result in results}
    passed = CaseOutcome.PASSED in outcomes and CaseOutcome.FAILED not in outcomes
    return TableTestReport(passed=passed, cases=results)
