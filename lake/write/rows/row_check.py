"""Check of rows against the table's schema, and their conversion to it: names, types, nulls, defaults, limits.

Each column is handled in this order: its values are converted, where only numbers for a FLOAT column may be rounded;
nulls in a NOT NULL column are refused; its default is filled in; limits of length and of ORC files are checked.
Defaults by group and the length of keys come last. The order is the format's: a null for a NOT NULL column is refused
even where a default would replace it (merge-semantics 1.3).
"""

from collections import Counter
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from braid.lake.errors import Problem, SchemaMismatch
from braid.lake.files.declared_type import to_nullable_type
from braid.lake.files.file_encoding import FileFormat
from braid.lake.files.orc.chars import orc_char_problems
from braid.lake.files.orc.times import orc_time_problems
from braid.lake.format.arrow_types import VARIANT_TYPE
from braid.lake.format.casts.cast import read_text
from braid.lake.format.data_types import DataField, TypeRoot
from braid.lake.format.float_order import with_one_nan
from braid.lake.format.schema import TableSchema
from braid.lake.format.value_limits import limit_problems
from braid.lake.write.files.file_encodings import formats_of
from braid.lake.write.rows.group_defaults import group_default_columns, with_group_defaults
from braid.lake.write.rows.key_length import long_key_problems
from braid.lake.write.rows.lossless_cast import lossless_cast


def conform(batch: pa.RecordBatch | pa.Table, schema: TableSchema) -> pa.Table:
    """Return the rows under the table's Arrow schema.

    Args:
        batch: Columns by name, in any order; a missing one becomes null. Types that hold the same
            kind of value (narrower integers, large strings, dictionaries, coarser timestamps) are
            converted as long as no value changes; only numbers for a FLOAT column may be rounded.
            Digits of a second that the column's files hold (TIME milliseconds; TIMESTAMP milliseconds,
            from p = 4 microseconds, from p = 7 nanoseconds) are kept whatever p is, as the reference
            keeps them; finer ones are refused.
        schema: The table's schema.

    Returns:
        All columns of the table in its order; columns that fit are not copied. In keys every NaN
        has the same bits, because engines compare keys by their bits.

    Raises:
        SchemaMismatch: An unknown or repeated column, a type or value that does not fit or exceeds
            its declared limit, text that is not UTF-8, a null where NOT NULL is declared, a key that is
            longer than `braid.key.max-bytes`. `problems` names columns and rows (from 0).
    """
    table = pa.Table.from_batches([batch]) if isinstance(batch, pa.RecordBatch) else batch
    given = Counter(table.column_names)
    problems = _misnamed_columns(given, schema)
    columns: list[pa.ChunkedArray] = []
    keys = {*schema.primary_keys, *schema.partition_keys}
    of_groups = group_default_columns(schema)
    has_orc_files = FileFormat.ORC in formats_of(schema.table_options)
    for field, arrow_field in zip(schema.fields, schema.arrow_schema, strict=True):
        if given[field.name] > 1:
            continue  # a problem already; which of them is meant is unknown
        column = table.column(field.name) if given[field.name] else None
        # Defaults by group are filled in at the end: they depend on the ordering columns.
        plain = replace(field, default_value=None) if field.name in of_groups else field
        column, problem = _conform_column(column, plain, arrow_field.type, table.num_rows)
        columns.append(column)
        if problem is not None:
            problems.append(problem)
        else:
            is_partition = field.name in schema.partition_keys
            problems += limit_problems(column, field, is_partition=is_partition)
            if has_orc_files:
                problems += orc_time_problems(field.name, column)
                problems += orc_char_problems(field.name, column, field.type)
            if field.name in keys and pa.types.is_floating(column.type):
                columns[-1] = with_one_nan(column)
    _refuse(problems, schema)
    rows = with_group_defaults(pa.Table.from_arrays(columns, schema=schema.arrow_schema), schema)
    _refuse(list(long_key_problems(rows, schema)), schema)
    return rows


def _refuse(problems: list[Problem], schema: TableSchema) -> None:
    if problems:
        message = f"the rows do not fit schema {schema.id} of the table"
        raise SchemaMismatch(message, problems=problems)


def _misnamed_columns(given: Counter[str], schema: TableSchema) -> list[Problem]:
    known = set(schema.field_names)
    hint = f"columns: {', '.join(schema.field_names)}"
    unknown = [
        Problem(field=name, value=None, message="the table has no such column", hint=hint)
        for name in given
        if name not in known
    ]
    repeated = [
        Problem(field=name, value=None, message="the column is given more than once")
        for name in sorted(name for name, count in given.items() if count > 1)
    ]
    return unknown + repeated


