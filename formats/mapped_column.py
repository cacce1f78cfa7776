"""Mapped columns: columns of a table, each with its source: a part of a record, a field in that part, an expression, or a constant."""

from dataclasses import dataclass
from typing import Final

from braid.lake import DataType
from braid.schemas import ColumnSource, Scalar

ISO: Final = "iso"
"""The name of the time format ISO 8601."""


@dataclass(frozen=True, slots=True)
class TimeFormat:
    """The form of a column's texts, as declared.

    Attributes:
        text: `iso`, the name of a number since the epoch, or a pattern.
        zone: The IANA name of the zone of texts without an offset; None: UTC.
    """

    text: str = ISO
    zone: str | None = None

    @property
    def words(self) -> str:
        """The format in error messages."""
        where = "" if self.zone is None else f" in {self.zone}"
        return f"written as {self.text}{where}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MappedColumn:
    """A column that is filled for each record; or a field that is read like one, for a condition or an expression.

    Attributes:
        name: The column's name in the table; of another field any name that no column has.
        path: Field names from the root to the value, or the name of a header; empty for a part as a whole, and for what
            is read from no part.
        type: The type as which it is read; of a column its type in the table.
        source: The part of the record.
        is_in_condition: Whether it is no column of the table, but a field that only a condition of the
            stream is about.
        finds_missing: Whether a message without the field is told from one with null
            (`ReadMessages.missing`).
        time_format: The form of dates and times; None: that of the message format.
        takes_scalars: Whether values of a column of texts are usually none, but numbers.
        keeps_json: Whether a column of bytes gets the JSON text of its value as it is written; for JSON only.
        holds_json: Whether texts for a VARIANT are JSON, and null is null, as in rows of databases; otherwise a text is
            the value itself, and null of JSON a value.
        is_in_expression: Whether it is no column of the table, but a field that only expressions use.
        expression: The SQL expression that computes the column; None: it is read, or constant.
        constant: The value of the column in every record; None: it is read or computed.
        default: The value where a message does not have the field; None: null.
    """

    name: str
    path: tuple[str, ...]
    type: DataType
    source: ColumnSource = ColumnSource.VALUE
    is_in_condition: bool = False
    finds_missing: bool = False
    time_format: TimeFormat | None = None
    takes_scalars: bool = False
    keeps_json: bool = False
    holds_json: bool = False
    is_in_expression: bool = False
    expression: str | None = None
    constant: Scalar | None = None
    default: Scalar | None = None

    @property
    def purpose(self) -> str:
        """What the field is read for, in error messages."""
        if self.is_in_expression:
            return "an expression of the stream"
        return "a condition of the stream" if self.is_in_condition else f"column {self.name}"

    @property
    def address(self) -> str:
        """The path with dots between its names, or the expression, as in declarations and error messages."""
        return ".".join(self.path) if self.expression is None else self.expression
