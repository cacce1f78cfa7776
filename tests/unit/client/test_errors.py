"""Each problem code has a class of error."""

import pytest

from braid.client import Refused
from braid.client.errors import ERROR_OF_CODE, error_of
from braid.schemas import ProblemCode
from braid.schemas.problem import RETRYABLE_CODES


@pytest.mark.parametrize("code", ProblemCode)
def test_every_code_has_a_class(code: ProblemCode) -> None:
    error = error_of({"code": code.value, "status": 400, "detail": "why"})

    assert type(error) is ERROR_OF_CODE[code]
    assert type(error) is not Refused
    assert str(error) == f"why (400 {code})"


def test_only_temporary_problems_are_repeated() -> None:
    repeated = {ERROR_OF_CODE[code].__name__ for code in RETRYABLE_CODES}

    assert repeated == {"Unavailable"}


def test_a_code_of_a_newer_service_is_a_refusal_too() -> None:
    document = {"code": "too_early", "status": 425, "errors": [{"field": "a", "pointer": None, "message": "m", "hint": "h", "new": 1}]}  # fmt: skip
    error = error_of(document, retry_after_seconds=3)

    assert (type(error), error.code, error.retry_after_seconds) == (Refused, "too_early", 3)
    assert "  a: m; hint: h" in str(error)
