"""Rules for the time to live of rows."""

import pytest

from braid.lake.declaration.validation import validate_schema
from braid.lake.errors import InvalidRequest
from tests.unit.lake.merge.given_schemas import given_schema

EXPIRE_TIME = "record-level.expire-time"
TIME_FIELD = "record-level.time-field"


@pytest.mark.parametrize(
    ("options", "field", "value", "message"),
    [
        ({EXPIRE_TIME: "1 d"}, TIME_FIELD, None, "needs the time from which it counts"),
        ({EXPIRE_TIME: "1 d", TIME_FIELD: "zz"}, TIME_FIELD, "zz", "no such column"),
        ({EXPIRE_TIME: "1 d", TIME_FIELD: "s"}, TIME_FIELD, "s", "column `s` is STRING"),
        ({EXPIRE_TIME: "1 d", TIME_FIELD: "d"}, TIME_FIELD, "d", "column `d` is DATE"),
        ({TIME_FIELD: "s"}, TIME_FIELD, "s", "column `s` is STRING"),
        ({EXPIRE_TIME: "999 ms", TIME_FIELD: "t"}, EXPIRE_TIME, "999 ms", "at least 1 s"),
        (
            {EXPIRE_TIME: "1 d", TIME_FIELD: "t", "changelog-producer": "lookup"},
            EXPIRE_TIME,
            "1 d",
            "conflicts with changelog-producer = lookup",
        ),
        (
            {EXPIRE_TIME: "1 d", TIME_FIELD: "t", "changelog-producer": "full-compaction"},
            EXPIRE_TIME,
            "1 d",
            "conflicts with changelog-producer = full-compaction",
        ),
    ],
)
def test_a_time_to_live_that_cannot_be_kept_is_refused(
    options: dict[str, str], field: str, value: str | None, message: str
) -> None:
    schema = given_schema("k INT, t INT, s STRING, d DATE", options=options)

    with pytest.raises(InvalidRequest) as caught:
        validate_schema(schema)

    (problem,) = caught.value.problems
    assert (problem.field, problem.value) == (field, value)
    assert message in problem.message
    assert problem.hint


@pytest.mark.parametrize(
    "column_type", ["INT", "BIGINT", "TIMESTAMP(6)", "TIMESTAMP(3) WITH LOCAL TIME ZONE"]
)
@pytest.mark.parametrize(
    "options", [{}, {"merge-engine": "first-row"}, {"deletion-vectors.enabled": "true"}]
)
def test_these_times_and_tables_are_accepted(column_type: str, options: dict[str, str]) -> None:
    ttl = {EXPIRE_TIME: "1 s", TIME_FIELD: "t"}

    validate_schema(given_schema(f"k INT, t {column_type}", options=options | ttl))
