"""The numbers of the binary encoding of VARIANT values, and its bounds."""

from typing import Final

VALUE: Final = "value"
METADATA: Final = "metadata"
"""Names of the two parts of a value, in files and in Arrow."""

PRIMITIVE: Final = 0
SHORT_TEXT: Final = 1
OBJECT: Final = 2
ARRAY: Final = 3
"""Basic type of a value: the low two bits of its first byte."""

NULL: Final = 0
TRUE: Final = 1
FALSE: Final = 2
INT8: Final = 3
INT16: Final = 4
INT32: Final = 5
INT64: Final = 6
DOUBLE: Final = 7
DECIMAL4: Final = 8
DECIMAL8: Final = 9
DECIMAL16: Final = 10
DATE: Final = 11
TIMESTAMP_LTZ: Final = 12
TIMESTAMP: Final = 13
FLOAT: Final = 14
BINARY: Final = 15
TEXT: Final = 16
UUID: Final = 20
"""Kinds of scalars: the high six bits of the first byte. Like Paimon 2.0, this version does not have 17, 18 and 19,
the time and the two timestamps in nanoseconds."""

SHORT_TEXT_MAX: Final = 63
VERSION: Final = 1
SIZE_MAX: Final = 128 << 20
"""Bytes of `value` and of `metadata`, each."""
DEPTH_MAX: Final = 500
"""Deepest nesting of objects and arrays. Paimon has no bound of its own: between 500 and 1 000 objects in one
another end its reader with a stack overflow."""

EMPTY_METADATA: Final = bytes((VERSION, 0, 0))
"""A dictionary without names."""
