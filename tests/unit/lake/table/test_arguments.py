"""Arguments of the wrong kind are refused by name, never with a TypeError of Python."""

import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from braid.lake import Catalog, Condition, InvalidRequest, ManualClock, MemoryFileIO, parse_type

CONDITION = Condition(column="k", op="=", value=1)
GIVEN: dict[str, Any] = {
    "identifier": "db.t",
    "columns": [("k", "INT")],
    "primary_key": ["k"],
    "options": {"bucket": "1"},
}


def given_catalog() -> Catalog:
    """Return an empty catalog in memory."""
    return Catalog("/wh", file_io=MemoryFileIO(), clock=ManualClock(), random=random.Random(1))


@pytest.mark.parametrize(
    "wrong",
    [
        {"identifier": 5},
        {"columns": 5},
        {"columns": "k INT"},
        {"columns": ["k"]},
        {"columns": [("k", "INT", 1)]},
        {"columns": [(1, "INT")]},
        {"columns": [("k", 5)]},
        {"columns": [("k", "ARRAY<" * 3000 + "INT" + ">" * 3000)]},
        {"primary_key": "k"},
        {"partition_keys": "k"},
        {"options": {"bucket": 1}},
        {"options": [("bucket", "1")]},
        {"options": {"bucket": "1", "file.compression": "zip"}},
        {"options": {"bucket": "99999999999"}},
    ],
)
def test_a_declaration_of_the_wrong_kind_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest) as caught:
        given_catalog().create_table(**{**GIVEN, **wrong})

    assert caught.value.problems or "identifier" in wrong


@pytest.mark.parametrize(
    "call",
    [
        lambda table: table.get(5),
        lambda table: table.get({1: 1}),
        lambda table: table.scan(batch_rows=0),
        lambda table: table.scan(where="k=1"),
        lambda table: table.scan(where=CONDITION),
        lambda table: table.scan(columns="k"),
        lambda table: table.scan(machine="x"),
        lambda table: table.scan(at="1"),
        lambda table: table.scan(at=0),
        lambda table: table.snapshot("1"),
        lambda table: table.snapshot(True),
        lambda table: table.get({"k": 1}, at="1"),
        lambda table: table.get({"k": 1}, at=1.0),
        lambda table: table.writer(machine="x"),
        lambda table: table.writer(buffer_bytes="x"),
        lambda table: table.writer(buffer_bytes=-1),
        lambda table: table.writer(buffer_bytes=0),
        lambda table: table.writer(first_sequence_number="a"),
        lambda table: table.writer(first_sequence_number=-5),
        lambda table: table.writer(first_sequence_number=2**63 - 1),
        lambda table: table.writer(drop_null_columns="x"),
        lambda table: table.write_and_commit([{"k": 1}]),
        lambda table: table.write_and_commit(pa.table({"k": [1]}), kinds=[0]),
        lambda table: table.write_and_commit(pa.table({"k": [1]}), commit_user=5),
        lambda table: table.lookup(pa.table({"k": [1]}), columns=[]),
        lambda table: table.lookup(pa.table({"k": [1]}), columns=["k", "k"]),
        lambda table: table.get({"k": 1}, columns=[]),
        lambda table: table.get({"k": 1}, columns=["k", "k"]),
        lambda table: table.get({}),
        lambda table: table.expire(retain_min="a"),
        lambda table: table.expire(retain_max=1.5),
        lambda table: table.expire(older_than_ms=1e12),
        lambda table: table.expire(max_deletes=True),
        lambda table: table.expire(dry_run="no"),
        lambda table: table.clean_orphans(min_age_ms="1"),
        lambda table: table.clean_orphans(delete="no"),
        lambda table: table.reset_consumer("a", "1"),
        lambda table: table.reset_consumer("a", None),
        lambda table: table.lease(lease_ms="1"),
        lambda table: table.lease("1"),
        lambda table: table.lease(holder="\ud800"),
        lambda table: table.create_tag("a", retained_ms=1.5),
        lambda table: table.create_tag("a", retained_ms=2**63),
        lambda table: table.create_tag("a", snapshot_id="1"),
        lambda table: table.create_tag("\ud800"),
        lambda table: table.rollback(snapshot_id="1"),
        lambda table: table.rollback(snapshot_id=1, commit_user=5),
        lambda table: table.rescale(2, commit_user=5),
        lambda table: table.compact(buckets="ab"),
        lambda table: table.compact(buckets=[3]),
        lambda table: table.compact(buckets=[("", 0)]),
        lambda table: table.compact(buckets=[(b"", "0")]),
        lambda table: table.compact(full="no"),
        lambda table: table.inspect.snapshots(last=0),
        lambda table: table.inspect.snapshots(last=-1),
        lambda table: table.inspect.compactions(last="2"),
        lambda table: table.inspect.files("1"),
    ],
)
def test_a_call_of_the_wrong_kind_is_refused(call: Callable[[Any], object]) -> None:
    table = given_catalog().create_table(**GIVEN)
    table.write_and_commit(pa.table({"k": pa.array([1], pa.int32())}))

    with pytest.raises(InvalidRequest, match=r"expected|exactly") as refused:
        call(table)

    assert all(problem.field for problem in refused.value.problems)
    str(refused.value).encode()  # so that anybody can print it
    newest = table.latest_snapshot()
    assert newest is not None
    assert newest.id == 1


def test_a_key_of_other_columns_is_refused_with_the_table_and_its_columns() -> None:
    table = given_catalog().create_table(**GIVEN)

    for key, found in [({}, "nothing"), ({"k": 1, "q": 2}, "k, q")]:
        with pytest.raises(InvalidRequest) as refused:
            table.get(key)
        assert str(refused.value).startswith("table db.t: the key does not fit")
        assert [problem.value for problem in refused.value.problems] == [found]


def test_an_absent_snapshot_is_a_problem_of_its_field() -> None:
    table = given_catalog().create_table(**GIVEN)

    with pytest.raises(InvalidRequest, match="has no snapshot 55; there are none") as refused:
        table.scan(at=55)

    assert [(p.field, p.value) for p in refused.value.problems] == [("snapshot_id", "55")]


def test_types_are_nested_to_a_bound() -> None:
    assert str(parse_type("ARRAY<" * 63 + "INT" + ">" * 63)).endswith(">")
    with pytest.raises(InvalidRequest, match="at most 64 levels deep"):
        parse_type("ARRAY<" * 64 + "INT" + ">" * 64)


def test_the_smallest_number_of_64_bits_is_a_number_of_64_bits() -> None:
    table = given_catalog().create_table(**GIVEN)
    table.write_and_commit(pa.table({"k": pa.array([1], pa.int32())}))

    assert table.expire(older_than_ms=-(2**63), dry_run=True).snapshots == ()
    with pytest.raises(InvalidRequest, match="64 bits"):
        table.expire(older_than_ms=-(2**63) - 1, dry_run=True)
