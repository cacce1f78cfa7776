"""Column types of scalar native types: for each kind, the column type that holds every value unchanged.

| kind | column |
|---|---|
| boolean | BOOLEAN |
| whole number | INT for at most 32 bits signed; DECIMAL(20, 0) for 64 bits unsigned; BIGINT for all others |
| floating-point number | FLOAT of 32 bits, DOUBLE |
| decimal | DECIMAL of its precision and scale; STRING if it has more than 38 digits |
| text, bytes | STRING, BYTES |
| date | DATE |
| time | TIME(3) for milliseconds; STRING for finer times, because no TIME has more digits |
| moment | TIMESTAMP with its digits of the second; WITH LOCAL TIME ZONE unless the schema declares it as local |
| null, unreadable | none |
"""

from typing import Final

from braid.formats.native.kinds import NativeKind
from braid.formats.native.leaf_arrays import Leaf
from braid.lake import DataType, parse_type

_STRING: Final = parse_type("STRING")
_PLAIN: Final = {
    NativeKind.BOOLEAN: parse_type("BOOLEAN"),
    NativeKind.TEXT: _STRING,
    NativeKind.BYTES: parse_type("BYTES"),
    NativeKind.DATE: parse_type("DATE"),
}
_DIGITS: Final = {10**6: 3, 10**3: 6, 1: 9}
_PRECISION_MAX: Final = 38
_MILLISECOND: Final = 10**6


def leaf_column_type(
    leaf: Leaf,
    *,
    is_short: bool = False,
    is_unsigned: bool = False,
    digits: tuple[int, int] = (0, 0),
) -> DataType | None:
    """Return the type of the column, nullable; None if no column holds the values.

    Args:
        leaf: The type of the values.
        is_short: Whether numbers have 32 bits or less, with their sign; otherwise 64.
        is_unsigned: Whether whole numbers of 64 bits have no sign.
        digits: Precision and scale of decimals.
    """
    match leaf.kind:
        case NativeKind.WHOLE if is_unsigned and not is_short:
            return parse_type("DECIMAL(20, 0)")
        case NativeKind.WHOLE:
            return parse_type("INT" if is_short else "BIGINT")
        case NativeKind.FLOAT:
            return parse_type("FLOAT" if is_short else "DOUBLE")
        case NativeKind.DECIMAL:
            precision, scale = digits
            return (
                parse_type(f"DECIMAL({precision}, {scale})")
                if precision <= _PRECISION_MAX
                else _STRING
            )
        case NativeKind.TIME:
            return parse_type("TIME(3)") if leaf.unit_ns >= _MILLISECOND else _STRING
        case NativeKind.MOMENT:
            zone = "" if leaf.is_local else " WITH LOCAL TIME ZONE"
            return parse_type(f"TIMESTAMP({_DIGITS[leaf.unit_ns]}){zone}")
        case kind:
            return _PLAIN.get(kind)
