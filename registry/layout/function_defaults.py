"""Defaults of the aggregate functions of a declared table. Pure.

1. Sums and products that their types do not hold: one stream's values must not make the columns of
   another unreadable. A sum that fails is read by nobody, and stops every full scan and every
   compaction of its bucket, which merge the columns of all streams: so in a table that takes several
   streams it wraps round unless the column says `fail`.
2. Sketches have one size, or their union would depend on which came first: that of the libraries'
   own default.
"""

from collections.abc import Mapping
from typing import Final

from lake import DataType, InvalidRequest, TypeRoot, parse_type
from registry.layout.column_functions import column_functions
from schemas import AggregateSpec, MergeEngine, TableSpec

_SKETCHES: Final[Mapping[str, Mapping[str, object]]] = {
    "hll_sketch": {"lg_k": 12, "hll_type": "HLL_4"},
    "theta_sketch": {"lg_k": 12},
}
_OVERFLOWING = ("sum", "product")
_BOUNDED = (
    TypeRoot.TINYINT,
    TypeRoot.SMALLINT,
    TypeRoot.INT,
    TypeRoot.BIGINT,
    TypeRoot.DECIMAL,
)


def with_defaults(
    spec: TableSpec, functions: Mapping[str, AggregateSpec]
) -> dict[str, AggregateSpec]:
    """Return the functions, each with what takes effect where it says nothing.

    Args:
        spec: The table.
        functions: By column.
    """
    types = {column.name: column.type for column in spec.columns}
    in_effect = column_functions(spec)
    word = "wrap" if _takes_several(spec) else "fail"

    def said(column: str, function: AggregateSpec) -> AggregateSpec:
        if column not in in_effect:
            return function
        said_so = function.model_dump(exclude_none=True)
        meant = {
            field: value
            for field, value in _SKETCHES.get(function.function, {}).items()
            if field not in said_so
        }
        if function.on_overflow is None and _can_overflow(function, types[column]):
            meant["on_overflow"] = word
        return function.model_copy(update=meant)

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
