"""What the peers on Spark report, and the statements that they run."""

from benchmarks.peers.spark_worker import batch_of, ddl, merge_sql

PROGRESS = {
    "timestamp": "2026-01-01T00:00:10.500Z",
    "batchId": 3,
    "durationMs": {"triggerExecution": 1_500},
    "sources": [
        {"startOffset": {"t": {"0": 5, "1": 6}}, "endOffset": {"t": {"0": 10, "1": 6}}},
        {"startOffset": None, "endOffset": {"u": {"0": 7}}},
    ],
    "sink": {"numOutputRows": 4},
}


def test_a_batch_has_the_records_between_its_offsets_and_the_time_of_its_end() -> None:
    assert batch_of("join", PROGRESS) == {
        "stream": "join",
        "batch": 3,
        "time_ms": 1_767_225_612_000,
        "records": 12,
        "rows": 4,
    }


def test_a_sink_that_does_not_count_has_no_rows() -> None:
    assert batch_of("a", PROGRESS | {"sink": {"numOutputRows": -1}})["rows"] == 0


def test_a_merge_writes_the_columns_of_its_stream_unless_the_row_is_newer() -> None:
    statement = merge_sql("wide", "batch_b", "b")

    assert statement.startswith("MERGE INTO wide t USING batch_b s ON t.id = s.id ")
    assert "WHEN MATCHED AND (t.b_v IS NULL OR t.b_v <= s.b_v) THEN UPDATE SET t.b_v = s.b_v, " in (
        statement
    )
    assert "t.a" not in statement
    assert statement.endswith("s.b7, s.b8)")


def test_columns_are_declared_by_name_and_type() -> None:
    assert ddl({"id": "BIGINT", "a1": "INT"}) == "id BIGINT, a1 INT"
