"""Each problem that the OpenAPI document lists for an operation is answered to some request for it, with the listed status.

A problem that is listed anew needs a provocation here; one that nothing provokes is no problem of the operation, and is not listed.
`http_client` checks the other direction: no answer of any test has a problem that is not listed.
"""

import pytest

from braid.schemas import ProblemCode
from tests.unit.service.contract.deployment import Deployment
from tests.unit.service.contract.documented import Operation, documented_problems, operations
from tests.unit.service.contract.provocations import provoked

pytestmark = pytest.mark.slow  # some two thousand requests

ENDLESS = "/rows/events"
"""Subscriptions, whose answers have no end."""


@pytest.mark.parametrize(
    ("operation", "status", "code"),
    [pytest.param(*found, id=f"{found[2].value}-{found[0]}") for found in documented_problems()],
)
def test_a_documented_problem_is_answered(
    operation: Operation, status: int, code: ProblemCode
) -> None:
    found = provoked(operation, code)

    assert (found.code, found.status) == (code.value, status)


@pytest.mark.parametrize(
    "operation",
    [one for one in sorted(operations()) if not one.path.endswith(ENDLESS)],
    ids=str,
)
def test_without_a_provocation_the_request_succeeds(operation: Operation) -> None:
    answer = Deployment().answer(operation)

    assert answer.is_success, answer.text
