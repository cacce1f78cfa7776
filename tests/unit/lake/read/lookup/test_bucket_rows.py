"""Rows that were found keep the numbers of their keys, whatever batches their table has."""

import numpy as np
import pyarrow as pa

from braid.lake.read.lookup.bucket_rows import KeyedRows, keyed_values


def test_rows_of_several_batches_keep_the_numbers_of_their_keys() -> None:
    batches = [pa.record_batch({"v": values}) for values in ([10, 11], [12], [13, 14])]
    found = KeyedRows(keys=np.array([1, 3, 4, 7, 9]), rows=pa.Table.from_batches(batches))

    assert [(number, row["v"]) for number, row in keyed_values(found)] == [
        (1, 10),
        (3, 11),
        (4, 12),
        (7, 13),
        (9, 14),
    ]
