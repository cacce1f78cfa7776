"""Explanations of rows of a table: versions before and after compaction and expiry, in older states, and with deletes."""

from collections.abc import Mapping

import pyarrow as pa
import pytest

from braid.lake import (
    Catalog,
    LimitExceeded,
    ManualClock,
    MemoryFileIO,
    ReadAt,
    Reason,
    Table,
)
from braid.lake.table.operations import explanation

COLUMNS = {"k": "INT", "g": "INT", "a": "INT", "h": "INT", "c": "INT"}
GROUPS = {
    "merge-engine": "partial-update",
    "fields.g.sequence-group": "a",
    "fields.h.sequence-group": "c",
}


def given_table(options: Mapping[str, str], *, clock: ManualClock | None = None) -> Table:
    return Catalog("/wh", file_io=MemoryFileIO(), clock=clock or ManualClock()).create_table(
        "db.t",
        columns=list(COLUMNS.items()),
        primary_key=["k"],
        options={"bucket": "1", **options},
    )


def write(table: Table, *rows: Mapping[str, int], kind: int = 0) -> None:
    batch = pa.Table.from_pylist([dict(row) for row in rows], schema=table.schema.arrow_schema)
    table.write_and_commit(batch, kinds=pa.array([kind] * len(rows), pa.int8()))


def reasons(table: Table, column: str, *, key: int = 1, at: int | None = None) -> list[str]:
    """Return the reasons of a column from the oldest version on; the winner's is in capitals."""
    found = table.explain({"k": key}, at=at)
    assert found.row == table.get({"k": key}, at=at)
    why = found.columns[column]
    return [
        text.upper() if number == why.winner else str(text)
        for number, text in sorted(why.reasons.items())
    ]


def given_history(table: Table) -> None:
    write(table, {"k": 1, "g": 5, "a": 10})
    write(table, {"k": 1, "h": 2, "c": 20})
    write(table, {"k": 1, "g": 4, "a": 11})
    write(table, {"k": 1, "g": 6, "a": 12})


HISTORY = ["newer-sequence", "null-skipped", "late", "NEWER-SEQUENCE"]


def test_every_version_has_its_reason_and_its_snapshot() -> None:
    table = given_table(GROUPS)
    given_history(table)

    found = table.explain({"k": 1})

    assert reasons(table, "a") == HISTORY
    assert [source.snapshot and source.snapshot.id for source in found.versions.sources] == [
        1,
        2,
        3,
        4,
    ]
    assert [row["a"] for row in found.values] == [10, None, 11, 12]


def test_versions_before_a_compaction_are_known_while_their_snapshots_exist() -> None:
    table = given_table(GROUPS)
    given_history(table)
    table.compact(full=True)
    write(table, {"k": 1, "g": 5, "a": 13})
    table.compact(full=True)

    assert reasons(table, "a") == [*HISTORY, "late"]
    assert len(table.live_files(table.snapshot(7))) == 1


def test_what_an_expired_snapshot_had_is_unknown() -> None:
    table = given_table(GROUPS)
    given_history(table)
    table.compact(full=True)
    write(table, {"k": 1, "g": 5, "a": 13})
    write(table, {"k": 1, "h": 3, "c": 21})
    table.expire(retain_max=2, retain_min=1)

    found = table.explain({"k": 1})

    assert reasons(table, "a") == ["UNKNOWN: COMPACTED", "late", "null-skipped"]
    assert reasons(table, "c") == ["unknown: compacted", "null-skipped", "NEWER-SEQUENCE"]
    assert [source.is_compacted for source in found.versions.sources] == [True, False, False]
    # The snapshot of the second version exists, and that of the first does not.
    assert found.versions.sources[0].snapshot is None
    assert found.versions.sources[2].snapshot is not None


def test_expiry_is_noticed_although_the_history_was_read_before() -> None:
    table = given_table(GROUPS)
    given_history(table)
    table.compact(full=True)
    assert len(table.explain({"k": 1}).versions) == 4

    table.expire(retain_max=1, retain_min=1)

    assert reasons(table, "a") == ["UNKNOWN: COMPACTED"]


def test_an_older_state_has_the_versions_of_its_time() -> None:
    table = given_table(GROUPS)
    given_history(table)
    table.compact(full=True)

    assert reasons(table, "a", at=3) == ["NEWER-SEQUENCE", "null-skipped", "late"]
    assert reasons(table, "a", at=2) == ["ONLY-VERSION", "null-skipped"]


