"""Positions compare as the changes of a database follow each other."""

import itertools
from collections.abc import Sequence

import pyarrow as pa
import pytest

from braid.formats.change_capture.positions import (
    MAXWELL_FIELDS,
    change_positions,
    maxwell_positions,
    position_fields,
)
from braid.schemas import SourceDatabase

READ, LOG = True, False

# Parts of changes in the order of the changes, each with whether a snapshot has read it.
IN_ORDER: dict[SourceDatabase, list[tuple[bool, tuple[str | None, ...]]]] = {
    SourceDatabase.POSTGRESQL: [
        (READ, ('[null,"100"]',)),
        (LOG, ('[null,"100"]',)),  # the first change begins where the snapshot was taken
        (LOG, ('[null,"108"]',)),
        (LOG, ('["120","90"]',)),  # written before the snapshot, committed after it
        (LOG, ('["120","130"]',)),
        (READ, ('["150","151"]',)),  # an incremental snapshot
        (LOG, ('["160","140"]',)),  # in progress while its chunk was read
        (READ, ('[null,"170"]',)),  # another snapshot, after the slot was lost
        (LOG, ('[null,"175"]',)),
        (LOG, ('["1000","999"]',)),  # numbers, not texts
    ],
    SourceDatabase.MYSQL: [
        (LOG, ("bin.000009", "900", "0")),
        (READ, ("bin.000010", "154", "0")),
        (LOG, ("bin.000010", "154", "0")),
        (LOG, ("bin.000010", "300", "0")),
        (LOG, ("bin.000010", "300", "1")),
        (LOG, ("bin.000010", "1200", "0")),
        (LOG, ("bin.999999", "4", "0")),
        (LOG, ("bin.1000000", "4", "0")),
    ],
    SourceDatabase.SQLSERVER: [
        (LOG, ("00000027:00000758:0004", "00000027:00000758:0003", "1")),
        (READ, ("00000027:00000758:0005", None, None)),
        (LOG, ("00000027:00000758:0005", "00000027:00000758:0002", "1")),
        (LOG, ("00000027:00000758:0005", "00000027:00000758:0003", "1")),
        (LOG, ("00000027:00000758:0005", "00000027:00000758:0003", "2")),
        (LOG, ("0000002A:00000001:0001", "00000027:00000758:0001", "1")),
    ],
    SourceDatabase.MONGODB: [
        (LOG, ("1580000000000", "9")),
        (READ, ("1580000000000", "10")),
        (LOG, ("1580000000000", "10")),
        (LOG, ("1580000001000", "1")),
    ],
    SourceDatabase.ORACLE: [
        (READ, (None, "2490025")),
        (LOG, ("2490025", "2490024")),
        (LOG, ("2490030", "2490020")),  # begun before the snapshot, committed after it
        (LOG, ("2490030", "2490026")),
        (READ, ("NULL", "2490040")),
        (LOG, (None, "2490041")),  # no commit of its redo thread is known yet
    ],
}


def positions(database: SourceDatabase) -> list[bytes]:
    is_read, changes = zip(*IN_ORDER[database], strict=True)
    texts = zip(*changes, strict=True)
    parts = {
        name: pa.array(values, pa.string())
        for name, values in zip(position_fields(database), texts, strict=True)
    }
    found: list[bytes] = change_positions(database, parts, pa.array(is_read)).to_pylist()
    return found


@pytest.mark.parametrize("database", SourceDatabase)
def test_positions_compare_as_the_changes_follow_each_other(database: SourceDatabase) -> None:
    found = positions(database)

    assert all(one < other for one, other in itertools.pairwise(found))


@pytest.mark.parametrize(
    ("database", "parts"),
    [
        (SourceDatabase.POSTGRESQL, [None]),
        (SourceDatabase.POSTGRESQL, ['["1",null]']),
        (SourceDatabase.POSTGRESQL, ["17"]),
        (SourceDatabase.POSTGRESQL, ['["1","9999999999999999999"]']),
        (SourceDatabase.MYSQL, ["bin", "154", "0"]),
        (SourceDatabase.MYSQL, ["bin.000001", None, "0"]),
        (SourceDatabase.MYSQL, ["bin.000001", "154", None]),
        (SourceDatabase.MYSQL, ["bin.000001", "154", "-1"]),
        (SourceDatabase.SQLSERVER, ["NULL", "00000027:00000758:0003", "1"]),
        (SourceDatabase.SQLSERVER, ["00000027:00000758:0005", None, "1"]),
        (SourceDatabase.SQLSERVER, ["00000027:00000758:0005", "00000027:00000758:0003", None]),
        (SourceDatabase.SQLSERVER, ["00000027:00000758:0005", "758:3", "1"]),
        (SourceDatabase.SQLSERVER, ["00000027:00000758:0005", "00000027:00000758:0003", "x"]),
        (SourceDatabase.MONGODB, ["1580000000000", None]),
        (SourceDatabase.ORACLE, ["2490025", None]),
        (SourceDatabase.ORACLE, ["2490025:1:", "2490025"]),
    ],
)
def test_a_change_without_a_part_has_no_position(
    database: SourceDatabase, parts: Sequence[str | None]
) -> None:
    columns = {
        name: pa.array([text], pa.string())
        for name, text in zip(position_fields(database), parts, strict=True)
    }

    assert change_positions(database, columns, pa.array([LOG])).to_pylist() == [None]


@pytest.mark.parametrize(
    ("database", "parts"),
    [
        (SourceDatabase.SQLSERVER, ["00000027:00000758:0005", "758:3", None]),
        (SourceDatabase.SQLSERVER, ["00000027:00000758:0005", None, "x"]),
        (SourceDatabase.ORACLE, ["x", "2490025"]),
        (SourceDatabase.MYSQL, ["bin.000001", "154", None]),
    ],
)
def test_a_malformed_part_of_a_snapshots_read_gives_no_position(
    database: SourceDatabase, parts: Sequence[str | None]
) -> None:
    columns = {
        name: pa.array([text], pa.string())
        for name, text in zip(position_fields(database), parts, strict=True)
    }

    assert change_positions(database, columns, pa.array([READ])).to_pylist() == [None]


def test_a_malformed_row_of_maxwell_gives_no_position_unless_the_row_is_the_last() -> None:
    columns = {
        "position": pa.array(["bin.000009:700"] * 2),
        "xoffset": pa.array(["x", "x"]),
        "commit": pa.array([None, "true"]),
    }

    malformed, last = maxwell_positions(columns, pa.array([LOG, LOG])).to_pylist()

    assert malformed is None
    assert last is not None


def test_positions_of_maxwell_compare_as_the_changes_follow_each_other() -> None:
    changes = [
        (READ, ("bin.000009:700", None, None)),
        (LOG, ("bin.000009:700", "0", None)),
        (LOG, ("bin.000009:700", "1", None)),
        (LOG, ("bin.000009:700", None, "true")),  # the last row of its transaction
        (LOG, ("bin.000010:4", "0", None)),
    ]
    texts = zip(*(parts for _, parts in changes), strict=True)
    columns = {
        name: pa.array(values, pa.string())
        for name, values in zip(MAXWELL_FIELDS, texts, strict=True)
    }

    found = maxwell_positions(columns, pa.array([is_read for is_read, _ in changes])).to_pylist()

    assert all(one < other for one, other in itertools.pairwise(found))
