"""The rows of a lookup are bounded by their bytes."""

import orjson
import pyarrow as pa
import pytest

from braid.formats.json_values import json_writer
from braid.lake import Catalog, LimitExceeded
from braid.service.control.row_lookup import LookedUp, find_rows


@pytest.fixture
def at(catalog: Catalog) -> LookedUp:
    table = catalog.create_table(
        "shop.texts",
        columns=[("id", "BIGINT"), ("text", "STRING")],
        primary_key=["id"],
        options={"bucket": "1"},
    )
    table.write_and_commit(pa.table({"id": range(300), "text": ["x" * 100] * 300}))
    lookup = table.lookup_at()
    return LookedUp(lookup=lookup, verified_ms=0, write_row=json_writer(lookup.schema.fields))


def test_rows_are_written_in_the_order_of_their_keys(at: LookedUp) -> None:
    keys = [{"id": number} for number in (299, 500, 0, *range(150))]

    rows = orjson.loads(orjson.dumps(find_rows(at, keys)))

    assert [row and row["id"] for row in rows] == [299, None, 0, *range(150)]


def test_more_bytes_than_an_answer_may_have_are_refused_before_all_rows_are_read(
    at: LookedUp,
) -> None:
    keys = [{"id": number} for number in range(300)]

    assert len(find_rows(at, keys, bytes_max=40_000)) == 300
    with pytest.raises(
        LimitExceeded, match=r"the first 200 of 300 rows have .* the limit is 20000"
    ):
        find_rows(at, keys, bytes_max=20_000)
