"""Rows as text that is equal exactly where the values mean the same.

Serialised bitmaps and sketches of one set may differ in their bytes: by how they were made.
"""

import base64
from collections.abc import Callable

import pyarrow as pa
from datasketches import compact_theta_sketch, hll_sketch
from pyroaring import BitMap

from tests.conformance.values import Json, to_json
from tests.property.declarations import Declaration


def comparable(table: pa.Table, declared: Declaration) -> list[str]:
    """Return one text per row."""
    columns = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        values = to_json(column)
        function = declared.functions.get(name)
        decode = _DECODERS.get(function.name) if function else None
        columns.append([decode(value) if decode and value else value for value in values])
    return [repr(row) for row in zip(*columns, strict=True)]


def _bitmap(value: Json) -> Json:
    return list(BitMap.deserialize(base64.b64decode(value)))


def _hll(value: Json) -> Json:
    return round(hll_sketch.deserialize(base64.b64decode(value)).get_estimate(), 3)


def _theta(value: Json) -> Json:
    return round(compact_theta_sketch.deserialize(base64.b64decode(value)).get_estimate(), 3)


_DECODERS: dict[str, Callable[[Json], Json]] = {
    "rbm32": _bitmap,
    "hll_sketch": _hll,
    "theta_sketch": _theta,
}
