"""Rules for streams whose records are ordered by their arrival in Kafka.

Pure. The order of arrival is that of Kafka's offsets, which grow within a partition. So a stream without
another order needs all records of a row in one partition: it reads the row key from the Kafka key, by
which producers choose the partition, or declares `partitioned_by_key`. On a topic of one partition this
is always the case. The number of partitions is known only when a stream starts. So the runner checks this rule at the start
(`pipelines/kafka/added_partitions.py`) and refuses a stream that breaks it, unless the declaration of the table accepts
the risk with `unordered: allowed` (in an aggregation table: for each column that depends on the order). Registration checks for every stream which columns it reads from the Kafka key
(`check_key_source`). `shows_older_rows` says whether rows return to older values while a stream reads records again.
"""

from collections.abc import Iterator

from braid.registry.layout.column_functions import (
    column_functions,
    sequence_fields,
    why_order_matters,
)
from braid.registry.layout.declared_types import declared_type
from braid.schemas import (
    ColumnSource,
    FieldProblem,
    MergeEngine,
    OnDelete,
    StreamSpec,
    TableSpec,
    Unordered,
)
from braid.schemas.field_problems import problem_at


def is_ordered_by_arrival_alone(table: TableSpec, stream: StreamSpec) -> bool:
    """Return whether arrival alone decides which of two records of a row is the newer one.

    False if nothing that the stream writes depends on the order.
    """
    match table.merge_engine:
        case MergeEngine.PARTIAL_UPDATE:
            name = stream.sequence_group
            group = None if name is None else table.sequence_group(name)
            return group is not None and group.ordering is None
        case MergeEngine.AGGREGATION:
            return not sequence_fields(table) and any(_order_dependent(table, stream))
        case _:
            return not sequence_fields(table)


def is_keyed(table: TableSpec, stream: StreamSpec) -> bool:
    """Return whether the stream declares that all records of a row are in one partition."""
    sources = {mapping.column: mapping.source for mapping in stream.columns}
    # The topic, as a constant, is the same in every record, so it does not move a row to another partition.
    same = {ColumnSource.TOPIC, ColumnSource.CONSTANT}
    of_key = {sources.get(column) for column in table.primary_key} - same
    return stream.partitioned_by_key or of_key == {ColumnSource.KEY}


def needs_keyed_partitions(table: TableSpec, stream: StreamSpec) -> bool:
    """Return whether several partitions require a keyed stream, and added partitions require a new order.

    `unordered: allowed` of the table, or in an aggregation table of every column that depends on the order, accepts the
    risk, so it returns False there unless the stream is keyed.
    """
    if not is_ordered_by_arrival_alone(table, stream):
        return False
    is_accepted = table.unordered is Unordered.ALLOWED
    if table.merge_engine is MergeEngine.AGGREGATION:
        is_accepted = table.unordered_columns.issuperset(_order_dependent(table, stream))
    return not is_accepted or is_keyed(table, stream)


def shows_older_rows(table: TableSpec, stream: StreamSpec) -> bool:
    """Return whether rows are older than they were while the stream reads records again.

    False where the table stores the order of the stream's records as a whole (a record that is read again has
    the place that it had), where the first row stays, and where no column depends on the order. An ordering column
    alone is not enough: of equal values the one written last stays. True for every stream that removes rows.
    """
    if OnDelete.REMOVE_ROW in (stream.on_delete, stream.on_tombstone):
        return True  # compactions may have dropped the delete
    if stream.sequence_group is not None or table.merge_engine is MergeEngine.FIRST_ROW:
        return False
    return table.merge_engine is not MergeEngine.AGGREGATION or any(_order_dependent(table, stream))


def check_key_source(table: TableSpec, stream: StreamSpec) -> Iterator[FieldProblem]:
    """Yield the problems of columns that are read from the Kafka key."""
    for index, mapping in enumerate(stream.columns):
        if mapping.source is not ColumnSource.KEY:
            continue
        data_type = declared_type(table, mapping.column)
        if mapping.column not in table.primary_key:
            yield problem_at(
                "columns",
                index,
                "source",
                value=mapping.source.value,
                message="only columns of the primary key are read from the Kafka key",
                hint="leave `source` out",
            )
        elif data_type is not None and not data_type.is_plain:
            yield problem_at(
                "columns",
                index,
                "source",
                value=mapping.source.value,
                message=f"a {data_type.root.value} cannot be read from the Kafka key",
                hint="read it from the value",
            )


def _order_dependent(table: TableSpec, stream: StreamSpec) -> Iterator[str]:
    """Yield the columns of a stream whose function depends on the order of arrival."""
    for column, function in column_functions(table).items():
        data_type = declared_type(table, column)
        if column not in stream.column_names or data_type is None:
            continue
        if why_order_matters(function.function, data_type) is not None:
            yield column
