"""Serialised bitmaps and sketches for the examples, and the texts that show their content."""

import base64

import datasketches
from pyroaring import BitMap

_BITMAPS_64 = {
    "{1}": "AQEAAAAAAAAABAAAAAAAAAAAAAAAAAAAAAAAAQAAAP4BAAAAAQIBAAAAAQABAAAAAAAAAAAAAAAAAAAA",
    "{2, 3}": "AQEAAAAAAAAABAAAAAAAAAAAAAAAAAAAAAAAAQAAAP4BAAAAAQICAAAAAgADAAEAAAAAAAAAAAAAAAAAAAA"
    "=",
    "{1, 2, 3}": "AQEAAAAAAAAABAAAAAAAAAAAAAAAAAAAAAAAAQAAAP4BAAAAAQIDAAAAAQACAAMAAQAAAAAAAAAAAAAA"
    "AAAAAA==",
}
"""Output of Java's `Roaring64Bitmap`, in base64."""


def bitmap_32(*numbers: int) -> bytes:
    """Return a 32-bit bitmap of the numbers."""
    return bytes(BitMap(numbers).serialize())


def bitmap_32_text(value: object) -> str:
    """Return the numbers of a 32-bit bitmap."""
    assert isinstance(value, bytes)
    return "bitmap of {" + ", ".join(map(str, BitMap.deserialize(value))) + "}"


def bitmap_64(numbers: str) -> bytes:
    """Return the 64-bit bitmap of the numbers, which must be a key of `_BITMAPS_64`."""
    return base64.b64decode(_BITMAPS_64[numbers])


def bitmap_64_text(value: object) -> str:
    """Return the numbers of a 64-bit bitmap, which must be one of `_BITMAPS_64`."""
    return next(f"bitmap of {numbers}" for numbers in _BITMAPS_64 if bitmap_64(numbers) == value)


def hll(*names: str) -> bytes:
    """Return an HLL sketch of the names."""
    sketch = datasketches.hll_sketch(12)
    for name in names:
        sketch.update(name)
    return bytes(sketch.serialize_compact())


def hll_text(value: object) -> str:
    """Return the estimated number of names of an HLL sketch, as text."""
    return f"sketch of {datasketches.hll_sketch.deserialize(value).get_estimate():.0f}"


def theta(*names: str) -> bytes:
    """Return a theta sketch of the names."""
    sketch = datasketches.update_theta_sketch()
    for name in names:
        sketch.update(name)
    return bytes(sketch.compact().serialize())


def theta_text(value: object) -> str:
    """Return the estimated number of names of a theta sketch, as text."""
    return f"sketch of {datasketches.compact_theta_sketch.deserialize(value).get_estimate():.0f}"
