"""Contracts for the trial of a stream: a definition with sample records, and the rows or the fault of each record."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Final

from braid.schemas.contract import Contract, at_most
from braid.schemas.sample_record import SampleRecord
from braid.schemas.stream import StreamDefinition

SAMPLES_MAX: Final = 100
SAMPLE_ROWS_MAX: Final = 20
"""Most rows of one sample record that are shown."""


class StreamTrial(StreamDefinition):
    """A definition of a stream, with sample records to be tried.

    Attributes:
        samples: The records, at most 100.
    """

    samples: Annotated[tuple[SampleRecord, ...], at_most(SAMPLES_MAX)] = ()

    @property
    def definition(self) -> StreamDefinition:
        """The definition alone."""
        values = {name: getattr(self, name) for name in StreamDefinition.model_fields}
        given = self.model_fields_set - {"samples"}
        return StreamDefinition.model_construct(given, **values)


class SampleOutcome(StrEnum):
    """What would become of a record.

    `row` and `delete` are written, `ignored` is left out by declaration, and `schema_change` is written once the
    table has got columns or wider types for it (`on_new_field: evolve`).
    """

    ROW = "row"
    DELETE = "delete"
    IGNORED = "ignored"
    DEAD_LETTER = "dead_letter"
    SCHEMA_CHANGE = "schema_change"


class SampleRow(Contract):
    """One of several rows that would be written for a sample record.

    Attributes:
        outcome: `row` or `delete`.
        row: The columns that are read from the record; of a delete those that it needs.
    """

    outcome: SampleOutcome
    row: Mapping[str, Any]


class SampleResult(Contract):
    """What would become of a sample record.

    Attributes:
        outcome: The kind; of a record with several rows that of the last one, unless one of them refuses the record or
            needs a change of the table.
        row: The columns that are read from the record; of a delete those that it needs, of several rows those of the
            last one. None for every other outcome.
        rows: The rows of a record that yields several, in the order in which they are written, at most the first
            `SAMPLE_ROWS_MAX`; empty for every other record.
        reason: The reason of a dead letter, by which dead letters are counted; None for every other outcome.
        message: The reason in words; None for every other outcome.
        changes: New fields for which the table would get columns, and columns that would get a wider type;
            only of a `schema_change`.
    """

    outcome: SampleOutcome
    row: Mapping[str, Any] | None = None
    rows: tuple[SampleRow, ...] = ()
    reason: str | None = None
    message: str | None = None
    changes: tuple[str, ...] = ()
