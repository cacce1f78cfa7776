"""Java reads the newest value, too, where a slow writer was overtaken and compacted, and what a row keeps."""

import base64
import random
from pathlib import Path

import pytest

from braid.lake import Machine
from tests.interop import java_reader
from tests.property.arrival_bed import ArrivalBed
from tests.property.lost_update import GROUPS, NEWEST, NO_GROUPS, overtaken_table

pytestmark = pytest.mark.interop


def test_java_reads_the_newest_value_with_groups_and_the_older_one_without(tmp_path: Path) -> None:
    tables = [
        overtaken_table(tmp_path / name, options, Machine.COLUMN)
        for name, options in (("groups", GROUPS), ("none", NO_GROUPS))
    ]

    with_groups, without = java_reader.read_tables([Path(t.path) for t in tables], tmp_path)

    newest = list(NEWEST.values())
    assert list(with_groups) == list(without) == [1, 2, 3, 4]
    assert row_of_key_1(with_groups[4]) == newest
    assert row_of_key_1(without[4]) == [1, 1, 1, *newest[3:]]


def test_java_reads_what_any_schedule_leaves_in_the_order_of_arrival(tmp_path: Path) -> None:
    beds = [
        ArrivalBed(chance=random.Random(seed), warehouse=tmp_path / str(seed)) for seed in (1, 2)
    ]
    for bed in beds:
        bed.live(40)

    tables = java_reader.read_tables([Path(bed.table.path) for bed in beds], tmp_path)

    names = [name for name in beds[0].table.schema.field_names if not name.endswith("__at")]
    for bed, snapshots in zip(beds, tables, strict=True):
        rows = snapshots[max(snapshots)]
        assert not isinstance(rows, str), rows
        found = [dict(zip(bed.table.schema.field_names, row, strict=True)) for row in rows]
        expected = bed.table.scan(columns=names).to_arrow().to_pylist()
        assert expected
        assert sorted([row[name] for name in names] for row in found) == sorted(
            [as_text(row[name]) for name in names] for row in expected
        )
        assert bed.found() == bed.expected()


def as_text(value: object) -> object:
    """Return a value as the Java reader prints it: bytes in base64."""
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def row_of_key_1(rows: list[list[object]] | str) -> list[object]:
    """Return the row of the key that both streams write."""
    assert not isinstance(rows, str), rows
    (row,) = [row for row in rows if row[0] == 1]
    return row
