"""Default options of the aggregate functions of a declared table. Pure.

1. Overflow of sums and products: one stream's values must not make the columns of another stream
   unreadable. A sum that fails cannot be read. It stops every full scan and every compaction of its
   bucket, because these merge the columns of all streams. So in aggregation tables, and in partial-update
   tables unless they have exactly one sequence group, a sum or product wraps round unless the column
   declares `fail`. With exactly one group the default is `fail`, also if another stream writes unordered
   columns.
2. Size of sketches: the union of HLL sketches of different sizes depends on their order, and a theta
   sketch does not store its size. So `lg_k` is always written out, and so is `hll_type` for HLL sketches.
   They are 12 and `HLL_4` unless the column declares others.
"""

from collections.abc import Mapping
from typing import Final

from braid.lake import TypeRoot
from braid.registry.layout.column_functions import column_functions
from braid.registry.layout.declared_types import parsed_type
from braid.schemas import AggregateSpec, MergeEngine, TableSpec

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
    """Return the functions, with defaults for the options that they leave out.

    Args:
        spec: The table.
        functions: The aggregate functions by column.
    """
    types = {column.name: column.type for column in spec.columns}
    in_effect = column_functions(spec)
    on_overflow = "wrap" if _takes_several_streams(spec) else "fail"

    def completed(column: str, function: AggregateSpec) -> AggregateSpec:
        if column not in in_effect:
            return function
        declared = function.model_dump(exclude_none=True)
        defaults = {
            field: value
            for field, value in _SKETCHES.get(function.function, {}).items()
            if field not in declared
        }
        if function.on_overflow is None and _can_overflow(function, types[column]):
            defaults["on_overflow"] = on_overflow
        return function.model_copy(update=defaults)

    return {column: completed(column, function) for column, function in functions.items()}


def _takes_several_streams(spec: TableSpec) -> bool:
    is_partial = spec.merge_engine is MergeEngine.PARTIAL_UPDATE
    return not is_partial or len(spec.sequence_groups) != 1


def _can_overflow(function: AggregateSpec, sql: str) -> bool:
    data_type = parsed_type(sql)
    return (
        function.function in _OVERFLOWING and data_type is not None and data_type.root in _BOUNDED
    )
