"""Each readable record is given its table's bucket."""

import pyarrow as pa

from braid.formats.schema_registry.schema_source import SchemaKind
from braid.lake import assign_buckets
from braid.pipelines.sink.bucket_routing import BucketRouter
from tests.support.given_schemas import BROKEN, BrokenSchemas, GivenSchemas, framed
from tests.unit.records.given_streams import (
    given_plan,
    given_records,
    given_spec,
    given_table,
)


def test_readable_records_get_their_bucket_and_others_the_first() -> None:
    spec = given_spec({"id": "BIGINT", "a": "STRING"}, ordering=None, buckets=8)
    schema = given_table(spec).schema
    records = given_records([{"id": 5}, {"a": "y"}, {"id": 7}, b"{", None, {"id": 11, "a": 1}])

    routed = BucketRouter(plan=given_plan(spec), schema=schema).buckets_of(records)

    five, seven, eleven = assign_buckets(pa.table({"id": pa.array([5, 7, 11])}), schema)
    assert routed.tolist() == [five, 0, seven, 0, 0, eleven]
    assert len({five, seven, eleven}) > 1


def test_a_batch_of_refused_records_is_routed_too() -> None:
    spec = given_spec({"id": "BIGINT", "a": "STRING"}, ordering=None)

    routed = BucketRouter(plan=given_plan(spec), schema=given_table(spec).schema).buckets_of(
        given_records([{"a": "x"}])
    )

    assert routed.tolist() == [0]


def test_a_key_from_the_records_key_has_the_bucket_of_the_same_key_from_its_value() -> None:
    spec = given_spec({"id": "BIGINT", "a": "STRING"}, ordering=None, buckets=8)
    schema = given_table(spec).schema
    columns = [{"column": "id", "source": "key"}, {"column": "a"}]
    ids = [*range(9), 1 << 40]

    by_value = BucketRouter(plan=given_plan(spec), schema=schema).buckets_of(
        given_records([{"id": one} for one in ids])
    )
    by_key = BucketRouter(plan=given_plan(spec, columns=columns), schema=schema).buckets_of(
        given_records([{}] * len(ids), keys=[str(one).encode() for one in ids])
    )

    assert by_key.tolist() == by_value.tolist()
    assert len(set(by_key.tolist())) > 1


def test_a_computed_key_has_the_bucket_of_the_same_key_from_a_field() -> None:
    spec = given_spec({"id": "BIGINT", "a": "STRING"}, ordering=None, buckets=8)
    schema = given_table(spec).schema
    columns = [{"column": "id", "expression": "length(a) + 0"}, {"column": "a"}]
    plan = given_plan(spec, columns=columns)

    computed = BucketRouter(plan=plan, schema=schema).buckets_of(
        given_records([{"a": "x" * one} for one in range(9)])
    )

    plain = BucketRouter(plan=given_plan(spec), schema=schema).buckets_of(
        given_records([{"id": one} for one in range(9)])
    )
    assert computed.tolist() == plain.tolist()


def test_a_message_behind_the_id_of_its_schema_has_the_bucket_of_its_key() -> None:
    spec = given_spec({"id": "BIGINT", "a": "STRING"}, ordering=None, buckets=8)
    schema = given_table(spec).schema
    plan = given_plan(spec, format={"type": "json", "schema_registry": "shop"})
    messages = [b'{"id": %d}' % number for number in range(9)]

    routed = BucketRouter(
        plan=plan, schema=schema, schemas=GivenSchemas({7: SchemaKind.JSON})
    ).buckets_of(given_records([*(framed(7, message) for message in messages), *messages]))

    plain = BucketRouter(plan=given_plan(spec), schema=schema).buckets_of(given_records(messages))
    assert routed.tolist() == [*plain.tolist(), *[0] * 9]


def test_a_kafka_key_behind_the_id_of_its_schema_has_the_bucket_of_its_value() -> None:
    spec = given_spec({"id": "BIGINT", "a": "STRING"}, ordering=None, buckets=8)
    schema = given_table(spec).schema
    columns = [{"column": "id", "source": "key"}, {"column": "a"}]
    key_format = {"type": "json", "schema_registry": "shop"}
    plan = given_plan(spec, columns=columns, key_format=key_format)
    keys = [framed(7, b"%d" % number) for number in range(9)]

    routed = BucketRouter(
        plan=plan, schema=schema, schemas=GivenSchemas({7: SchemaKind.JSON})
    ).buckets_of(given_records([{}] * 9, keys=keys))

    messages = [{"id": number} for number in range(9)]
    plain = BucketRouter(plan=given_plan(spec), schema=schema).buckets_of(given_records(messages))
    assert routed.tolist() == plain.tolist()


def test_a_record_whose_reading_raises_leaves_the_others_their_buckets() -> None:
    """Else two tasks would write records of one key, and the one that came last might lose."""
    spec = given_spec({"id": "BIGINT", "a": "STRING"}, ordering=None, buckets=8)
    schema = given_table(spec).schema
    plan = given_plan(spec, format={"type": "json", "schema_registry": "shop"})
    messages = [b'{"id": %d}' % number for number in range(9)]

    routed = BucketRouter(
        plan=plan, schema=schema, schemas=BrokenSchemas({7: SchemaKind.JSON})
    ).buckets_of(
        given_records([framed(BROKEN, messages[1]), *(framed(7, one) for one in messages)])
    )

    plain = BucketRouter(plan=given_plan(spec), schema=schema).buckets_of(given_records(messages))
    assert routed.tolist() == [0, *plain.tolist()]


