"""Triggers of a stream: when a micro-batch begins, and whether the stream ever ends."""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from braid.schemas.contract import Contract, PositiveInt


class IntervalTrigger(Contract):
    """A micro-batch begins at every interval, or as soon as the one before has ended if that takes longer.

    Attributes:
        type: The kind of trigger.
        milliseconds: The target time between the starts of two micro-batches.
    """

    type: Literal["interval"] = "interval"
    milliseconds: PositiveInt


class AvailableNowTrigger(Contract):
    """The stream reads what its topic holds when it starts, in as many micro-batches as needed, and is COMPLETED.

    Attributes:
        type: The kind of trigger.
    """

    type: Literal["available_now"] = "available_now"


class ContinuousTrigger(Contract):
    """A micro-batch begins as soon as the one before has ended and there is a record to read.

    Attributes:
        type: The kind of trigger.
    """

    type: Literal["continuous"] = "continuous"


Trigger: TypeAlias = Annotated[
    IntervalTrigger | AvailableNowTrigger | ContinuousTrigger, Field(discriminator="type")
]
