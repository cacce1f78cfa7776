"""Rules for the values of maintenance options."""

import pytest

from braid.lake.declaration.validation import validate_schema
from braid.lake.errors import InvalidRequest
from braid.lake.options.table_options import TableOptions
from tests.unit.lake.merge.given_schemas import given_schema

IGNORED = "changelog-producer.row-deduplicate-ignore-fields"


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("num-sorted-run.stop-trigger", "4", "compaction-trigger`, which is 5"),
        ("num-sorted-run.stop-trigger", "-1", "compaction-trigger`, which is 5"),
        ("lookup-compact.max-interval", "-3", "compaction-trigger`, which is 5"),
        ("lookup-compact.max-interval", "4", "compaction-trigger`, which is 5"),
        ("tag.default-time-retained", "0 s", "a duration above 0"),
        ("consumer.expiration-time", "0", "a duration above 0"),
        ("compaction.small-file-ratio", "1.01", "a number from 0 to 1"),
        (IGNORED, "zz", "the table has no such column"),
        (IGNORED, " v", "the table has no such column"),
        ("record-level.time-field", "zz", "the table has no such column"),
    ],
)
def test_a_value_that_means_nothing_is_refused(key: str, value: str, message: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        validate_schema(given_schema("k INT, v INT", options={key: value}))

    (problem,) = caught.value.problems
    assert (problem.field, problem.value) == (key, value)
    assert message in problem.message
    assert problem.hint
    TableOptions.parse({key: value})  # a table that has it can be read


@pytest.mark.parametrize(
    "options",
    [
        {"num-sorted-run.stop-trigger": "5"},
        {"num-sorted-run.stop-trigger": "3", "num-sorted-run.compaction-trigger": "3"},
        {"lookup-compact.max-interval": "5"},
        {"tag.default-time-retained": "1 ms"},
        {"compaction.small-file-ratio": "1"},
        {"compaction.small-file-ratio": "0.0"},
        {IGNORED: "v"},
        {"record-level.time-field": "v"},
    ],
)
def test_a_value_that_means_something_is_taken(options: dict[str, str]) -> None:
    validate_schema(given_schema("k INT, v INT", options=options))
