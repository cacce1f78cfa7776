"""Declarations of the aggregate functions of serialised bitmaps: rbm32 and rbm64.

Their definition is in `bytes_union`, their unions are in `bitmap32` and `bitmap64`.

Source: merge-semantics 4.
"""

from braid.lake.merge.aggregate_function import FunctionDeclaration
from braid.lake.merge.compatibility import Compatibility
from braid.lake.merge.functions.sets.bitmap32 import united_32
from braid.lake.merge.functions.sets.bitmap64 import united_64
from braid.lake.merge.functions.sets.bytes_union import Unite, bytes_union

RBM32 = "rbm32"
RBM64 = "rbm64"


def _declaration(name: str, unite: Unite, width: int, java_class: str) -> FunctionDeclaration:
    return bytes_union(
        name,
        unite=unite,
        expected=f"the bytes of a `{java_class}`",
        summary=f"The union of sets of {width}-bit numbers, each a serialised bitmap.",
        late_rule="The same as for a newer value.",
        unequal=f"The bytes are those of Java's `{java_class}`; equal sets may have different bytes. "
        "Compare sets, not bytes.",
        differences=(
            Compatibility(
                subject="bytes of the union",
                verdict="same",
                why="They are the bytes that Paimon writes.",
            ),
        ),
    )


DECLARATIONS: tuple[FunctionDeclaration, ...] = (
    _declaration(RBM32, united_32, 32, "RoaringBitmap"),
    _declaration(RBM64, united_64, 64, "Roaring64Bitmap"),
)
