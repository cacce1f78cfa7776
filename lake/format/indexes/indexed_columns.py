"""The columns of a table that get a bloom filter, the types of their values, and their validation.

Source: table-format 16.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from braid.lake.errors import Problem
from braid.lake.format.data_types import TEXT_ROOTS, DataType, TypeRoot
from braid.lake.format.indexes.bloom_filter import BITS_MAX, bloom_shape
from braid.lake.format.indexes.value_hash import HASHED_ROOTS
from braid.lake.format.schema import TableSchema
from braid.lake.options.file_index_options import BLOOM_COLUMNS, BloomColumn


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedColumn:
    """One column, or one key of a MAP, that has a filter in every new data file.

    Attributes:
        declared: Options of the filter.
        type: Type of the values that are hashed.
    """

    declared: BloomColumn
    type: DataType


def indexed_columns(schema: TableSchema) -> tuple[IndexedColumn, ...]:
    """Return the columns that get a filter; skips declarations that this engine would not accept."""
    return tuple(
        IndexedColumn(declared=bloom, type=data_type)
        for bloom in schema.table_options.file_index_blooms
        for data_type in [_value_type(bloom, schema)]
        if data_type is not None and not list(bloom_problems(bloom, schema))
    )


def bloom_problems(bloom: BloomColumn, schema: TableSchema) -> Iterator[Problem]:
    """Yield the reasons why a column cannot have a filter as declared.

    Args:
        bloom: The declaration of a column that the table has.
        schema: Schema of the table.
    """
    data_type = _value_type(bloom, schema)
    declared = schema.field(bloom.column).type
    if data_type is None:
        yield Problem(
            field=BLOOM_COLUMNS,
            value=bloom.name,
            message=f"`{bloom.column}` is {declared}, and only a MAP with text keys has keys to index",
            hint=f"name the column alone: {bloom.column}",
        )
    elif data_type.root not in HASHED_ROOTS:
        is_map = bloom.map_key is None and declared.root is TypeRoot.MAP
        yield Problem(
            field=BLOOM_COLUMNS,
            value=bloom.name,
            message=f"bloom filters do not support values of type {data_type}",
            hint=(
                f"name single keys: {bloom.column}[key]"
                if is_map
                else f"types: {', '.join(sorted(root for root in HASHED_ROOTS))}"
            ),
        )
    if bloom.items is not None and bloom_shape(bloom.items, bloom.fpp).bits > BITS_MAX:
        yield Problem(
            field=BLOOM_COLUMNS,
            value=bloom.name,
            message=f"{bloom.items} items with fpp {bloom.fpp} take more than {BITS_MAX} bits",
            hint="declare fewer items, or a larger `fpp`",
        )


def _value_type(bloom: BloomColumn, schema: TableSchema) -> DataType | None:
    """Return the type of the indexed values, or None if there is no such column or key."""
    field = schema.fields_by_name.get(bloom.column)
    if field is None or bloom.map_key is None:
        return None if field is None else field.type
    key = field.type.key
    return field.type.value if key is not None and key.root in TEXT_ROOTS else None
