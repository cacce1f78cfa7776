"""Rules for the types and defaults of columns.

A type with more levels than Arrow's reader accepts in a Parquet file is refused before data exists, and so is a
default that is no value of its column's type. Types that other formats cannot hold are refused in
`braid.lake.write.files.encoding_rules`.

Source: table-format 12 (nested types in Parquet); the bound is that of Arrow's reader.
"""

from collections.abc import Iterator
from typing import Final

from braid.lake.declaration.column_problem import ColumnProblem
from braid.lake.errors import Problem
from braid.lake.format.casts.cast import read_text
from braid.lake.format.data_types import DataType, TypeRoot
from braid.lake.format.schema import TableSchema

_DAY_MS: Final = 86_400_000
PARQUET_LEVELS_MAX: Final = 99
"""Largest number of levels of a column in a Parquet file: Arrow's reader accepts 100, one of which is the schema itself."""


def type_problems(schema: TableSchema) -> Iterator[Problem]:
    """Yield the problems of the types and defaults of columns."""
    for field in schema.fields:
        levels = parquet_levels(field.type)
        if levels > PARQUET_LEVELS_MAX:
            yield ColumnProblem(
                field="columns",
                column=field.name,
                part="type",
                value=field.name,
                message=f"the type is {levels} levels deep in a Parquet file, and files of more "
                f"than {PARQUET_LEVELS_MAX} levels cannot be read",
                hint="an ARRAY, MAP or MULTISET counts as two levels, a ROW as one, and the innermost "
                "type as one",
            )
        if field.default_value is not None and not _is_value(field.default_value, field.type):
            yield ColumnProblem(
                field="columns",
                column=field.name,
                part="default",
                value=field.default_value,
                message=f"the default of column `{field.name}` is not a value of type {field.type}",
                hint=None if field.type.is_plain else "nested types and VARIANT have no defaults",
            )


def _is_value(text: str, data_type: DataType) -> bool:
    if not data_type.is_plain:
        return False
    try:
        value = read_text(text, data_type)
        if data_type.root is TypeRoot.TIME:
            # `25:00:00` is read as more milliseconds than a day has, which no writer accepts.
            return bool(0 <= value.value < _DAY_MS)
        # A decimal with too many digits is read as null.
        return bool(value.is_valid)
    except ValueError:
        return False


def parquet_levels(data_type: DataType) -> int:
    """Return the number of levels that a column of the type has in the schema of a Parquet file.

    Example:
        >>> from braid.lake.format.type_codec import parse_type
        >>> [parquet_levels(parse_type(text)) for text in ("INT", "ROW<x INT>", "ARRAY<INT>")]
        [1, 2, 3]
    """
    if data_type.is_plain:
        return 1
    if data_type.root is TypeRoot.VARIANT:
        return 2
    parts = [data_type.element, data_type.key, data_type.value]
    parts += [field.type for field in data_type.fields]
    own = 1 if data_type.root is TypeRoot.ROW else 2
    return own + max((parquet_levels(part) for part in parts if part is not None), default=0)
