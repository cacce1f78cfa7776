"""Table tests: given records and expected rows in a table's declaration, requests to run them, and their results."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Final

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from braid.schemas.contract import (
    COLUMNS_MAX,
    Contract,
    JsonValue,
    NonNegativeInt,
    Scalar,
    StrictBool,
    at_most,
)
from braid.schemas.problem import JsonPath
from braid.schemas.pushed_records import TIMESTAMP_MS_MAX
from braid.schemas.row import GroupState
from braid.schemas.sample_record import SampleRecord

CASES_MAX: Final = 100
GIVEN_MAX: Final = 200
"""Most records of one case."""
RECORDS_MAX: Final = 2_000
"""Most records of all cases of a table."""
EXPECTED_MAX: Final = 100
"""Most expected rows of one case."""


class GivenRecord(SampleRecord):
    """A record that a stream reads in a test; of what `SampleRecord` has, two fields have other defaults.

    Without `timestamp_ms` it is one second younger than the record before, and the first one is of
    2026-01-01T00:00:00Z. Without `offset` it follows the records of its stream and partition before it, from 0.

    Attributes:
        stream: The stream that reads it.
    """

    stream: str = Field(min_length=1, examples=["payments"])


class ExpectedRow(Contract):
    """A row that a test expects.

    Attributes:
        key: The columns of the primary key.
        exists: Whether there is such a row.
        row: Expected values by column, as they are answered over HTTP; columns that are not named may have any value.
        groups: Expected states of sequence groups, by name.
        reasons: By column, the expected reason of each version of the row, as in an explanation, oldest version first. In a
            test that expects reasons, each record is committed alone, and so is a version of its own.
        complete: Whether the row is complete; None: either.
    """

    key: Annotated[Mapping[str, Scalar], at_most(COLUMNS_MAX)]
    exists: StrictBool = True
    row: Annotated[Mapping[str, JsonValue], at_most(COLUMNS_MAX)] = Field(default_factory=dict)
    groups: Annotated[Mapping[str, GroupState], at_most(COLUMNS_MAX)] = Field(default_factory=dict)
    reasons: Annotated[
        Mapping[str, Annotated[tuple[str, ...], at_most(GIVEN_MAX)]], at_most(COLUMNS_MAX)
    ] = Field(default_factory=dict, examples=[{"total": ["newer-sequence", "late"]}])
    complete: StrictBool | None = None


class ExpectedDeadLetter(Contract):
    """A dead letter that a test expects.

    Attributes:
        stream: The stream that refuses the record.
        reason: The reason, such as `wrong_type`.
    """

    stream: str = Field(min_length=1)
    reason: str = Field(min_length=1, examples=["wrong_type"])


class Expectation(Contract):
    """What a test expects once all of its records are merged.

    Attributes:
        rows: Rows by their keys; other rows may exist.
        row_count: The number of rows of the table; None: any.
        dead_letters: All dead letters, in the order of their records.
    """

    rows: Annotated[tuple[ExpectedRow, ...], at_most(EXPECTED_MAX)] = ()
    row_count: NonNegativeInt | None = None
    dead_letters: Annotated[tuple[ExpectedDeadLetter, ...], at_most(GIVEN_MAX)] = ()


class TableTest(Contract):
    """A test of a table: records that its streams read in this order, and what is expected then.

    Attributes:
        name: What the test shows, unique in the table.
        given: The records.
        expect: What is expected.
        read_at_ms: The time at which rows are read, milliseconds since the epoch, UTC: rows expire and become stale by
            it. None: the time of the newest record.
    """

    name: str = Field(min_length=1, max_length=200, examples=["a late payment loses"])
    given: Annotated[tuple[GivenRecord, ...], at_most(GIVEN_MAX)] = ()
    expect: Expectation
    read_at_ms: int | None = Field(default=None, strict=True, ge=0, le=TIMESTAMP_MS_MAX)


class TableTests(Contract):
    """The tests of a table.

    Attributes:
        required: Whether a change of the table or of its streams is refused if it makes a test fail.
        cases: The tests.
    """

    required: StrictBool = False
    cases: Annotated[tuple[TableTest, ...], at_most(CASES_MAX)] = ()


class TableTestRequest(Contract):
    """A request to run tests of a table.

    Attributes:
        cases: The tests; None: those of the table's declaration.
    """

    cases: Annotated[tuple[TableTest, ...], at_most(CASES_MAX)] | None = None


class CaseOutcome(StrEnum):
    """The outcome of a test; it is skipped if a stream of its records is not registered."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


class CaseDifference(Contract):
    """A difference between what a test expects and what was found.

    Attributes:
        field: The field of the test, such as `expect.rows[0].row.total`.
        key: The key of the row; None if the difference is about no row.
        column: The column; None if the difference is about no column.
        expected: What the test expects; of a long value, the beginning of its text.
        found: What was found, likewise.
        message: The difference in words.
    """

    field: str
    key: Mapping[str, Any] | None = None
    column: str | None = None
    expected: Any = None
    found: Any = None
    message: str
    # `field` in parts, for problems of a declaration; not a part of the JSON.
    path: SkipJsonSchema[JsonPath] = Field(default=(), exclude=True, repr=False)


class CaseResult(Contract):
    """The result of a test.

    Attributes:
        name: The name of the test.
        outcome: The outcome.
        differences: Why it failed; at most the first 20.
        message: Why it was skipped, or could not be run; None otherwise.
    """

    name: str
    outcome: CaseOutcome
    differences: tuple[CaseDifference, ...] = ()
    message: str | None = None


class TableTestReport(Contract):
    """The results of the tests of a table.

    Attributes:
        passed: Whether no test has failed, and at least one was run.
        cases: The result of each test, in order.
    """

    passed: bool
    cases: tuple[CaseResult, ...]
