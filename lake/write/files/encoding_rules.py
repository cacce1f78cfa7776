"""Problems of a declaration because of which data files cannot be written: formats, codecs, and columns in Avro.

`file_encodings` checks formats and codecs. Only Parquet files hold VARIANT. Avro has no type for a TIMESTAMP of more than 6 fractional digits, nor for
a TIME of more than 3, and it restricts the names of fields to identifiers.

Source: table-format 12.5; `org.apache.paimon.format.avro.AvroSchemaConverter`.
"""

import re
from collections.abc import Iterator
from typing import Final

from braid.lake.errors import Problem
from braid.lake.files.file_encoding import FileFormat
from braid.lake.format.data_types import TIMESTAMP_ROOTS, DataType, TypeRoot, holds_variant
from braid.lake.format.schema import TableSchema
from braid.lake.write.files import file_encodings

_TIMESTAMP_DIGITS_MAX: Final = 6
_TIME_DIGITS_MAX: Final = 3
_AVRO_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def encoding_problems(schema: TableSchema) -> list[Problem]:
    """Return why files of a table cannot be written by its options; none if they can."""
    options = schema.table_options
    problems = file_encodings.option_problems(options)
    others = file_encodings.formats_of(options) - {FileFormat.PARQUET}
    if others:
        names = " and ".join(sorted(others))
        problems += [
            Problem(
                field=field.name,
                value=str(field.type),
                message=f"only Parquet files hold VARIANT, and the table has files in {names}",
                hint="declare `file.format = parquet`, or a STRING that holds the JSON",
            )
            for field in schema.fields
            if holds_variant(field.type)
        ]
    if FileFormat.AVRO in file_encodings.formats_of(options):
        for field in schema.fields:
            problems += _avro_problems(field.name, field.name, field.type)
    return problems


def _avro_problems(column: str, name: str, data_type: DataType) -> Iterator[Problem]:
    """Yield why Avro cannot hold a column, or a field nested in it.

    Args:
        column: Name of the column of the table.
        name: Name of the field itself.
        data_type: Type of the field.
    """
    if not _AVRO_NAME.fullmatch(name):
        yield Problem(
            field=column,
            value=name,
            message="not a valid name in Avro: expected letters, digits and `_`, without a digit at the beginning",
            hint="choose another name, or another `file.format`",
        )
    precision = data_type.precision or 0
    for roots, limit in (
        (TIMESTAMP_ROOTS, _TIMESTAMP_DIGITS_MAX),
        (frozenset({TypeRoot.TIME}), _TIME_DIGITS_MAX),
    ):
        if data_type.root in roots and precision > limit:
            yield Problem(
                field=column,
                value=str(data_type),
                message=f"Avro files hold at most {limit} fractional digits of a second",
                hint="declare fewer digits, or another `file.format`",
            )
    for inner in (data_type.element, data_type.key, data_type.value):
        if inner is not None:
            yield from _avro_problems(
                column, "_", inner
            )  # has no name of its own, so any valid one
    for field in data_type.fields:
        yield from _avro_problems(column, field.name, field.type)
