"""Each accepted record is given its table's bucket."""

import pyarrow as pa

from braid.lake import assign_buckets
from braid.pipelines.sink.bucket_routing import BUCKET, BucketRouter
from tests.unit.pipelines.given_streams import (
    given_plan,
    given_records,
    given_spec,
    given_table,
)


def test_accepted_records_get_their_bucket_and_refused_ones_the_first() -> None:
    spec = given_spec({"id": "BIGINT", "a": "STRING"}, ordering=None, buckets=8)
    schema = given_table(spec).schema
    records = given_records(
        [(5, "x"), (None, "y"), (7, "z"), (11, None)],
        types=[pa.int64(), pa.string()],
        refused={1: {"reason": "missing_key"}},
    )

    routed = BucketRouter(plan=given_plan(spec), schema=schema)(records)

    five, seven, eleven = assign_buckets(pa.table({"id": pa.array([5, 7, 11])}), schema)
    assert routed.column(BUCKET).to_pylist() == [five, 0, seven, eleven]
    assert len({five, seven, eleven}) > 1
    assert routed.schema.names == [*records.schema.names, BUCKET]


def test_a_batch_of_refused_records_is_routed_too() -> None:
    spec = given_spec({"id": "BIGINT", "a": "STRING"}, ordering=None)
    records = given_records(
        [(None, "x")], types=[pa.int64(), pa.string()], refused={0: {"reason": "missing_key"}}
    )

    routed = BucketRouter(plan=given_plan(spec), schema=given_table(spec).schema)(records)

    assert routed.column(BUCKET).to_pylist() == [0]
