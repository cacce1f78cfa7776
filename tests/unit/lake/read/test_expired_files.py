"""What statistics prove about expired records, and what they only suggest."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from braid.lake.format.statistics import EMPTY_STATS
from braid.lake.merge.row_expiry import LiveRows
from braid.lake.read.expired_files import expired_records, expired_shares, wholly_expired_files
from braid.lake.read.pruning import Bounds
from tests.given_tables import GivenTable, given_schema

LIVE = LiveRows(column="t", ranges=((100, 199), (1_000, 2**63 - 1)))


@pytest.mark.parametrize(
    ("low", "high", "nulls", "is_all", "is_some", "share"),
    [
        (0, 99, 0, True, True, 1.0),
        (0, 99, 1, False, True, 0.9),
        (0, 99, -1, False, True, 1.0),
        (100, 199, 0, False, False, 0.0),
        (1_000, 5_000, 0, False, False, 0.0),
        (0, 100, 0, False, True, 100 / 101),
        (50, 149, 0, False, True, 0.5),
        (200, 999, 0, True, True, 1.0),
        (150, 1_049, 0, False, True, 800 / 900),
        (None, None, 10, False, False, 0.0),
        (None, None, -1, False, False, 0.0),
    ],
)
def test_bounds_tell_what_is_expired(
    low: int | None, high: int | None, nulls: int, is_all: bool, is_some: bool, share: float
) -> None:
    bounds = Bounds(
        minima=pa.array([low], pa.int64()),
        maxima=pa.array([high], pa.int64()),
        null_counts=np.array([nulls]),
        row_counts=np.array([10]),
    )

    found = expired_records(bounds, LIVE)

    assert (found.is_all[0], found.may_be_some[0]) == (is_all, is_some)
    assert found.share[0] == pytest.approx(share)


def test_the_widest_bounds_are_no_overflow() -> None:
    bounds = Bounds(
        minima=pa.array([-(2**63)], pa.int64()),
        maxima=pa.array([2**63 - 1], pa.int64()),
        null_counts=np.array([0]),
        row_counts=np.array([1]),
    )

    found = expired_records(bounds, LIVE)

    assert (bool(found.is_all[0]), bool(found.may_be_some[0])) == (False, True)
    assert found.share[0] == pytest.approx(0.5)


def test_files_without_statistics_of_the_time_field_prove_nothing() -> None:
    table = GivenTable(schema=given_schema({"k": "INT", "t": "INT"}, key=["k"]))
    table.write((1, 5), (2, 7))
    table.write((1, 5), (2, 150))
    table.write((1, 150), (2, None))
    table.write((1, 5), (2, 7))
    files = [entry.file for entry in table.entries]
    files[-1] = replace(files[-1], value_stats=EMPTY_STATS)

    whole = wholly_expired_files(files, LIVE, table.schema, {})
    shares = expired_shares(files, LIVE, table.schema, {})

    found = [(file.file_name in whole, file.file_name in shares) for file in files]
    assert found == [(True, True), (False, True), (False, False), (False, False)]
