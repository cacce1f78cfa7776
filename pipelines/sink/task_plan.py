"""How many tasks a micro-batch gets."""

# Starting a second Python worker and a second set of files costs more than it saves below this.
RECORDS_PER_TASK = 20_000


def plan_tasks(*, records: int, partitions: int, cores: int) -> int:
    """Return how many tasks write a micro-batch, at least one.

    Every task writes a file into each bucket it has rows for, so tasks are as few as keep the
    cores busy.

    Args:
        records: In the micro-batch, at most.
        partitions: Of the topic; a task reads whole ones.
        cores: Tasks that Spark runs at once.

    Example:
        >>> plan_tasks(records=500, partitions=4, cores=2)
        1
        >>> plan_tasks(records=100_000, partitions=4, cores=2)
        2
    """
    wanted = -(-records // RECORDS_PER_TASK)
    return max(1, min(wanted, partitions, cores))
