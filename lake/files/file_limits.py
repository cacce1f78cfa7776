"""Values that a data file cannot hold, found in each row group before it is written and reported by column.

Rows are checked when they are written (`braid.lake.write`). But merging can still produce the
following values. Nulls and DECIMALs inside of nested columns are not checked.

* null in a NOT NULL column, after a retract that left no value or removed more than there was;
* a DECIMAL that is too large. Parquet stores types of up to 9 digits in 32 bits, and of up to 18
  digits in 64 bits. For these types a number with more digits than declared is kept if it fits into
  the bits, as in the reference. A larger number is refused; the reference lets it wrap around,
  which gives a wrong number in every later read. For types of more than 18 digits the declared
  precision is the limit. Avro files have the limits of Parquet files. For ORC files every number
  with more digits than declared is refused, because the reference reads it as null;
* in ORC, a timestamp outside of the years 1677 to 2262, or one before 1970 with a fraction of a
  second (`braid.lake.files.orc.times`). Also in ORC, a CHAR in a key column that ends in blanks
  (`braid.lake.files.orc.chars`); in other columns such blanks have been cut already. Such values
  come from files of another format, or from casts.

Source: merge-semantics 2.4 and 4; table-format 12.3.
"""

from collections.abc import Iterator, Sequence
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from braid.lake.errors import Problem, SchemaMismatch
from braid.lake.files.file_encoding import FileFormat
from braid.lake.files.orc.chars import orc_char_problems
from braid.lake.files.orc.times import orc_time_problems
from braid.lake.format.data_types import DataField


def check_file_limits(
    table: pa.Table,
    target: pa.Schema,
    file_format: FileFormat = FileFormat.PARQUET,
    *,
    chars: Sequence[DataField] = (),
) -> None:
    """Raise if a column holds a value that the data file cannot hold.

    Args:
        table: The columns in the order of `target`, in the Arrow form of their types.
        target: Schema of the file, nullability as declared.
        file_format: Format of the file.
        chars: The columns of the file that hold CHAR, at any depth.

    Raises:
        SchemaMismatch: A null, a DECIMAL that is too large, or a time or CHAR that cannot be read back
            from ORC; `problems` names the columns.
    """
    problems = [
        problem
        for field, column in zip(target, table.columns, strict=True)
        for problem in _problems(field, column, file_format)
    ]
    if file_format is FileFormat.ORC:
        for field in chars:
            problems += orc_char_problems(field.name, table.column(field.name), field.type)
    if problems:
        message = "merging gave values that a data file cannot hold"
        raise SchemaMismatch(message, problems=problems)


def _problems(
    field: pa.Field, column: pa.ChunkedArray, file_format: FileFormat
) -> Iterator[Problem]:
    if column.null_count and not field.nullable:
        yield Problem(
            field=field.name,
            value="null",
            message=(
                "the column is NOT NULL, and merging left null "
                f"({column.null_count} of {len(column)} rows)"
            ),
            hint="a retract can leave null: declare the column nullable, or set ignore-retract",
        )
    if pa.types.is_decimal128(field.type):
        yield from _decimal_problems(field, column, file_format)
    if file_format is FileFormat.ORC:
        yield from orc_time_problems(field.name, column)


def _decimal_problems(
    field: pa.Field, column: pa.ChunkedArray, file_format: FileFormat
) -> Iterator[Problem]:
    precision, scale = field.type.precision, field.type.scale
    low, high = _unscaled_bounds(precision, file_format)
    found = pc.min_max(column).as_py()
    for value in (found["min"], found["max"]):
        # Compared as whole numbers: Python's arithmetic on decimals would round to its context.
        if value is not None and not low <= _unscaled(value, scale) <= high:
            yield Problem(
                field=field.name,
                value=str(value),
                message=f"DECIMAL({precision}, {scale}) is too narrow for a merged value",
                hint=f"scans can still merge the committed records; write records that bring the value back "
                f"into range, or copy the rows into a table with {_wider_type(precision, scale)}",
            )
            return


def _wider_type(precision: int, scale: int) -> str:
    return f"DECIMAL({18 if precision <= 9 else 38}, {scale})"


def _unscaled_bounds(precision: int, file_format: FileFormat) -> tuple[int, int]:
    """Return the least and the greatest unscaled value that a file holds."""
    if file_format is FileFormat.ORC or precision > 18:
        return 1 - 10**precision, 10**precision - 1
    # Parquet and Avro files have 32 or 64 bits.
    limit = 1 << 31 if precision <= 9 else 1 << 63
    return -limit, limit - 1


def _unscaled(value: Decimal, scale: int) -> int:
    sign, digits, exponent = value.as_tuple()
    assert exponent == -scale, "Arrow's decimals have all digits of their scale"
    unscaled = int("".join(map(str, digits)))
    return -unscaled if sign else unscaled
