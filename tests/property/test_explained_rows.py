"""Explanations of random rows of random histories equal a model: every winner, loser, reason and offset. So do the statuses of the
rows, the completeness of the table, the certificates, and the rows as they would be."""

import os
import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from braid.formats.row_certificate import differences
from braid.schemas import RowCertificate
from tests.property.explained_bed import At, ExplainedBed
from tests.property.explained_rows import (
    HIGHEST,
    KEPT,
    KEYS,
    VALUE_OF,
    Expected,
    Version,
    expected_column,
    expected_status,
    expected_sum,
    is_complete,
    place,
    row_of,
    time_text,
)
from tests.support.fed_table import TABLE

SEEDS = range(4)
SOAK_PARTS, SOAK_HISTORIES, SOAK_ROWS = 10, 25, 40
"""Together 10,000 rows."""


def check_rows(seed: int, *, rows: int) -> None:
    """Check random rows of a random history, at random states, while it goes on."""
    bed = ExplainedBed(chance=random.Random(seed))
    bed.live(8)
    for number in range(rows):
        bed.live(1)
        key, at = bed.chance.randrange(KEYS), bed.some_state()
        where = f"seed {seed}, row {number}: key {key} at {at}"
        check_explanation(bed, key, at, where)
        check_certificate(bed, key, at, where)
        check_status(bed, key, at, where)
        check_completeness(bed, at, where)
        check_without(bed, key, at, where)
        check_what_if(bed, key, at, where)


def check_explanation(bed: ExplainedBed, key: int, at: At, where: str) -> None:
    found = bed.fed.get(f"rows/explain?id={key}{at.query}")
    versions, records = bed.versions(key, at), bed.records(key, at)

    assert found["exists"] is bool(records), where
    served = bed.fed.client.get(f"{TABLE}/rows?id={key}{at.query}")
    assert served.status_code == (200 if records else 404), where
    assert shown(served.json().get("row")) == row_of(records), where
    assert_versions(found["versions"], versions, where)
    assert_columns(found["columns"], versions, row_of(records) or {}, where)


def assert_versions(found: Sequence[Any], versions: Sequence[Version], where: str) -> None:
    """Compare the versions of an answer, newest first, with those of the model: their streams, places and times."""
    assert [one["version"] for one in reversed(found)] == list(range(len(versions))), where
    for shown, version in zip(reversed(found), versions, strict=True):
        newest = {group: version.newest(group) for group in VALUE_OF}
        assert shown["compacted"] is version.is_compacted, where
        assert shown["groups"] == {
            group: {
                "stream": group,
                "topic": f"topic-{group}",
                "arrival": place(record),
                "ordering": expected_status([record], group, at_ms=0)["ordering"],
                "arrived_at": time_text(record.committed_ms),
            }
            for group, record in newest.items()
            if record is not None
        }, where
        streams = {record.stream for record in version.records}
        if not version.is_compacted and shown["snapshot_id"] is not None:
            assert {shown["stream"]} == streams, where
        assert shown["stream"] is None or {shown["stream"]} == streams, where


def assert_columns(
    found: dict[str, Any], versions: Sequence[Version], row: dict[str, Any], where: str
) -> None:
    expected = {column: expected_column(versions, group) for group, column in VALUE_OF.items()}
    expected |= dict.fromkeys(("visits", HIGHEST), expected_sum(versions))
    expected[KEPT] = expected_column(versions, "sales", of_kept=True)
    for column, why in expected.items() if versions else ():
        at = f"{where}, column {column}"
        assert found[column]["value"] == row[column], at
        assert reasons(found[column]) == why.reasons, at
        assert winner(found[column]) == expected_winner(why, versions), at


def check_certificate(bed: ExplainedBed, key: int, at: At, where: str) -> None:
    """A certificate has the row of the model, merges again, and does not if one of its values is another."""
    answer = bed.fed.get(f"rows/certificate?id={key}{at.query}")
    certificate = RowCertificate.model_validate(answer)
    assert differences(certificate) == [], where
    row = row_of(bed.records(key, at))
    assert shown(answer["row"]) == row, where
    assert len(answer["records"]) == len(bed.versions(key, at)), where
    if row is not None:
        column = bed.chance.choice(list(row))
        answer["row"][column] = 99
        forged = differences(RowCertificate.model_validate(answer))
        assert [one.column for one in forged] == [column], where


