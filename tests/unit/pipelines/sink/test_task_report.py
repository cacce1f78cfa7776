"""Reports survive their way through Spark, and add up."""

from braid.lake import BatchAccount
from braid.pipelines.sink.task_report import TaskReport, parse_report, sum_reports

ONE = TaskReport(
    messages=(b"\x00one",),
    accepted=3,
    folded=2,
    ignored=1,
    dead_letters={"malformed": 4},
    examples=("a", "b"),
    max_sequence_number=70,
    newest_ms=5,
    size=100,
    seen=("id", "a"),
    seen_fields=("op",),
)
OTHER = TaskReport(
    messages=(b"two",),
    accepted=10,
    dead_letters={"malformed": 1, "tombstone": 1},
    examples=("c", "d"),
    newest_ms=9,
    size=11,
    seen=("id",),
    seen_fields=("type",),
)


def test_a_report_survives_its_way_through_spark() -> None:
    (row,) = ONE.to_batch().to_pylist()

    assert parse_report(row["messages"], row["report"]) == ONE


def test_reports_of_tasks_add_up() -> None:
    total = sum_reports([ONE, OTHER])

    assert total.messages == (b"\x00one", b"two")
    assert total.account == BatchAccount(accepted=13, folded=2, ignored=1, dead_lettered=6)
    assert total.size == 111
    assert total.dead_letters == {"malformed": 5, "tombstone": 1}
    assert total.examples == ("a", "b", "c")
    assert (total.seen, total.seen_fields) == (("a", "id"), ("op", "type"))
    assert (total.max_sequence_number, total.newest_ms) == (70, 9)


def test_no_reports_are_an_empty_one() -> None:
    assert sum_reports([]) == TaskReport()
