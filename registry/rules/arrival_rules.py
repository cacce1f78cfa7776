"""Rules for tables whose order depends on the order in which a stream's records arrive.

Pure. Arrival is told by Kafka's offsets, which grow within a partition. So a stream that nothing else
orders needs each row's records in one partition: it takes the row key from the Kafka key, by which
producers choose the partition, or its owner vouches for that with `partitioned_by_key`. On a topic of
one partition there is nothing to choose. How many partitions there are is known when a stream starts.
"""

from collections.abc import Iterator

from registry.layout.column_functions import column_functions, sequence_fields, why_order_matters
from registry.rules.aggregate_function_rules import type_of
from schemas import ColumnSource, FieldProblem, MergeEngine, StreamSpec, TableSpec, Unordered
from schemas.field_problems import problem_at


def is_ordered_by_arrival_alone(table: TableSpec, stream: StreamSpec) -> bool:
    """Return whether nothing but arrival says which of two records of a row is the newer one.

    False also where it does not matter: nothing that the stream writes depends on it.
    """
    match table.merge_engine:
        case MergeEngine.PARTIAL_UPDATE:
            name = stream.sequence_group
            group = None if name is None else table.sequence_group(name)
            return group is not None and group.ordering is None
        case MergeEngine.AGGREGATION:
            return not sequence_fields(table) and _depends_on_order(table, stream)
        case _:
            return not sequence_fields(table)


def is_keyed(table: TableSpec, stream: StreamSpec) -> bool:
    """Return whether all records of a row are in one partition, as far as the stream tells."""
    sources = {mapping.column: mapping.source for mapping in stream.columns}
    return stream.partitioned_by_key or all(
        sources.get(column) is ColumnSource.KEY for column in table.primary_key
    )


def needs_keyed_partitions(table: TableSpec, stream: StreamSpec) -> bool:
    """Return whether the stream has to be keyed on several partitions, and minds added ones."""
    is_asked = table.unordered is Unordered.REFUSED or is_keyed(table, stream)
    return is_asked and is_ordered_by_arrival_alone(table, stream)


def check_key_source(table: TableSpec, stream: StreamSpec) -> Iterator[FieldProblem]:
    """Yield what is wrong with columns that are read from the Kafka key."""
    for index, mapping in enumerate(stream.columns):
        if mapping.source is not ColumnSource.KEY:
            continue
        data_type = type_of(table, mapping.column)
        if mapping.column not in table.primary_key:
            yield problem_at(
                "columns",
                index,
                "source",
                value=mapping.source.value,
                message="only columns of the primary key are read from the Kafka key",
                hint="leave `source` out",
            )
        elif data_type is not None and data_type.is_nested:
            yield problem_at(
                "columns",
                index,
                "source",
                value=mapping.source.value,
                message=f"a {data_type.root.value} cannot be read from the Kafka key",
                hint="read it from the value",
            )


def _depends_on_order(table: TableSpec, stream: StreamSpec) -> bool:
    for column, function in column_functions(table).items():
        data_type = type_of(table, column)
        if column not in stream.column_names or data_type is None:
            continue
        if why_order_matters(function.function, data_type) is not None:
            return True
    return False
