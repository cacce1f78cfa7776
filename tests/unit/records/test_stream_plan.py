"""A plan fits the table as it is, and reads each field of a message in one way."""

import pytest

from braid.lake import InvalidRequest, UnsupportedFeature
from braid.records.stream_plan import plan_stream
from braid.registry.rules.stream_completion import complete_stream
from braid.schemas import StreamDefinition
from tests.unit.records.given_streams import given_plan, given_spec, given_table

SPEC = given_spec({"id": "BIGINT", "a": "STRING", "b": "INT", "version": "INT"})


def test_a_plan_has_the_columns_read_and_written() -> None:
    plan = given_plan(SPEC, columns=[{"column": "id", "path": "k.id"}, {"column": "version"}])

    assert [(c.name, c.address, str(c.type)) for c in plan.columns] == [
        ("id", "k.id", "BIGINT NOT NULL"),
        ("version", "version", "INT"),
    ]
    assert plan.ordering == ("version",)
    assert plan.key == "db.t/s"
    assert plan.group_columns == (
        "version",
        "s__offset",
        "s__partition",
        "a",
        "b",
        "s__at",
        "s__op",
    )


def test_a_generated_ordering_is_not_read_from_messages() -> None:
    plan = given_plan(given_spec({"id": "INT", "a": "INT"}, ordering=None))

    assert plan.ordering == ()
    assert plan.written.partition_column == "s__partition"


def test_a_plan_says_whether_rows_are_older_while_its_stream_reads_again() -> None:
    assert not given_plan(SPEC).shows_older_rows
    assert given_plan(SPEC, on_tombstone="remove_row").shows_older_rows


def test_a_column_that_the_table_has_lost_is_named() -> None:
    other = given_table(given_spec({"id": "BIGINT", "a": "STRING", "version": "INT"}))
    stream = complete_stream(SPEC, StreamDefinition(topic="t"), name="s")

    with pytest.raises(InvalidRequest, match="has no such column") as caught:
        plan_stream(table="db.t", spec=SPEC, stream=stream, schema=other.schema)

    assert [problem.value for problem in caught.value.problems] == ["b"]


@pytest.mark.parametrize("sql", ["MULTISET<INT>", "ARRAY<MULTISET<STRING>>", "MAP<INT, INT>"])
def test_types_that_json_cannot_hold_are_refused_at_the_start(sql: str) -> None:
    with pytest.raises(UnsupportedFeature, match="column a cannot be read") as caught:
        given_plan(given_spec({"id": "INT", "a": sql}, ordering=None))

    assert [problem.field for problem in caught.value.problems] == ["a"]


@pytest.mark.parametrize(
    ("paths", "problem"),
    [({"a": "x", "b": "x"}, "column b reads x as INT"), ({"a": "x", "b": "x.y"}, "a reads x as")],
    ids=["as two types", "as value and as object"],
)
def test_a_field_is_read_in_one_way_only(paths: dict[str, str], problem: str) -> None:
    columns = [{"column": "id"}, {"column": "version"}]
    columns += [{"column": column, "path": path} for column, path in paths.items()]

    with pytest.raises(InvalidRequest, match=problem):
        given_plan(SPEC, columns=columns)


def test_two_columns_of_one_type_may_read_one_field() -> None:
    spec = given_spec({"id": "INT", "a": "INT", "version": "INT"})
    columns = [{"column": "id", "path": "n"}, {"column": "a", "path": "n"}, {"column": "version"}]

    assert len(given_plan(spec, columns=columns).columns) == 3
