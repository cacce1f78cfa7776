"""Texts of errors, and the table that they name."""

import pickle

import pyarrow as pa
import pytest

from braid.lake import Catalog, InvalidRequest, LakeError, MemoryFileIO, SchemaMismatch, Table
from braid.lake.errors import CorruptData, Problem, StreamFenced, table_error_context
from tests.support.committing import TOPIC, TOPIC_ID, stream_batch


def test_an_error_has_its_table_first_and_once() -> None:
    with (
        pytest.raises(CorruptData) as caught,
        table_error_context("other.o"),
        table_error_context("db.t"),
    ):
        raise CorruptData("damaged")

    assert str(caught.value) == "table db.t: damaged"
    assert caught.value.table == "db.t"


def test_a_message_that_names_the_table_is_not_changed() -> None:
    with pytest.raises(LakeError) as caught, table_error_context("db.t"):
        raise CorruptData("table db.t is damaged")

    assert str(caught.value) == "table db.t is damaged"


def test_an_error_without_a_table_is_its_message() -> None:
    problem = Problem(field="a", value="1", message="too much", hint="take less")

    error = InvalidRequest("refused", problems=[problem])

    assert str(error) == "refused\na: too much (found `1`)\nhint: take less"


def test_the_table_is_known_in_another_process() -> None:
    error = SchemaMismatch("records cannot be merged")
    error.table = "db.t"

    assert str(pickle.loads(pickle.dumps(error))) == "table db.t: records cannot be merged"


def given_table(identifier: str = "shop.parcels") -> Table:
    """Return an aggregation table with two commits whose sum does not fit."""
    table = Catalog("/wh", file_io=MemoryFileIO()).create_table(
        identifier,
        columns=[("k", "INT"), ("v", "INT")],
        primary_key=["k"],
        options={
            "bucket": "1",
            "merge-engine": "aggregation",
            "fields.v.aggregate-function": "sum",
        },
    )
    for value in (2**31 - 1, 1):
        table.write_and_commit(rows(value))
    return table


def rows(*values: int) -> pa.Table:
    """Return rows of key 1."""
    return pa.table({"k": pa.array([1] * len(values), pa.int32()), "v": pa.array(values)})


def test_records_that_cannot_be_merged_name_the_table() -> None:
    table = given_table()
    writer = table.writer()
    writer.write(rows(2**31 - 1, 1).cast(table.schema.arrow_schema))

    for act in (
        lambda: table.scan().to_arrow(),
        lambda: list(table.scan().to_batches()),
        lambda: table.get({"k": 1}),
        table.compact,
        writer.prepare_commit,
    ):
        with pytest.raises(SchemaMismatch, match=r"^table shop\.parcels: "):
            act()


def test_a_refused_declaration_or_call_names_the_table() -> None:
    catalog = Catalog("/wh", file_io=MemoryFileIO())

    with pytest.raises(InvalidRequest, match=r"^table shop\.orders: .*\nprimary_key: "):
        catalog.create_table("shop.orders", columns=[("k", "INT")], primary_key=[])
    with pytest.raises(InvalidRequest, match=r"^table shop\.parcels: "):
        given_table().scan(columns=["nope"])


def test_a_commit_names_the_table() -> None:
    committer = given_table().committer()
    for _ in range(2):
        committer.claim_stream("s", topic=TOPIC, topic_id=TOPIC_ID, initial_offsets={0: 0})

    with pytest.raises(StreamFenced, match=r"^table shop\.parcels: "):
        committer.commit_stream_batch([], stream_batch({0: 0}, {0: 0}, epoch=1))