def test_a_tag_whose_snapshot_has_expired_has_what_is_stored_in_it() -> None:
    table = given_table(GROUPS)
    given_history(table)
    table.compact(full=True)
    table.create_tag("then")
    write(table, {"k": 1, "g": 9, "a": 14})
    table.expire(retain_max=1, retain_min=1)

    found = table.explain({"k": 1}, at=ReadAt(tag="then"))

    assert found.columns["a"].reasons == {0: Reason.COMPACTED}
    assert found.row == {"k": 1, "g": 6, "a": 12, "h": 2, "c": 20}


def test_a_key_without_versions() -> None:
    table = given_table(GROUPS)
    assert table.explain({"k": 1}).row is None

    given_history(table)

    found = table.explain({"k": 2})
    assert (found.row, len(found.versions), found.columns) == (None, 0, {})


def test_versions_of_a_removed_row_are_shown() -> None:
    table = given_table({"merge-engine": "deduplicate"})
    write(table, {"k": 1, "a": 10})
    write(table, {"k": 1}, kind=3)

    found = table.explain({"k": 1})

    assert found.row is None
    assert found.columns["a"].reasons == {0: Reason.RETRACTED, 1: Reason.RETRACTED}


@pytest.mark.parametrize("engine", ["deduplicate", "partial-update", "aggregation"])
@pytest.mark.parametrize(
    "extra", [{}, {"deletion-vectors.enabled": "true"}, {"changelog-producer": "lookup"}]
)
def test_tables_that_look_rows_up(engine: str, extra: Mapping[str, str]) -> None:
    table = given_table({"merge-engine": engine, **extra})
    for number in range(6):
        write(table, {"k": 1, "a": number}, {"k": number + 2, "a": 0})
        if number % 2:
            table.compact()

    assert reasons(table, "a") == ["newer-sequence"] * 5 + ["NEWER-SEQUENCE"]


def test_first_rows_that_no_compaction_has_decided_are_not_versions() -> None:
    table = given_table({"merge-engine": "first-row"})
    write(table, {"k": 1, "a": 10})
    assert table.explain({"k": 1}).row is None
    table.compact(full=True)
    write(table, {"k": 1, "a": 11})
    assert reasons(table, "a") == ["ONLY-VERSION"]

    table.compact(full=True)

    assert reasons(table, "a") == ["FIRST-ROW", "first-row"]


def test_a_row_that_has_expired_has_versions_and_no_values() -> None:
    clock = ManualClock(start_ms=1_000_000)
    options = {
        "merge-engine": "deduplicate",
        "record-level.expire-time": "10 s",
        "record-level.time-field": "g",
    }
    table = given_table(options, clock=clock)
    write(table, {"k": 1, "g": 1_000, "a": 10})
    assert table.explain({"k": 1}).row is not None

    clock.advance(ms=60_000)

    found = table.explain({"k": 1})
    assert found.row is None
    assert len(found.versions) == 1


def test_where_a_compaction_has_dropped_a_delete_only_what_is_stored_explains_the_row() -> None:
    options = {"merge-engine": "aggregation", "fields.a.aggregate-function": "sum"}
    table = given_table(options | {"aggregation.remove-record-on-delete": "true"})
    write(table, {"k": 1, "a": 10})
    write(table, {"k": 1, "a": 1}, kind=3)
    table.compact(full=True)  # nothing is left of the key
    write(table, {"k": 1, "a": 5})

    # Merged as written, the row would be 6: the delete leaves its value behind.
    assert reasons(table, "a") == ["ONLY-VERSION"]
    assert table.get({"k": 1}) == {"k": 1, "g": None, "a": 5, "h": None, "c": None}


def test_the_number_of_versions_is_bounded() -> None:
    table = given_table({"merge-engine": "deduplicate"})
    for number in range(3):
        write(table, {"k": 1, "a": number})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(explanation, "VERSIONS_MAX", 2)
        with pytest.raises(LimitExceeded, match="3 versions"):
            table.explain({"k": 1})
        table.compact(full=True)

        # The stored version is explained, but not the three before the compaction.
        assert reasons(table, "a") == ["UNKNOWN: COMPACTED"]
