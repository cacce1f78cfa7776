import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from braid.lake.files.parquet.int96 import INT96_STORAGE
from braid.lake.files.parquet.int96_file import with_revealed_int96
from tests.unit.lake.files.given_data_files import declared


@pytest.fixture
def parquet() -> bytes:
    """A file with an INT96 column t among others."""
    columns = {"i": [1, 2], "t": pa.array([b"a" * 12, None], INT96_STORAGE), "s": ["x", "y"]}
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink, store_schema=False)
    file: bytes = declared(sink.getvalue(), {"t"}).to_pybytes()
    return file


def test_the_bytes_of_a_column_are_read_and_the_others_are_as_before(parquet: bytes) -> None:
    assert pq.read_schema(pa.BufferReader(parquet)).field("t").type == pa.timestamp("ns")

    found = pq.read_table(with_revealed_int96(pa.BufferReader(parquet), {"t"}))

    assert found.to_pydict() == {"i": [1, 2], "t": [b"a" * 12, None], "s": ["x", "y"]}


def test_any_part_of_the_file_can_be_read_in_any_order(parquet: bytes) -> None:
    seen = with_revealed_int96(pa.BufferReader(parquet), {"t"})
    whole = seen.read()
    footer_start = len(parquet) - 8 - int.from_bytes(parquet[-8:-4], "little")

    assert whole[:footer_start] == parquet[:footer_start]
    assert whole[-4:] == b"PAR1"
    assert seen.seek(-6, io.SEEK_END) == len(whole) - 6
    assert seen.read(4) == whole[-6:-2]
    assert seen.seek(1, io.SEEK_CUR) == len(whole) - 1
    assert seen.read(9) == whole[-1:]
    seen.seek(footer_start - 3)
    assert seen.read(7) == whole[footer_start - 3 : footer_start + 4]