def _conform_column(
    column: pa.ChunkedArray | None, field: DataField, arrow_type: pa.DataType, row_count: int
) -> tuple[pa.ChunkedArray, Problem | None]:
    if column is None:
        column = pa.chunked_array([pa.nulls(row_count, arrow_type)])
    else:
        column, problem = _convert(column, field, arrow_type)
        if problem is not None:
            return column, problem
    if column.null_count and not field.type.nullable:
        row = pc.index(column.is_null(), True).as_py()
        return column, Problem(
            field=field.name,
            value="null",
            message=f"row {row}: the column is NOT NULL, and {column.null_count} of {len(column)} rows have null",
        )
    if column.null_count and field.default_value is not None:
        column = pc.fill_null(column, read_text(field.default_value, field.type))
    return column, None


def _convert(
    column: pa.ChunkedArray, field: DataField, target: pa.DataType
) -> tuple[pa.ChunkedArray, Problem | None]:
    if column.type.equals(target):
        return column, None
    if not _is_same_kind(column.type, target):
        problem = Problem(
            field=field.name,
            value=str(column.type),
            message=f"the Arrow type does not fit {field.type}, expected {target}",
        )
        return column, problem
    try:
        if field.type.root is TypeRoot.VARIANT:
            return _variants(column), None
        return lossless_cast(column, target), None
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        row = _first_refused_row(column, target)
        problem = Problem(
            field=field.name,
            value=None if row is None else str(column[row].as_py()),
            message=f"row {row}: the value does not fit {field.type}: {error}",
        )
        return column, problem


def _variants(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column of structs as VARIANT values, the parts of which need not be declared NOT NULL."""
    chunks = []
    for chunk in column.cast(to_nullable_type(VARIANT_TYPE)).chunks:
        parts = [chunk.field(name) for name in VARIANT_TYPE.names]
        fields, mask = list(VARIANT_TYPE), chunk.is_null()
        chunks.append(pa.StructArray.from_arrays(parts, fields=fields, mask=mask))
    return pa.chunked_array(chunks, VARIANT_TYPE)


def _is_same_kind(source: pa.DataType, target: pa.DataType) -> bool:
    """Return whether a safe cast keeps the meaning; Arrow would also cast text to numbers."""
    types = pa.types
    if types.is_dictionary(source):
        return _is_same_kind(source.value_type, target)
    if types.is_null(source):
        return True
    if types.is_timestamp(target):
        return types.is_timestamp(source) and (source.tz is None) == (target.tz is None)
    if types.is_nested(target):
        return _is_same_nested(source, target)
    kinds = (
        types.is_boolean,
        types.is_integer,
        types.is_floating,
        types.is_decimal,
        _is_text,
        _is_binary,
        types.is_time,
        types.is_date,
    )
    return any(kind(source) and kind(target) for kind in kinds)


def _is_same_nested(source: pa.DataType, target: pa.DataType) -> bool:
    types = pa.types
    if types.is_struct(target):
        known = {field.name: field.type for field in target}
        return types.is_struct(source) and all(
            field.name in known and _is_same_kind(field.type, known[field.name]) for field in source
        )
    if types.is_map(target):
        return (
            types.is_map(source)
            and _is_same_kind(source.key_type, target.key_type)
            and _is_same_kind(source.item_type, target.item_type)
        )
    return _is_list(source) and _is_same_kind(source.value_type, target.value_type)


def _is_text(data_type: pa.DataType) -> bool:
    types = pa.types
    kinds = (types.is_string, types.is_large_string, types.is_string_view)
    return any(kind(data_type) for kind in kinds)


def _is_binary(data_type: pa.DataType) -> bool:
    types = pa.types
    kinds = (types.is_binary, types.is_large_binary, types.is_binary_view)
    return any(kind(data_type) for kind in kinds) or types.is_fixed_size_binary(data_type)


def _is_list(data_type: pa.DataType) -> bool:
    types = pa.types
    kinds = (types.is_list, types.is_large_list, types.is_fixed_size_list)
    return any(kind(data_type) for kind in kinds)


def _first_refused_row(column: pa.ChunkedArray, target: pa.DataType) -> int | None:
    """Return the first row whose value cannot be cast, by bisection; None without rows.

    Requires:
        The column as a whole cannot be cast.
    """
    low, high = 0, len(column)
    if not high:
        return None
    # Invariant: all rows before `low` can be cast, and one in [low, high) cannot.
    while high - low > 1:
        middle = (low + high) // 2
        if _casts(column.slice(low, middle - low), target):
            low = middle
        else:
            high = middle
    return low


def _casts(column: pa.ChunkedArray, target: pa.DataType) -> bool:
    try:
        lossless_cast(column, target)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return False
    return True
