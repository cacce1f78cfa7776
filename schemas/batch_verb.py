"""A lifecycle verb for many streams at once: which streams, and the outcome for each."""

from typing import Annotated, Final

from pydantic import Field

from braid.schemas.contract import Contract, at_most
from braid.schemas.operation import OperationProblem

STREAMS_MAX: Final = 1_000
"""Streams of one request."""

TABLES_MAX: Final = 100
"""Tables that these streams belong to."""

LABELS_MAX: Final = 20
"""Conditions on labels."""

TABLES_READ_MAX: Final = 2_000
"""Tables whose streams are looked at for their labels."""

_Label = Annotated[str, Field(min_length=1, max_length=200)]
_StreamName = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z][A-Za-z0-9_]{0,79}\.[A-Za-z][A-Za-z0-9_]{0,79}\.[A-Za-z][A-Za-z0-9_]{0,79}$",
        max_length=242,
    ),
]
_TablePattern = Annotated[
    str, Field(pattern=r"^(\*|[A-Za-z0-9_*]{1,80}\.[A-Za-z0-9_*]{1,80})$", max_length=161)
]


class BatchVerbRequest(Contract):
    """The streams that a verb is for: those that are named, and all of the tables that match a pattern; with `labels` some of them.

    Attributes:
        streams: Names of streams, `database.table.stream`.
        tables: Patterns of tables, such as `shop.*`; `*` in a name stands for any characters, and alone for every table.
        labels: Of these streams only those that have every one of the labels: `team=payments`, or `team` with any value. Without
            `streams` and `tables`: of the streams of every table.
    """

    streams: Annotated[tuple[_StreamName, ...], at_most(STREAMS_MAX)] = ()
    tables: Annotated[tuple[_TablePattern, ...], at_most(TABLES_MAX)] = ()
    labels: Annotated[tuple[_Label, ...], at_most(LABELS_MAX)] = ()


class StreamOutcome(Contract):
    """What a verb has done to one stream.

    Attributes:
        database: The first part of the table's identifier.
        table: The second part.
        stream: The stream.
        done: Whether the desired state is as requested, or the restart is requested.
        message: What was done, or why there was nothing to do; empty if it failed.
        problem: Why it failed; null: it did not.
    """

    database: str
    table: str
    stream: str
    done: bool
    message: str = ""
    problem: OperationProblem | None = None


class BatchVerbAnswer(Contract):
    """What a verb has done.

    Attributes:
        verb: The verb.
        streams: The outcomes, by table and stream.
        failed: For how many streams it failed.
    """

    verb: str
    streams: tuple[StreamOutcome, ...]
    failed: int
