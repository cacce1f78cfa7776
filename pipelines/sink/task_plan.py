"""Task plan: the number of tasks that write a micro-batch."""

# One task writes 150,000 or more records a second. With fewer records, starting more tasks and shuffling each bucket's
# records to one of them costs more than it saves; and the streams of a runner share its cores anyway.
RECORDS_PER_TASK = 100_000


def plan_tasks(*, records: int, buckets: int, cores: int) -> int:
    """Return how many tasks write a micro-batch, at least one.

    Args:
        records: Largest possible number of records in the micro-batch.
        buckets: Number of buckets of the table; a bucket is written by one task.
        cores: Largest number of tasks of one micro-batch.

    Example:
        >>> plan_tasks(records=500, buckets=4, cores=2)
        1
        >>> plan_tasks(records=500_000, buckets=4, cores=2)
        2
    """
    wanted = -(-records // RECORDS_PER_TASK)
    return max(1, min(wanted, buckets, cores))
