"""Aggregate functions of serialised bitmaps: rbm32 and rbm64.

Source: merge-semantics 4.
"""

from collections.abc import Callable

import pyarrow as pa

from lake.format.data_types import DataType, TypeRoot
from lake.merge.aggregate_function import AggregateFunction, FunctionDeclaration, Reduction
from lake.merge.column_function import ColumnFunction
from lake.merge.compatibility import Compatibility
from lake.merge.functions.bitmap32 import united_32
from lake.merge.functions.bitmap64 import united_64
from lake.merge.functions.bytes_union import BytesUnion, Unite
from lake.merge.functions.lone_values import LONE_VALUES

RBM32 = "rbm32"
RBM64 = "rbm64"


def accepts_bytes(data_type: DataType) -> bool:
    """Return whether it is VARBINARY, of any length; BINARY is not."""
    return data_type.root is TypeRoot.VARBINARY


def _maker(
    unite: Unite, expected: str
) -> Callable[[ColumnFunction, pa.DataType], AggregateFunction]:
    def make(function: ColumnFunction, _data_type: pa.DataType) -> AggregateFunction:
        return BytesUnion(function, unite=unite, expected=expected)

    return make


def _reduction(_function: ColumnFunction, _data_type: pa.DataType) -> Reduction:
    return LONE_VALUES


def _declaration(name: str, unite: Unite, width: int, java_class: str) -> FunctionDeclaration:
    return FunctionDeclaration(
        name=name,
        summary=f"The union of sets of {width}-bit numbers, each a serialised bitmap.",
        accepts=accepts_bytes,
        accepted="VARBINARY, BYTES",
        null_rule="Null adds nothing.",
        late_rule="The same as for a newer value.",
        retract_rule=None,
        order_free=True,
        anomalies=(
            "A lone value, or one beside nulls only, is kept as it is, well formed or not. Check "
            "bytes where they are made.",
            f"The bytes are those of Java's `{java_class}`; equal sets may have different bytes. Compare "
            "sets, not bytes.",
        ),
        differences=(
            Compatibility(
                subject="bytes of the union",
                verdict="same",
                why="Byte for byte what the reference writes.",
            ),
            Compatibility(
                subject="malformed bytes",
                verdict="stricter",
                why="An error that names the column and shows the bytes, as soon as they meet "
                "another value; the reference fails too, where it notices.",
            ),
        ),
        make=_maker(unite, f"the bytes of a `{java_class}`"),
        reduction=_reduction,
    )


DECLARATIONS: tuple[FunctionDeclaration, ...] = (
    _declaration(RBM32, united_32, 32, "RoaringBitmap"),
    _declaration(RBM64, united_64, 64, "Roaring64Bitmap"),
)
