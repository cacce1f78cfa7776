"""The profile of a micro-batch: each step is what a job takes more than the one before."""

import pytest

from benchmarks.ingest.stages import Job, Round, best_of, stage_figures, stages_of

ROUTED = Round(
    fetch=Job(jvm=1.0, workers=0.0),
    crossing=Job(jvm=1.5, workers=0.25),
    routing=Job(jvm=3.0, workers=1.0),
    write=Job(jvm=3.5, workers=6.0),
    task={
        "crossing to Python, received": 0.5,
        "parse": 2.0,
        "Parquet and statistics": 1.5,
        "rest": 0.25,
    },
    commit=0.125,
    compaction=0.5,
)


def test_steps_are_differences_of_jobs() -> None:
    assert stages_of(ROUTED) == {
        "JVM: fetch": 1.0,
        "JVM: crossing to Python": 0.5,
        "Python: crossing, received": 0.25,
        "JVM: routing by bucket": 1.5,
        "Python: routing by bucket": 0.75,
        "JVM: the rest of the write job": 0.5,
        "Python: parse": 2.0,
        "Python: Parquet and statistics": 1.5,
        "Python: the rest of the write job": 1.5,
        "driver: commit": 0.125,
        "driver: compactions due": 0.5,
    }


def test_a_micro_batch_of_one_task_is_not_routed() -> None:
    found = stages_of(
        Round(
            fetch=Job(jvm=1.0, workers=0.0),
            crossing=Job(jvm=0.5, workers=0.25),
            routing=None,
            write=Job(jvm=2.0, workers=1.25),
            task={"parse": 1.0},
            commit=0.0,
            compaction=0.0,
        )
    )

    assert "JVM: routing by bucket" not in found
    assert found["JVM: crossing to Python"] == 0.0
    assert found["JVM: the rest of the write job"] == 1.5


def test_stages_are_given_for_a_million_records_with_their_shares() -> None:
    found = stage_figures([ROUTED, ROUTED], records=500_000)

    assert found[0]["name"].startswith("stages: JVM: fetch (10 %)")
    assert found[0]["value"] == 2.0
    assert found[-1]["value"] == pytest.approx(2 * sum(stages_of(ROUTED).values()))


def test_each_job_counts_with_its_least_time_and_compactions_with_their_mean() -> None:
    slow = Round(
        fetch=Job(jvm=9.0, workers=0.0),
        crossing=Job(jvm=9.0, workers=9.0),
        routing=Job(jvm=9.0, workers=9.0),
        write=Job(jvm=3.25, workers=9.0),
        task=dict.fromkeys(ROUTED.task, 9.0) | {"parse": 1.0},
        commit=9.0,
        compaction=1.5,
    )

    best = best_of([slow, ROUTED])

    assert best.write == Job(jvm=3.25, workers=6.0)
    assert best.fetch == ROUTED.fetch
    assert best.task == {**ROUTED.task, "parse": 1.0}
    assert (best.commit, best.compaction) == (0.125, 1.0)
