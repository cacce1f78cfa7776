"""What becomes of sums and products that their types do not hold, where columns do not say.

Pure. One stream's values must not make the columns of another unreadable. A sum that fails is read by
nobody, stops every full scan and every compaction of its bucket, and those merge the columns of all
streams: so in a table that takes several streams it wraps round unless the column says `fail`.
"""

from collections.abc import Mapping

from lake import DataType, InvalidRequest, TypeRoot, parse_type
from registry.column_functions import column_functions
from schemas import AggregateSpec, MergeEngine, TableSpec

_OVERFLOWING = ("sum", "product")
_BOUNDED = (
    TypeRoot.TINYINT,
    TypeRoot.SMALLINT,
    TypeRoot.INT,
    TypeRoot.BIGINT,
    TypeRoot.DECIMAL,
)


def with_overflow(
    spec: TableSpec, functions: Mapping[str, AggregateSpec]
) -> dict[str, AggregateSpec]:
    """Return the functions, each with its word about what its type does not hold.

    Args:
        spec: The table.
        functions: By column.
    """
    types = {column.name: column.type for column in spec.columns}
    in_effect = column_functions(spec)
    word = "wrap" if _takes_several(spec) else "fail"

    def said(column: str, function: AggregateSpec) -> AggregateSpec:
        if function.on_overflow is not None or column not in in_effect:
            return function
        if not _can_overflow(function, types[column]):
            return function
        return function.model_copy(update={"on_overflow": word})

    return {column: said(column, function) for column, function in functions.items()}


def _takes_several(spec: TableSpec) -> bool:
    is_partial = spec.merge_engine is MergeEngine.PARTIAL_UPDATE
    return not is_partial or len(spec.sequence_groups) != 1


def _can_overflow(function: AggregateSpec, sql: str) -> bool:
    data_type = _parsed(sql)
    return (
        function.function in _OVERFLOWING and data_type is not None and data_type.root in _BOUNDED
    )


def _parsed(sql: str) -> DataType | None:
    try:
        return parse_type(sql)
    except InvalidRequest:
        return None  # what is wrong with it is told where it is declared
