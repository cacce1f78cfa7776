import numpy as np
import pyarrow as pa
import pytest

from braid.lake.errors import CorruptData
from braid.lake.format.bucket import bucket_hashes
from braid.lake.format.indexes.hash_index import decode_hash_index, encode_hash_index
from braid.lake.format.type_codec import parse_type


def test_hashes_of_keys_are_what_java_writes() -> None:
    hashes = bucket_hashes([pa.array([1, 2, 3], pa.int32())], [parse_type("INT NOT NULL")])

    # As a set: Java writes them in the order of its hash table.
    written = encode_hash_index(hashes).hex(" ", 4).split()
    assert sorted(written) == sorted(["5759f99e", "d206e547", "4fe4bbf0"])


def test_hashes_come_back() -> None:
    hashes = np.array([0, -1, 2**31 - 1, -(2**31)], dtype=np.int32)

    decoded = decode_hash_index(encode_hash_index(hashes))

    assert decoded.tolist() == hashes.tolist()
    assert decoded.dtype == np.int32
    assert decode_hash_index(b"").tolist() == []


def test_a_part_of_a_hash_is_corrupt() -> None:
    with pytest.raises(CorruptData, match="5 bytes"):
        decode_hash_index(bytes(5))
