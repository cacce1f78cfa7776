"""Problems that several rules tell, in one wording."""

from collections import Counter
from collections.abc import Iterator, Sequence

from lake.errors import Problem
from lake.format.data_types import DataField
from lake.format.schema import TableSchema


def find_field(schema: TableSchema, name: str) -> DataField | None:
    """Return the column of that name, or None."""
    return next((field for field in schema.fields if field.name == name), None)


def repeated(place: str, names: Sequence[str]) -> Iterator[Problem]:
    """Yield every name that occurs more than once."""
    for name, count in Counter(names).items():
        if count > 1:
            yield Problem(field=place, value=name, message="the column is named more than once")


def unknown_column(place: str, name: str, schema: TableSchema) -> Problem:
    """Return the problem of a name that is no column."""
    return Problem(
        field=place,
        value=name,
        message="the table has no such column",
        hint=f"columns: {', '.join(schema.field_names)}",
    )


def conflict(place: str, value: str, other: str) -> Problem:
    """Return the problem of an option that excludes another declaration."""
    return Problem(
        field=place, value=value, message=f"in conflict with {other}", hint="choose one of the two"
    )
