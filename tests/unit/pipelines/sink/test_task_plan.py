"""As few tasks as keep the cores busy."""

import pytest

from braid.pipelines.sink.task_plan import RECORDS_PER_TASK, plan_tasks


@pytest.mark.parametrize(
    ("records", "buckets", "cores", "tasks"),
    [
        (0, 4, 2, 1),
        (RECORDS_PER_TASK, 4, 2, 1),
        (RECORDS_PER_TASK + 1, 4, 2, 2),
        (RECORDS_PER_TASK * 10, 4, 2, 2),
        (RECORDS_PER_TASK * 10, 1, 8, 1),
    ],
    ids=["nothing", "one task's worth", "a little more", "cores bound", "buckets bound"],
)
def test_tasks_follow_records_cores_and_buckets(
    records: int, buckets: int, cores: int, tasks: int
) -> None:
    assert plan_tasks(records=records, buckets=buckets, cores=cores) == tasks
