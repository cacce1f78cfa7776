"""The streams that need a runner, as the registry has them."""

from braid.registry.placement.admission import NeededStream
from braid.schemas import DesiredState, StreamEntry, TableDocument


def needed_stream(document: TableDocument, entry: StreamEntry) -> NeededStream:
    """Return what a stream asks of its runner.

    Args:
        document: The document of its table.
        entry: The stream.
    """
    return NeededStream(
        key=f"{document.identifier}/{entry.spec.name}",
        labels=entry.spec.placement.labels,
        features=frozenset(document.features) | frozenset(entry.features),
    )


def needs_runner(entry: StreamEntry) -> bool:
    """Return whether a runner has to have a stream: one from Kafka that is to run or paused, and has not completed."""
    if entry.spec.is_from_spark:
        return False
    if entry.desired_state is DesiredState.RUNNING:
        return not entry.is_completed
    return entry.desired_state is DesiredState.PAUSED
