"""Explanations of random rows of random histories equal a model: every winner, loser, reason and offset."""

import os
import random
from collections.abc import Sequence
from typing import Any

import pytest

from braid.formats.row_certificate import differences
from braid.schemas import RowCertificate
from braid.service.times import iso_utc
from tests.property.explained_rows import (
    KEPT,
    KEYS,
    VALUE_OF,
    Expected,
    ExplainedBed,
    Record,
    Version,
    expected_column,
    expected_sum,
    row_of,
)

ROWS_PER_HISTORY = 20
SEEDS = range(6)
SOAK_ROWS = 10_000


def check_rows(seed: int, *, rows: int = ROWS_PER_HISTORY) -> None:
    """Check random rows of a random history, at random snapshots, while it goes on."""
    bed = ExplainedBed(chance=random.Random(seed))
    bed.live(8)
    for number in range(rows):
        bed.live(1)
        key = bed.chance.randrange(KEYS)
        snapshot_id = bed.chance.choice(bed.snapshot_ids)
        where = f"seed {seed}, row {number}: key {key} at snapshot {snapshot_id}"
        check_explanation(bed, key, snapshot_id, where)
        check_status(bed, key, snapshot_id, where)
        check_without(bed, key, snapshot_id, where)


def check_explanation(bed: ExplainedBed, key: int, snapshot_id: int, where: str) -> None:
    found = bed.fed.get(f"rows/explain?id={key}&snapshot_id={snapshot_id}")
    versions = bed.versions(key, snapshot_id)
    row = row_of(bed.records(key, snapshot_id))

    assert found["exists"] is (row is not None), where
    assert [one["compacted"] for one in reversed(found["versions"])] == [
        one.is_compacted for one in versions
    ], where
    if row is None:
        return
    expected = {column: expected_column(versions, group) for group, column in VALUE_OF.items()}
    expected["visits"] = expected_sum(versions)
    expected[KEPT] = expected_column(versions, "sales", of_kept=True)
    for column, why in expected.items():
        at = f"{where}, column {column}"
        assert found["columns"][column]["value"] == row[column], at
        assert reasons(found["columns"][column]) == why.reasons, at
        assert winner(found["columns"][column]) == expected_winner(why, versions), at
    certificate = bed.fed.get(f"rows/certificate?id={key}&snapshot_id={snapshot_id}")
    assert differences(RowCertificate.model_validate(certificate)) == [], where


def check_status(bed: ExplainedBed, key: int, snapshot_id: int, where: str) -> None:
    status = bed.fed.get(f"rows/status?id={key}&snapshot_id={snapshot_id}")
    records = bed.records(key, snapshot_id)

    assert status["exists"] is bool(records), where
    for group in VALUE_OF:
        newest = Version(records=tuple(records)).newest(group)
        state = "absent" if newest is None else "deleted" if newest.clears else "present"
        assert status["groups"][group]["state"] == state, f"{where}, group {group}"
        assert status["groups"][group]["arrival"] == (None if newest is None else place(newest))


def check_without(bed: ExplainedBed, key: int, snapshot_id: int, where: str) -> None:
    """A row without a stream is the row of a table that has never seen it; the same of records from an offset on."""
    stream = bed.chance.choice(list(VALUE_OF))
    offset, partition = bed.chance.randint(0, 4), bed.chance.randrange(2)
    of_partition: dict[str, Any] = {"stream": stream, "from_offset": offset, "partition": partition}
    records, versions = bed.records(key, snapshot_id), bed.versions(key, snapshot_id)
    of_stream: dict[str, Any] = {"stream": stream}
    for without in (of_stream, of_partition):
        left_out = [
            one
            for one in records
            if one.stream == stream
            and ("partition" not in without or one.partition == partition)
            and one.offset >= without.get("from_offset", 0)
        ]
        remaining = [one for one in records if one not in left_out]
        found = bed.fed.suppose({"id": key}, without=without, snapshot_id=snapshot_id)
        at = f"{where}, without {without}"
        if found["unknown"]:
            assert without is of_partition, at
            assert any(may_be_mixed(one, stream) for one in versions), at
        elif any(one.order is not None for one in remaining) or all(
            one.order is not None and not versions[0].is_compacted for one in records
        ):
            # Records without a place in the order make a row of nulls: stored versions do not tell whose they are.
            assert shown(found["row"]) == row_of(remaining), at


def may_be_mixed(version: Version, stream: str) -> bool:
    """Return whether a version of a stream may be of several records."""
    has_stream = any(one.stream == stream for one in version.records)
    return has_stream and not version.is_alone


def place(record: Record) -> dict[str, int]:
    return {"generation": 0, "partition": record.partition, "offset": record.offset}


def reasons(column: dict[str, Any]) -> dict[int, str]:
    found = {one["version"]: one["reason"] for one in column["others"]}
    if column["winner"] is not None:
        found[column["winner"]["version"]] = column["reason"]
    return found


def winner(column: dict[str, Any]) -> Any:
    """Return version, stream, place and time of the winner."""
    found = column["winner"]
    return found and (
        found["version"],
        found["stream"],
        found["topic"],
        found["arrival"],
        found["arrived_at"],
    )


def expected_winner(why: Expected, versions: Sequence[Version]) -> Any:
    if why.winner is None:
        return None
    number, record = why.winner
    newest = versions[number].newest(record.stream)
    assert newest is not None
    # A version has the time of the newest record of a group, which may not be that of the kept value.
    time = iso_utc(record.committed_ms) if newest == record else None
    topic = f"topic-{record.stream}"
    return (number, record.stream, topic, place(record), time)


def shown(row: dict[str, Any] | None) -> dict[str, Any] | None:
    names = [*VALUE_OF.values(), KEPT]
    return None if row is None else {name: row[name] for name in names}


@pytest.mark.parametrize("seed", SEEDS)
def test_every_winner_loser_and_offset_is_that_of_the_model(seed: int) -> None:
    check_rows(seed)


@pytest.mark.soak
def test_ten_thousand_rows() -> None:
    first = int(os.environ.get("EXPLAIN_SEED", "1000"))
    for seed in range(first, first + SOAK_ROWS // ROWS_PER_HISTORY):
        check_rows(seed)
