"""Headers are read as a loop over the records of a slice reads them, one at a time."""

import pyarrow as pa
from hypothesis import given, settings, strategies as st

from braid.formats.header_reader import HeaderReader
from braid.formats.mapped_column import MappedColumn
from braid.lake import parse_type
from braid.schemas import ColumnSource

NAMES = ("a", "b", "", "a.b")
TYPE = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
HIDDEN = ("a", b"hidden")  # by the null of a record, below which Arrow may have anything
HEADERS = st.lists(st.tuples(st.sampled_from(NAMES), st.none() | st.binary(max_size=3)), max_size=4)
COLUMNS = [
    MappedColumn(
        name=f"{name}: {sql}",
        path=(name,),
        type=parse_type(sql),
        source=ColumnSource.HEADER,
        finds_missing=True,
    )
    for name in NAMES
    for sql in ("BYTES", "STRING")
]


@settings(max_examples=60)
@given(st.lists(st.none() | HEADERS, max_size=6), st.integers(0, 6), st.integers(0, 6))
def test_headers_are_read_as_one_at_a_time(
    records: list[list[tuple[str, bytes | None]] | None], start: int, length: int
) -> None:
    whole = pa.array(
        [
            [{"key": name, "value": value} for name, value in ([HIDDEN] if one is None else one)]
            for one in records
        ],
        TYPE,
    )
    is_null = pa.array([one is None for one in records], pa.bool_())
    array = pa.ListArray.from_arrays(whole.offsets, whole.values, mask=is_null)
    part = records[start : start + length]

    found = HeaderReader(COLUMNS).read(array.slice(start, length))

    faulty = set()
    for column, values in zip(COLUMNS, found.arrays, strict=True):
        last = [dict(one or ()).get(column.path[0]) for one in part]
        if column.name.endswith("BYTES"):
            assert values.to_pylist() == last
        else:
            faulty |= {row for row, value in enumerate(last) if not _is_text(value)}
            texts = [value.decode() if value and _is_text(value) else None for value in last]
            assert [text or None for text in values.to_pylist()] == texts
        assert found.missing[column.name].to_pylist() == [
            column.path[0] not in dict(one or ()) for one in part
        ]
    assert found.faults.rows == sorted(faulty)


def _is_text(value: bytes | None) -> bool:
    try:
        (value or b"").decode()
    except UnicodeDecodeError:
        return False
    return True
