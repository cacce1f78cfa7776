"""Texts of numbers are taken from the message where the record is marked, and checked as written."""

import pyarrow as pa

from braid.pipelines.sink.bucket_routing import BucketRouter
from braid.pipelines.sink.exact_text import with_exact_texts
from tests.unit.pipelines.given_streams import given_plan, given_records, given_spec, given_table

SPEC = given_spec(
    {"id": "STRING", "country": "STRING", "version": "INT", "note": "INT"},
    buckets=16,
    partition_keys=["country"],
    primary_key=["id", "country"],
    sequence_groups=[{"name": "s", "ordering": ["version"], "columns": ["note"]}],
)
TYPES = [pa.string(), pa.string(), pa.int32(), pa.int32()]


def _marked(*records: tuple[tuple[str, str, int], str | None]) -> pa.RecordBatch:
    messages = {
        row: {"value": text.encode()} for row, (_, text) in enumerate(records) if text is not None
    }
    batch = given_records([(*values, None) for values, _ in records], types=TYPES, refused=messages)
    marks = pa.array([text is not None for _, text in records])
    return batch.append_column("inexact", marks)


def test_marked_texts_are_as_written_and_checked_again() -> None:
    plan = given_plan(SPEC)
    long = f"1.{'0' * 300}"
    batch = _marked(
        (("1.10", "x", 1), None),
        (("1.1", "x", 2), '{"id": 1.10, "country": "x", "version": 2}'),
        (("1.1", "x", 3), '{"id": 1.10, "country": "x", "version": 3, "other": +INF}'),
        (("1", "1.0", 4), f'{{"id": 1, "country": {long}, "version": 4}}'),
    )

    found = with_exact_texts(batch, plan).to_pylist()

    assert [row["value_0"] for row in found[:2]] == ["1.10", "1.10"]
    assert [row["reason"] for row in found] == [None, None, "unparsable", "partition_too_long"]
    assert found[3]["detail"] == "country"


def test_a_key_goes_to_the_bucket_of_its_text_as_written() -> None:
    plan = given_plan(SPEC)
    batch = _marked(
        *(((f"{n}.10", "x", 1), None) for n in range(9)),
        *(((f"{n}.1", "x", 1), f'{{"id": {n}.10, "country": "x"}}') for n in range(9)),
    )

    routed = BucketRouter(plan=plan, schema=given_table(SPEC).schema)(batch)

    buckets = routed.column("bucket").to_pylist()
    assert buckets[:9] == buckets[9:]
    assert len(set(buckets)) > 1