def test_a_key_without_a_bucket_leaves_the_others_theirs() -> None:
    spec = given_spec({"id": "BIGINT", "a": "STRING"}, ordering=None, buckets=8)
    narrow = given_spec({"id": "INT", "a": "STRING"}, ordering=None, buckets=8)
    schema = given_table(narrow).schema
    ids = list(range(9))
    records = given_records([{"id": one} for one in (*ids, 1 << 40)])

    routed = BucketRouter(plan=given_plan(spec), schema=schema).buckets_of(records)

    expected = assign_buckets(pa.table({"id": pa.array(ids, pa.int32())}), schema).tolist()
    assert routed.tolist() == [*expected, 0]
    assert len(set(expected)) > 1


def test_a_delete_goes_to_the_bucket_of_its_row() -> None:
    """One task then has all records of the row, in the order of arrival."""
    spec = given_spec(
        {"id": "BIGINT", "a": "INT"}, ordering=None, buckets=8, deletes="clear_columns"
    )
    columns = [{"column": "id", "source": "key"}, {"column": "a"}]
    plan = given_plan(spec, columns=columns, on_tombstone="clear_columns", delete_when="op = 'd'")
    values: list[dict[str, object] | None] = [{"a": 1}, None, {"op": "d", "a": "no number"}]
    records = given_records(
        values * 9, keys=[str(id_).encode() for id_ in range(9) for _ in values]
    )

    routed = BucketRouter(plan=plan, schema=given_table(spec).schema).buckets_of(records)

    buckets = routed.tolist()
    assert buckets == [bucket for bucket in buckets[::3] for _ in values]
    assert len(set(buckets)) > 1


def test_a_key_goes_to_the_bucket_of_its_text_as_written() -> None:
    spec = given_spec(
        {"id": "STRING", "country": "STRING", "version": "INT", "note": "INT"},
        buckets=16,
        partition_keys=["country"],
        primary_key=["id", "country"],
        sequence_groups=[{"name": "s", "ordering": ["version"], "columns": ["note"]}],
    )
    texts = [{"id": f"{n}.10", "country": "x"} for n in range(9)]
    numbers = [f'{{"id": {n}.10, "country": "x"}}'.encode() for n in range(9)]

    routed = BucketRouter(plan=given_plan(spec), schema=given_table(spec).schema).buckets_of(
        given_records([*texts, *numbers])
    )

    buckets = routed.tolist()
    assert buckets[:9] == buckets[9:]
    assert len(set(buckets)) > 1


def test_a_key_from_a_header_and_the_topic_has_the_bucket_of_the_same_key_from_the_value() -> None:
    spec = given_spec(
        {"id": "BIGINT", "origin": "STRING", "a": "STRING"},
        buckets=8,
        primary_key=["id", "origin"],
        sequence_groups=[{"name": "s", "columns": ["a"]}],
    )
    schema = given_table(spec).schema
    columns = [
        {"column": "id", "source": "header", "path": "number"},
        {"column": "origin", "source": "topic"},
        {"column": "a"},
    ]
    ids = [*range(9), 1 << 40]

    by_value = BucketRouter(plan=given_plan(spec), schema=schema).buckets_of(
        given_records([{"id": one, "origin": "topic"} for one in ids])
    )
    router = BucketRouter(plan=given_plan(spec, columns=columns), schema=schema)
    by_parts = [
        router.buckets_of(given_records([{}], headers=[("number", str(one).encode())]))[0]
        for one in ids
    ]
    unreadable = router.buckets_of(given_records([{}], headers=[("number", b"x")]))

    assert by_value.tolist() == by_parts
    assert len(set(by_value.tolist())) > 1
    assert unreadable.tolist() == [0]


def test_a_captured_change_has_the_bucket_of_the_key_of_its_row() -> None:
    spec = given_spec({"id": "BIGINT", "a": "STRING"}, ordering=None, buckets=8)
    schema = given_table(spec).schema
    plan = given_plan(spec, format={"type": "debezium", "database": "mysql"}, on_delete="ignore")
    records = given_records(
        [
            {"op": "c", "before": None, "after": {"id": 5}},
            {"op": "d", "before": {"id": 7}, "after": None},
            {"schema": None, "payload": {"op": "d", "before": None, "after": None}},
            None,
        ],
        keys=[None, None, b'{"schema": null, "payload": {"id": 11}}', None],
    )

    routed = BucketRouter(plan=plan, schema=schema).buckets_of(records)

    five, seven, eleven = assign_buckets(pa.table({"id": pa.array([5, 7, 11])}), schema)
    assert routed.tolist() == [five, seven, eleven, 0]


def test_a_key_has_the_bucket_of_the_digits_that_its_type_declares() -> None:
    spec = given_spec({"at": "TIMESTAMP(0)", "a": "STRING"}, ordering=None, buckets=64)
    schema = given_table(spec).schema
    texts = [f"2026-01-02T03:04:05{rest}" for rest in ("", ".1", ".678", ".999999999")]

    routed = BucketRouter(plan=given_plan(spec), schema=schema).buckets_of(
        given_records([{"at": text} for text in texts])
    )

    at = pa.array([1_767_323_045_000], pa.int64()).cast(pa.timestamp("ms"))
    (bucket,) = assign_buckets(pa.table({"at": at}), schema)
    assert routed.tolist() == [bucket] * len(texts)
