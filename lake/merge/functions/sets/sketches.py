"""Aggregate functions of serialised sketches: hll_sketch and theta_sketch.

A sketch estimates the number of distinct values it was updated with. Bytes are in the format of Apache
DataSketches, whose C++ and Java libraries read each other's sketches.

The unions and declarations are here, the definition is in `bytes_union`.

A union of HLL sketches has the precision of one of them, depending on which came first. So a column can declare the
size (`braid.lg-k`) and the type (`braid.hll-type`) that all its values must have. A theta sketch does not store its
size, but the number of its entries can show that its size is not the declared one. Unions of theta sketches have the
reference's 4096 nominal entries, whatever is declared.

Source: merge-semantics 4.
"""

from collections.abc import Iterator
from typing import Final

import datasketches

from braid.lake.errors import Problem
from braid.lake.format.data_types import DataField
from braid.lake.merge.aggregate_function import FunctionDeclaration, FunctionOption
from braid.lake.merge.column_function import ColumnFunction
from braid.lake.merge.functions.sets.bytes_union import CheckSize, Unite, bytes_union
from braid.lake.merge.functions.support.option_values import (
    choice,
    choice_problems,
    has_option,
    integer,
    range_problems,
)

HLL_SKETCH = "hll_sketch"
THETA_SKETCH = "theta_sketch"
LG_K: Final = "braid.lg-k"
HLL_TYPE: Final = "braid.hll-type"
LG_K_RANGES: Final = {HLL_SKETCH: (4, 21), THETA_SKETCH: (5, 26)}
_LG_K_DEFAULT: Final = 12
_HLL_TYPES: Final = ("hll_4", "hll_6", "hll_8")
# A theta sketch drops entries when it holds this fraction of twice its nominal entries.
_THETA_FULL: Final = 15 / 16

# Header fields of a theta sketch that Java writes and C++ leaves out; no reader needs them: the sampling
# rate, a float, if there are several entries, and a flag if there is one.
_PREAMBLE_MASK = 0x3F
_PREAMBLE_WITH_RATE = 2
_RATE_POSITION = 12
_RATE = b"\x00\x00\x80\x3f"
_EMPTY_BYTES = 8
_FLAGS_POSITION = 5
_SINGLE_ENTRY = 0x20


def united_hll(accumulated: bytes, value: bytes) -> bytes:
    """Return the union of two HLL sketches as a compact HLL_4.

    The result has the precision of the less precise one; but while `accumulated` has so few entries that it
    only lists them, the result has the precision of `value`.

    Raises:
        ValueError: One of the two is malformed.
    """
    old, new = _read_hll(accumulated), _read_hll(value)
    union = datasketches.hll_union(new.lg_config_k)
    # In the reference's order: small sketches list their entries in the order of insertion.
    union.update(new)
    union.update(old)
    return bytes(union.get_result(datasketches.tgt_hll_type.HLL_4).serialize_compact())


def united_theta(accumulated: bytes, value: bytes) -> bytes:
    """Return the union of two theta sketches, as a compact, ordered sketch of 4096 nominal entries.

    Raises:
        ValueError: One of the two is malformed, or was made with another seed.
    """
    union = datasketches.theta_union()
    union.update(_read_theta(accumulated))
    union.update(_read_theta(value))
    written = bytearray(union.get_result().serialize())
    if written[0] & _PREAMBLE_MASK >= _PREAMBLE_WITH_RATE:
        written[_RATE_POSITION : _RATE_POSITION + len(_RATE)] = _RATE
    elif len(written) > _EMPTY_BYTES:
        written[_FLAGS_POSITION] |= _SINGLE_ENTRY
    return bytes(written)


def _read_hll(data: bytes) -> datasketches.hll_sketch:
    try:
        return datasketches.hll_sketch.deserialize(data)
    except (IndexError, RuntimeError, TypeError) as error:
        raise ValueError(str(error)) from error


def _read_theta(data: bytes) -> datasketches.compact_theta_sketch:
    try:
        return datasketches.compact_theta_sketch.deserialize(data)
    except (IndexError, RuntimeError, TypeError) as error:
        raise ValueError(str(error)) from error


def _check_hll(function: ColumnFunction, value: bytes) -> str | None:
    sketch = _read_hll(value)
    lg_k = integer(function, LG_K, _LG_K_DEFAULT)
    if has_option(function, LG_K) and sketch.lg_config_k != lg_k:
        return f"found an HLL sketch of lg_k {sketch.lg_config_k}, but the column declares {lg_k}"
    declared = choice(function, HLL_TYPE, _HLL_TYPES[0], _HLL_TYPES).upper()
    if has_option(function, HLL_TYPE) and sketch.tgt_type.name != declared:
        return f"found a sketch of type {sketch.tgt_type.name}, but the column declares {declared}"
    return None


def _check_theta(function: ColumnFunction, value: bytes) -> str | None:
    if not has_option(function, LG_K):
        return None
    sketch, lg_k = _read_theta(value), integer(function, LG_K, _LG_K_DEFAULT)
    entries, nominal = sketch.num_retained, 1 << lg_k
    if entries > 2 * nominal * _THETA_FULL:
        size = "larger"
    elif sketch.is_estimation_mode() and entries < nominal:
        size = "smaller"
    else:
        return None
    return (
        f"found a theta sketch of {entries} entries, which is {size} than the lg_k {lg_k} that the "
        "column declares"
    )


def _size_problems(_field: DataField, function: ColumnFunction) -> Iterator[Problem]:
    low, high = LG_K_RANGES[function.name]
    yield from range_problems(function, LG_K, low, high)
    if function.name == HLL_SKETCH:
        yield from choice_problems(function, HLL_TYPE, _HLL_TYPES)


def _lg_k_option(name: str) -> FunctionOption:
    low, high = LG_K_RANGES[name]
    return FunctionOption(
        key=LG_K,
        type=f"whole number from {low} to {high}",
        default="none: sizes are not checked; 12 in registered tables",
        meaning="The size of all sketches, as a logarithm to base 2; a sketch of another size is refused "
        "when it is written.",
    )


_HLL_TYPE_OPTION = FunctionOption(
    key=HLL_TYPE,
    type="HLL_4, HLL_6 or HLL_8",
    default="none: types are not checked; HLL_4 in registered tables",
    meaning="The type of all sketches that are written. A union is an HLL_4.",
)


def _declaration(
    name: str,
    unite: Unite,
    kind: str,
    check_size: CheckSize,
    options: tuple[FunctionOption, ...],
    anomalies: tuple[str, ...],
) -> FunctionDeclaration:
    return bytes_union(
        name,
        unite=unite,
        expected=f"the bytes of a DataSketches {kind} sketch",
        summary=f"The union of {kind} sketches, which estimate how many distinct values there are.",
        late_rule="The same as for a newer value, except that entries may have another order in the bytes.",
        unequal="Equal estimates may have different bytes. Compare estimates.",
        anomalies=anomalies,
        check_size=check_size,
        options=options,
        problems=_size_problems,
    )


DECLARATIONS: tuple[FunctionDeclaration, ...] = (
    _declaration(
        HLL_SKETCH,
        united_hll,
        "HLL",
        _check_hll,
        (_lg_k_option(HLL_SKETCH), _HLL_TYPE_OPTION),
        (
            "A union of sketches of different sizes has the precision of one of them; the order of "
            f"arrival decides of which one. Declare one size, `{LG_K}`.",
        ),
    ),
    _declaration(
        THETA_SKETCH, united_theta, "theta", _check_theta, (_lg_k_option(THETA_SKETCH),), ()
    ),
)
