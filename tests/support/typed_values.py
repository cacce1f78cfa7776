"""Hypothesis strategies for column types of any depth and for the values that they hold.

Values are those of `braid.lake.merge.plain_values`. Domains are small and hold the awkward ones (both
zeros, NaN, the ends of each range, text that is the beginning of other text), so that values meet.
"""

import math
from decimal import Decimal

import pyarrow as pa
from hypothesis import strategies as st

from braid.lake.format.arrow_types import to_arrow_type
from braid.lake.format.data_types import DataField, DataType, TypeRoot
from braid.lake.format.type_codec import parse_type

_WORDS = (
    "BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(9, 2)",
    "DECIMAL(18, 0)", "DECIMAL(38, 10)", "CHAR(3)", "VARCHAR(10)", "STRING", "BINARY(3)",
    "VARBINARY(10)", "BYTES", "DATE", "TIME(0)", "TIME(3)", "TIMESTAMP(0)", "TIMESTAMP(3)",
    "TIMESTAMP(6)", "TIMESTAMP(9)", "TIMESTAMP_LTZ(3)", "TIMESTAMP_LTZ(6)", "TIMESTAMP_LTZ(9)",
)  # fmt: skip
ATOMIC_TYPES = st.sampled_from([parse_type(word) for word in _WORDS])
"""Every atomic kind, nullable."""

_TEXTS = ("", "a", "a\0", "ab", "b", "é", "\uffff", "\U0001f600")
_BYTES = (b"", b"\0", b"\0\0", b"\x7f", b"\xff", b"a" * 3)
_FLOATS = (-math.inf, -1.5, -0.0, 0.0, 2.0**-20, 1.5, math.inf, math.nan)


def _nested(inner: st.SearchStrategy[DataType]) -> st.SearchStrategy[DataType]:
    inner_or_required = st.builds(DataType.with_nullable, inner, st.booleans())
    required = inner.map(lambda part: part.with_nullable(False))
    fields = st.lists(inner_or_required, max_size=3).map(
        lambda types: tuple(DataField(name=f"f{n}", type=part) for n, part in enumerate(types))
    )
    return st.one_of(
        st.builds(DataType, root=st.just(TypeRoot.ARRAY), element=inner_or_required),
        st.builds(DataType, root=st.just(TypeRoot.MULTISET), element=required),
        st.builds(DataType, root=st.just(TypeRoot.MAP), key=required, value=inner_or_required),
        st.builds(DataType, root=st.just(TypeRoot.ROW), fields=fields),
    )


TYPES = st.recursive(ATOMIC_TYPES, _nested, max_leaves=5)
"""Any type; nullable outside, with NOT NULL parts inside."""


def values_of(data_type: DataType) -> st.SearchStrategy[object]:
    """Return plain values of a type, None among them where it is nullable."""
    values = _present(data_type)
    return st.none() | values if data_type.nullable else values


def _present(data_type: DataType) -> st.SearchStrategy[object]:
    match data_type.root:
        case TypeRoot.ARRAY:
            assert data_type.element is not None
            return st.lists(values_of(data_type.element), max_size=3)
        case TypeRoot.MAP:
            assert data_type.key is not None
            assert data_type.value is not None
            return _maps(data_type.key, values_of(data_type.value))
        case TypeRoot.MULTISET:
            assert data_type.element is not None
            return _maps(data_type.element, st.integers(1, 3))
        case TypeRoot.ROW:
            return st.tuples(*(values_of(field.type) for field in data_type.fields))
        case _:
            return _atomic(data_type)


def _maps(key: DataType, values: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    keys = values_of(key.with_nullable(False))
    return st.lists(st.tuples(keys, values), max_size=3, unique_by=lambda pair: repr(pair[0]))


def _atomic(data_type: DataType) -> st.SearchStrategy[object]:
    arrow_type = to_arrow_type(data_type)
    if data_type.root is TypeRoot.BOOLEAN:
        return st.booleans()
    if pa.types.is_string(arrow_type):
        return st.sampled_from([text for text in _TEXTS if len(text) <= (data_type.length or 0)])
    if pa.types.is_binary(arrow_type):
        return st.sampled_from([data for data in _BYTES if len(data) <= (data_type.length or 0)])
    if pa.types.is_floating(arrow_type):
        return st.sampled_from(_FLOATS)
    if pa.types.is_decimal(arrow_type):
        bound = 10**arrow_type.precision - 1
        return st.sampled_from([-bound, -1, 0, 1, bound]).map(
            lambda unscaled: (
                Decimal(unscaled).scaleb(-arrow_type.scale)
                if abs(unscaled) < 10**20
                else Decimal(f"{unscaled}E-{arrow_type.scale}")
            )
        )
    if pa.types.is_time(arrow_type):
        return st.sampled_from([0, 1_000, 86_399_000])
    if pa.types.is_temporal(arrow_type):
        return (
            st.sampled_from([-86_400_000, -1, 0, 1, 19_000])
            if arrow_type.bit_width == 64
            else (st.sampled_from([-700_000, -1, 0, 1, 19_000]))
        )
    limit = 1 << (arrow_type.bit_width - 1)
    return st.sampled_from([-limit, -1, 0, 1, limit - 1])
