"""Implementation of `braid test`: runs the tests of definition files, without a service, Kafka or Spark."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import typer

from braid.cli.declarations import DeclarationsRefused
from braid.cli.definition_files import read_definitions
from braid.cli.exits import EXIT_USAGE
from braid.cli.output import OutputFormat, plain, print_document
from braid.lake import SystemClock
from braid.schemas import CaseOutcome, CaseResult, TableTestReport
from braid.service.control.table_tests.table_run import run_tests

_SECONDS_MAX: Final = 600
_MARKS: Final = {
    CaseOutcome.PASSED: "passed ",
    CaseOutcome.FAILED: "FAILED ",
    CaseOutcome.SKIPPED: "SKIPPED",
}
_INDENT: Final = " " * 10


def run(paths: Sequence[Path], *, output: OutputFormat) -> int:
    """Run the tests of definition files, print the results, and return the exit status.

    Args:
        paths: The files.
        output: The form of the output; as JSON or YAML one object, with the report of each table by its name.

    Returns:
        0 if every test has passed and there is one, 1 if not, 2 if the declarations break rules.
    """
    try:
        documents = read_definitions(paths)
    except DeclarationsRefused as refused:
        for line in refused.lines:
            typer.echo(f"error: {line}", err=True)
        return EXIT_USAGE
    clock = SystemClock()
    reports = {
        document.identifier: run_tests(
            document, document.table.tests.cases, clock=clock, seconds_max=_SECONDS_MAX
        )
        for document in documents
    }
    if output is OutputFormat.TABLE:
        for line in _lines(reports):
            typer.echo(line)
    else:
        print_document({name: plain(report) for name, report in reports.items()}, output)
    results = [result for report in reports.values() for result in report.cases]
    is_passed = all(result.outcome is CaseOutcome.PASSED for result in results)
    return 0 if results and is_passed else 1


def _lines(reports: dict[str, TableTestReport]) -> Iterator[str]:
    counts: Counter[str] = Counter()
    for identifier, report in reports.items():
        yield identifier
        for result in report.cases:
            counts[result.outcome.value] += 1
            yield from _case_lines(result)
    outcomes = ", ".join(f"{counts[one.value]} {one.value}" for one in CaseOutcome)
    yield f"tests: {counts.total()} ({outcomes})"


def _case_lines(result: CaseResult) -> Iterator[str]:
    yield f"  {_MARKS[result.outcome]} {result.name}"
    if result.message is not None:
        for line in result.message.splitlines():
            yield f"{_INDENT}{line}"
    for difference in result.differences:
        yield f"{_INDENT}{difference.message}"