def check_status(bed: ExplainedBed, key: int, at: At, where: str) -> None:
    status = bed.fed.get(f"rows/status?id={key}{at.query}")
    records = bed.records(key, at)

    assert status["exists"] is bool(records), where
    for group in VALUE_OF:
        expected = expected_status(records, group, at_ms=at.at_ms)
        assert status["groups"][group] == expected, f"{where}, group {group}"
    states = {group: one["state"] for group, one in status["groups"].items()}
    assert status["complete"] is is_complete(states, exists=bool(records)), where


def check_completeness(bed: ExplainedBed, at: At, where: str) -> None:
    """The counts of a table are those of the statuses of its rows; those of the newest state may be a minute old."""
    if not at.fields:
        return
    found = bed.fed.get(f"completeness?{at.query.removeprefix('&')}")
    rows = [records for key in range(KEYS) if (records := bed.records(key, at))]
    states = [
        {group: expected_status(one, group, at_ms=at.at_ms)["state"] for group in VALUE_OF}
        for one in rows
    ]
    assert found["rows"] == len(rows), where
    assert found["complete"] == sum(is_complete(one, exists=True) for one in states), where
    for group in VALUE_OF:
        counts = Counter(one[group] for one in states)
        assert found["groups"][group]["stream"] == group, where
        assert found["groups"][group]["rows"] == {
            state: counts[state] for state in ("absent", "present", "stale", "deleted")
        }, f"{where}, group {group}"


def check_without(bed: ExplainedBed, key: int, at: At, where: str) -> None:
    """A row without a stream is the row of a table that has never seen it; the same of records from an offset on."""
    stream = bed.chance.choice(list(VALUE_OF))
    offset, partition = bed.chance.randint(0, 4), bed.chance.randrange(2)
    of_partition: dict[str, Any] = {"stream": stream, "from_offset": offset, "partition": partition}
    records, versions = bed.records(key, at), bed.versions(key, at)
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
        found = bed.fed.suppose({"id": key}, without=without, **at.fields)
        what = f"{where}, without {without}"
        if found["unknown"]:
            assert without is of_partition, what
            assert any(may_be_mixed(one, stream) for one in versions), what
        elif any(one.order is not None for one in remaining) or all(
            one.order is not None and not versions[0].is_compacted for one in records
        ):
            # Records without a place in the order make a row of nulls: stored versions do not tell whose they are.
            assert shown(found["row"]) == row_of(remaining), what


def check_what_if(bed: ExplainedBed, key: int, at: At, where: str) -> None:
    """A row with one more record is the row of a table that has taken it in."""
    arriving = bed.arriving(key, at)
    message = arriving.message
    record = {"value": message.text, "partition": message.partition}
    found = bed.fed.suppose(
        {"id": key}, what_if={"stream": arriving.stream, "record": record}, **at.fields
    )
    records = [*bed.records(key, at), arriving]
    versions = [*bed.versions(key, at), Version(records=(arriving,))]
    row, what = row_of(records), f"{where}, with {arriving}"

    assert shown(found["row"]) == row, what
    assert row is not None
    assert_columns(found["columns"], versions, row, what)
    before = row_of(bed.records(key, at)) or dict.fromkeys(row)
    changed = {name: one for name, one in found["changed"].items() if name in row}
    assert changed == {
        name: {"before": before[name], "after": value}
        for name, value in row.items()
        if before[name] != value
    }, what
    for group in VALUE_OF:
        expected = expected_status(records, group, at_ms=at.at_ms)
        assert found["status"]["groups"][group] == expected, f"{what}, group {group}"


def may_be_mixed(version: Version, stream: str) -> bool:
    """Return whether a version of a stream may be of several records."""
    has_stream = any(one.stream == stream for one in version.records)
    return has_stream and not version.is_alone


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
    time = time_text(record.committed_ms) if newest == record else None
    topic = f"topic-{record.stream}"
    return (number, record.stream, topic, place(record), time)


def shown(row: dict[str, Any] | None) -> dict[str, Any] | None:
    names = [*VALUE_OF.values(), KEPT, HIGHEST]
    return None if row is None else {name: row[name] for name in names}


@pytest.mark.parametrize("seed", SEEDS)
def test_every_winner_loser_and_offset_is_that_of_the_model(seed: int) -> None:
    check_rows(seed, rows=20)


@pytest.mark.soak
@pytest.mark.parametrize("part", range(SOAK_PARTS))
def test_ten_thousand_rows(part: int) -> None:
    first = int(os.environ.get("EXPLAIN_SEED", "1000")) + part * SOAK_HISTORIES
    for seed in range(first, first + SOAK_HISTORIES):
        check_rows(seed, rows=SOAK_ROWS)
