"""Rules for the number of retained snapshots and changelogs."""

import re
from dataclasses import replace

import pyarrow as pa
import pytest

from braid.lake import Catalog, InvalidRequest, MemoryFileIO, RemoveOption, SetOption, Table
from braid.lake.declaration.validation import validate_schema
from braid.lake.snapshots.schema_store import SchemaStore
from tests.unit.lake.merge.given_schemas import given_schema

SNAPSHOT_MIN = "snapshot.num-retained.min"
SNAPSHOT_MAX = "snapshot.num-retained.max"
CHANGELOG_MIN = "changelog.num-retained.min"
CHANGELOG_MAX = "changelog.num-retained.max"


@pytest.mark.parametrize(
    ("options", "field", "message"),
    [
        ({SNAPSHOT_MIN: "9", SNAPSHOT_MAX: "3"}, SNAPSHOT_MAX, "less than .*min`, which is 9$"),
        ({SNAPSHOT_MAX: "9"}, SNAPSHOT_MAX, "less than .*min`, which is 10 by default$"),
        ({CHANGELOG_MIN: "5", CHANGELOG_MAX: "4"}, CHANGELOG_MAX, "less than .*, which is 5$"),
        (
            {CHANGELOG_MAX: "5"},
            CHANGELOG_MAX,
            "which is 10 by default, like `snapshot.num-retained.min`$",
        ),
        (
            {SNAPSHOT_MAX: "18", CHANGELOG_MIN: "10000"},
            CHANGELOG_MIN,
            "more than `changelog.num-retained.max`, which is 18 by default, like `snapshot.num-retained.max`",
        ),
        (
            {SNAPSHOT_MIN: "7", SNAPSHOT_MAX: "8", CHANGELOG_MAX: "6"},
            CHANGELOG_MAX,
            "which is 7 by default, like `snapshot.num-retained.min`$",
        ),
    ],
)
def test_less_at_most_than_at_least_is_refused(
    options: dict[str, str], field: str, message: str
) -> None:
    with pytest.raises(InvalidRequest) as caught:
        validate_schema(given_schema("k INT, v INT", options=options))

    (problem,) = caught.value.problems
    assert (problem.field, problem.value) == (field, options[field])
    assert problem.hint is not None
    assert re.search(message, problem.message)


@pytest.mark.parametrize(
    "options",
    [
        {SNAPSHOT_MIN: "3", SNAPSHOT_MAX: "3"},
        {SNAPSHOT_MAX: "10"},
        {SNAPSHOT_MAX: "10", CHANGELOG_MIN: "10"},
        {SNAPSHOT_MAX: "10", CHANGELOG_MIN: "50", CHANGELOG_MAX: "50"},
        {"changelog.time-retained": "1 s"},
    ],
)
def test_what_the_reference_takes_is_taken(options: dict[str, str]) -> None:
    validate_schema(given_schema("k INT, v INT", options=options))


def given_table(**options: str) -> Table:
    return Catalog("/wh", file_io=MemoryFileIO()).create_table(
        "d.t", columns=[("k", "INT")], primary_key=["k"], options={"bucket": "1", **options}
    )


def test_options_are_not_changed_into_a_contradiction() -> None:
    table = given_table(**{SNAPSHOT_MIN: "2", SNAPSHOT_MAX: "3"})

    with pytest.raises(InvalidRequest, match="which is 2"):
        table.alter(SetOption(key=SNAPSHOT_MAX, value="1"))
    with pytest.raises(InvalidRequest, match="which is 10 by default"):
        table.alter(RemoveOption(key=SNAPSHOT_MIN))


def test_a_table_that_has_a_contradiction_is_read_and_mended() -> None:
    made = given_table()
    older = made.schema
    options = {**older.options, SNAPSHOT_MAX: "3"}
    store = SchemaStore(made.file_io, made.paths)
    assert store.create(replace(older, id=1, options=options))
    table = Table.open(made.path, file_io=made.file_io)
    for _ in range(5):
        table.write_and_commit(pa.table({"k": pa.array([1], pa.int32())}))

    assert table.scan().to_arrow().num_rows == 1
    with pytest.raises(InvalidRequest, match="options of the table contradict") as refused:
        table.expire()
    assert [(p.field, p.value) for p in refused.value.problems] == [(SNAPSHOT_MAX, "3")]
    assert table.expire(retain_max=4, older_than_ms=0).snapshots == (1,)
    table.alter(SetOption(key=SNAPSHOT_MIN, value="2"))
    assert table.expire(older_than_ms=0).snapshots == (2,)
