"""Tests of a table run one after another, in bounded time."""

import pytest

from braid.lake import ManualClock
from braid.registry.errors import DefinitionRefused
from braid.schemas import CaseOutcome
from braid.service.control.table_tests.required_tests import failed_tests
from braid.service.control.table_tests.table_run import requested_tests, run_tests
from tests.unit.registry.shop import orders
from tests.unit.service.control.table_tests.shop_tests import KEY, case, document, sale

RIGHT = case(sale(1, "1"), rows=[{"key": KEY, "row": {"total": "1.00"}}])
WRONG = case(sale(1, "1"), rows=[{"key": KEY, "row": {"total": "2.00"}}]).model_copy(
    update={"name": "another test"}
)


class SteppingClock:
    """A clock that moves by a second with each look."""

    def __init__(self) -> None:
        self.seconds = 0

    def now_ms(self) -> int:
        self.seconds += 1
        return self.seconds * 1_000


def test_a_report_has_the_result_of_each_test() -> None:
    report = run_tests(document(), [RIGHT, WRONG], clock=ManualClock())

    assert [(one.name, one.outcome) for one in report.cases] == [
        ("the test", CaseOutcome.PASSED),
        ("another test", CaseOutcome.FAILED),
    ]
    assert not report.passed
    assert run_tests(document(), [RIGHT], clock=ManualClock()).passed
    assert not run_tests(document(), [], clock=ManualClock()).passed


def test_tests_that_are_not_run_in_time_fail_and_say_so() -> None:
    report = run_tests(document(), [RIGHT, RIGHT, RIGHT], clock=SteppingClock(), seconds_max=4)

    assert [one.outcome for one in report.cases] == [
        CaseOutcome.PASSED,
        CaseOutcome.PASSED,
        CaseOutcome.FAILED,
    ]
    assert report.cases[2].message == "the tests take longer than 4 seconds"


def test_a_request_runs_its_own_tests_or_those_of_the_declaration() -> None:
    declared = document(orders(tests={"cases": [RIGHT.model_dump()]}))

    own = requested_tests(declared, None, clock=ManualClock())
    given = requested_tests(declared, [WRONG], clock=ManualClock())

    assert ([one.name for one in own.cases], own.passed) == (["the test"], True)
    assert ([one.name for one in given.cases], given.passed) == (["another test"], False)
    with pytest.raises(DefinitionRefused) as refused:
        requested_tests(declared, [RIGHT, RIGHT], clock=ManualClock())
    assert [problem.pointer for problem in refused.value.problems] == ["/cases/1/name"]


def test_only_required_tests_are_problems_of_a_declaration() -> None:
    cases = [RIGHT.model_dump(), WRONG.model_dump()]

    def problems(**tests: bool) -> list[tuple[str | None, str | None, str]]:
        table = orders(tests={"cases": cases, **tests})
        found = failed_tests(document(table), clock=ManualClock())
        return [(one.pointer, one.value, one.message) for one in found]

    assert problems() == []
    assert problems(required=True) == [
        (
            "/tests/cases/1/expect/rows/0/row/total",
            "1.00",
            "the test `another test` fails: the row "
            '{"id":7,"region":"eu"}, column `total`: expected "2.00", found "1.00"',
        )
    ]
