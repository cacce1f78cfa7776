"""Many rows of one snapshot: keys with one record, with several, deleted and absent, in one call."""

from collections.abc import Mapping

import pyarrow as pa
import pytest

from braid.lake import Catalog, MemoryFileIO, SnapshotLookup

KEYS = 200
SCHEMA = pa.schema(
    [
        pa.field("k", pa.int32(), nullable=False),
        pa.field("v", pa.int64()),
        pa.field("total", pa.int64()),
        pa.field("at", pa.timestamp("us")),
    ]
)


NO_COPIES = {"lookup.cache-max-disk-size": "0 b", "lookup.cache-max-memory-size": "0 b"}


def given_lookup(
    changed: range, removed: range, options: Mapping[str, str] | None = None
) -> SnapshotLookup:
    """Return rows of which some have several records, and some were removed."""
    table = Catalog("/w", file_io=MemoryFileIO()).create_table(
        "d.t",
        columns=[("k", "INT"), ("v", "BIGINT"), ("total", "BIGINT"), ("at", "TIMESTAMP(6)")],
        primary_key=["k"],
        options={
            "bucket": "3",
            "merge-engine": "aggregation",
            "fields.total.aggregate-function": "sum",
            "aggregation.remove-record-on-delete": "true",
            **(options or {}),
        },
    )
    table.write_and_commit(rows(range(KEYS), v=1, total=10))
    table.compact(full=True)
    table.write_and_commit(rows(changed, v=None, total=5))
    table.write_and_commit(
        rows(removed, v=3, total=0), kinds=pa.array([3] * len(removed), pa.int8())
    )
    at = table.lookup_at()
    at.load()
    return at


def rows(keys: range, *, v: int | None, total: int) -> pa.Table:
    count = len(keys)
    moments = [1_000_000 * key for key in keys]
    values = {
        "k": list(keys),
        "v": [v] * count,
        "total": [total] * count,
        "at": moments,
    }
    return pa.table(values, schema=SCHEMA)


@pytest.mark.parametrize("options", [{}, NO_COPIES], ids=["copies", "row groups"])
@pytest.mark.parametrize(
    ("changed", "removed"), [(range(5), range(3, 8)), (range(150), range(100, 190))]
)
def test_rows_are_those_of_single_keys_however_many_are_merged(
    changed: range, removed: range, options: dict[str, str]
) -> None:
    at = given_lookup(changed, removed, options)
    keys = [{"k": (7 * number) % (KEYS + 20)} for number in range(KEYS + 20)]

    found = at.get_many(keys)

    assert found == [at.get(key) for key in keys]
    by_key = {key["k"]: row for key, row in zip(keys, found, strict=True)}
    for key, row in by_key.items():
        if key >= KEYS or key in removed:
            assert row is None
        else:
            assert row is not None
            assert (row["v"], row["total"]) == (1, 15 if key in changed else 10)


def test_a_key_that_is_given_twice_gives_its_row_twice() -> None:
    at = given_lookup(range(5), range(3, 4))

    found = at.get_many([{"k": 2}, {"k": 100}, {"k": 2}, {"k": 100}], columns=["total"])

    assert found == [{"total": 15}, {"total": 10}, {"total": 15}, {"total": 10}]
