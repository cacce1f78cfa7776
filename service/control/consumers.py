"""Who needs a table's snapshots."""

from lake import ConsumerFile, InvalidRequest, Problem, Table
from lake.snapshots.lease import LEASE_PREFIX
from service.control.confirmation import not_confirmed
from service.times import iso_utc
from service.views import ConsumerList, ConsumerView


def list_consumers(table: Table) -> ConsumerList:
    """Return consumers and leases, by id."""
    return ConsumerList(consumers=tuple(map(_view, table.consumers())))


def set_consumer(
    table: Table, consumer: str, next_snapshot_id: int, *, confirm: str | None
) -> ConsumerView:
    """Say how far a consumer has come, and return it.

    Args:
        table: The table.
        consumer: Its id.
        next_snapshot_id: The first snapshot that it still needs.
        confirm: The id again, without which one that is there is not moved: it may be another's.

    Raises:
        InvalidRequest: No consumer can have the id, it is a lease, or it is there.
    """
    _refuse_lease(consumer)
    if confirm != consumer and any(file.id == consumer for file in table.consumers()):
        raise not_confirmed(consumer, "the consumer is there, and may be somebody else's")
    table.reset_consumer(consumer, next_snapshot_id)
    return next(_view(file) for file in table.consumers() if file.id == consumer)


def remove_consumer(table: Table, consumer: str, *, confirm: str | None) -> None:
    """Forget a consumer, also if there is none.

    Raises:
        InvalidRequest: It is a lease, or not asked for by name.
    """
    _refuse_lease(consumer)
    if confirm != consumer:
        raise not_confirmed(consumer, "what it keeps from expiring may go at once")
    table.delete_consumer(consumer)


def last_known_snapshot(table: Table, consumer: str, *, hint: str) -> int:
    """Return the last snapshot that a consumer knows; 0 before the first.

    Args:
        table: The table.
        consumer: Its id.
        hint: How to make it, for whoever names one that is not there.

    Raises:
        InvalidRequest: There is no such consumer, or it cannot be read.
    """
    found = "the table has no such consumer"
    for file in table.consumers():
        if file.id == consumer and file.consumer is not None:
            return file.consumer.next_snapshot - 1
        if file.id == consumer:
            found = f"what the consumer has written cannot be read: {file.error}"
    problem = Problem(field="consumer", value=consumer, message=found, hint=hint)
    message = f"where the changes of {table.identifier} begin is not known"
    raise InvalidRequest(message, problems=[problem])


def _refuse_lease(consumer: str) -> None:
    if consumer.startswith(LEASE_PREFIX):
        problem = Problem(
            field="consumer",
            value=consumer,
            message="this is the lease of something that reads the table now",
            hint="it goes by itself when its reader is done, or some minutes after it died",
        )
        text = "a lease is moved and removed by its holder alone"
        raise InvalidRequest(text, problems=[problem])


def _view(file: ConsumerFile) -> ConsumerView:
    consumer = file.consumer
    deadline_ms = None if consumer is None else consumer.deadline_ms
    return ConsumerView(
        id=file.id,
        next_snapshot_id=None if consumer is None else consumer.next_snapshot,
        written_at=iso_utc(file.modified_ms),
        leased_until=None if deadline_ms is None else iso_utc(deadline_ms),
        holder=None if consumer is None else consumer.holder,
        error=file.error,
    )
