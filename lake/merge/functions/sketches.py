"""Aggregate functions of serialised sketches: hll_sketch and theta_sketch.

A sketch estimates how many distinct values it has been given. Bytes are those of Apache DataSketches, whose C++ and Java libraries read each other's.

Source: merge-semantics 4.
"""

import datasketches

from lake.merge.aggregate_function import FunctionDeclaration
from lake.merge.functions.bytes_union import Unite, bytes_union

HLL_SKETCH = "hll_sketch"
THETA_SKETCH = "theta_sketch"

# What Java writes into the header of a theta sketch and C++ leaves out; nothing has to read it: the
# sampling rate, a float, where there are several entries, and a flag where there is one.
_PREAMBLE_MASK = 0x3F
_PREAMBLE_WITH_RATE = 2
_RATE_PLACE = 12
_RATE = b"\x00\x00\x80\x3f"
_EMPTY_BYTES = 8
_FLAGS_PLACE = 5
_SINGLE_ENTRY = 0x20


def united_hll(accumulated: bytes, value: bytes) -> bytes:
    """Return the union of two HLL sketches as a compact HLL_4.

    It has the precision of the less precise of the two.

    Raises:
        ValueError: One is malformed.
    """
    old, new = _read_hll(accumulated), _read_hll(value)
    union = datasketches.hll_union(new.lg_config_k)
    # In the reference's order, in which small sketches list their entries.
    union.update(new)
    union.update(old)
    return bytes(union.get_result(datasketches.tgt_hll_type.HLL_4).serialize_compact())


def united_theta(accumulated: bytes, value: bytes) -> bytes:
    """Return the union of two theta sketches, of 4096 nominal entries, compact and ordered.

    Raises:
        ValueError: One is malformed, or was made with another seed.
    """
    union = datasketches.theta_union()
    union.update(_read_theta(accumulated))
    union.update(_read_theta(value))
    written = bytearray(union.get_result().serialize())
    if written[0] & _PREAMBLE_MASK >= _PREAMBLE_WITH_RATE:
        written[_RATE_PLACE : _RATE_PLACE + len(_RATE)] = _RATE
    elif len(written) > _EMPTY_BYTES:
        written[_FLAGS_PLACE] |= _SINGLE_ENTRY
    return bytes(written)


def _read_hll(data: bytes) -> datasketches.hll_sketch:
    try:
        return datasketches.hll_sketch.deserialize(data)
    except (IndexError, RuntimeError) as error:
        raise ValueError(str(error)) from error


def _read_theta(data: bytes) -> datasketches.compact_theta_sketch:
    try:
        return datasketches.compact_theta_sketch.deserialize(data)
    except (IndexError, RuntimeError) as error:
        raise ValueError(str(error)) from error


def _declaration(name: str, unite: Unite, kind: str) -> FunctionDeclaration:
    return bytes_union(
        name,
        unite=unite,
        expected=f"the bytes of a DataSketches {kind} sketch",
        summary=f"The union of {kind} sketches, which estimate how many distinct values there are.",
        late_rule="The same as for a newer value, up to the order of entries in the bytes.",
        unequal="Equal estimates may have different bytes. Compare estimates.",
    )


DECLARATIONS: tuple[FunctionDeclaration, ...] = (
    _declaration(HLL_SKETCH, united_hll, "HLL"),
    _declaration(THETA_SKETCH, united_theta, "theta"),
)
