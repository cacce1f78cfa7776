import pytest

from braid.lake.declaration.validation import validate_schema
from braid.lake.errors import InvalidRequest
from tests.unit.lake.merge.given_schemas import given_schema

COLUMNS = "k INT NOT NULL, s INT, v INT"
ORDERED = {"sequence.snapshot-ordering": "true"}


def refused(options: dict[str, str]) -> list[tuple[str, str | None]]:
    """Return (field, value) of every problem."""
    with pytest.raises(InvalidRequest) as error:
        validate_schema(given_schema(COLUMNS, options=options))
    return [(problem.field, problem.value) for problem in error.value.problems]


@pytest.mark.parametrize(
    "options",
    [
        {**ORDERED, "write-only": "true"},
        {**ORDERED, "write.compaction-skip": "true"},
        {"sequence.snapshot-ordering": "false", "sequence.field": "s"},
    ],
    ids=str,
)
def test_a_table_that_only_takes_writes_may_be_ordered_by_snapshot(options: dict[str, str]) -> None:
    validate_schema(given_schema(COLUMNS, options=options))


@pytest.mark.parametrize(
    "options", [ORDERED, {**ORDERED, "write-only": "false"}], ids=["unset", "false"]
)
def test_a_table_whose_writers_compact_cannot_be_ordered_by_snapshot(
    options: dict[str, str],
) -> None:
    assert refused(options) == [("sequence.snapshot-ordering", "true")]


def test_the_snapshot_is_the_only_order() -> None:
    options = {**ORDERED, "write-only": "true", "sequence.field": "s"}

    assert refused(options) == [("sequence.field", "s")]
