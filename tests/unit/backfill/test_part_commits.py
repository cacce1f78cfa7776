"""Backfills whose parts are written by others: the same rows and files of refused records as of one process."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from braid.backfill.read_chunk import PartBound
from braid.lake import (
    AddColumn,
    InvalidRequest,
    LimitExceeded,
    StorageUnavailable,
    StreamFenced,
    parse_type,
)
from tests.unit.backfill.backwards_pool import BackwardsPool, SentClock, spread
from tests.unit.backfill.bed import PARCELS, BackfillBed

WHOLE_ROWS: dict[str, Any] = PARCELS | {"merge_engine": "deduplicate", "sequence_groups": []}
FILES = 5
ROWS = 5 * FILES + 5 * sum(range(FILES + 1))


def write_files(bed: BackfillBed, count: int = FILES) -> None:
    """Write files whose later rows win over the earlier ones of the same key.

    Earlier files are longer, so that the numbers of rows alone would let theirs win.
    """
    for number in range(count):
        rows = [{"id": key, "version": 1, "city": f"{number}.{key}"} for key in range(4)]
        first = [{"id": 0, "version": 1, "city": "first"}] * 5 * (count - number)
        bed.write_json(f"{number}.jsonl", [*first, *rows, {"id": 9, "version": number}])


@pytest.mark.parametrize("spec", [PARCELS, WHOLE_ROWS], ids=["group", "whole rows"])
def test_rows_come_in_the_order_of_files_whichever_is_written_first(
    tmp_path: Path, spec: dict[str, Any]
) -> None:
    bed = BackfillBed(tmp_path, clock=SentClock(), spec=spec)
    write_files(bed)
    pool = BackwardsPool()

    position = bed.backfill(**spread(pool)).run()
    again = bed.backfill(**spread(pool)).run()

    assert bed.rows("id", "city") == [(key, f"{FILES - 1}.{key}") for key in range(4)] + [(9, None)]
    assert position.account.records == ROWS
    assert again.account == position.account
    assert pool.done == FILES


def test_small_files_are_one_part(tmp_path: Path) -> None:
    bed = BackfillBed(tmp_path, clock=SentClock())
    write_files(bed)
    pool = BackwardsPool()

    bed.backfill(**spread(pool, part=PartBound())).run()

    assert pool.done == 1
    assert len(bed.rows("id")) == 5


def test_one_process_continues_what_others_have_begun(tmp_path: Path) -> None:
    bed = BackfillBed(tmp_path, clock=SentClock())
    write_files(bed)
    with pytest.raises(StorageUnavailable, match="lost"):
        bed.backfill(**spread(BackwardsPool(lost=5))).run()
    begun = bed.table.committer().stream_positions()["s/backfill/history"].account.records

    position = bed.backfill().run()

    assert 0 < begun < position.account.records == ROWS
    assert bed.rows("id", "city")[0] == (0, f"{FILES - 1}.0")


def test_files_behind_a_part_that_is_lost_are_deleted(tmp_path: Path) -> None:
    bed = BackfillBed(tmp_path, clock=SentClock())
    write_files(bed)

    with pytest.raises(StorageUnavailable, match="lost"):
        bed.backfill(**spread(BackwardsPool(lost=3))).run()

    assert bed.rows("id") == []
    assert not list(Path(bed.table.path).rglob("data-*"))


def test_refused_rows_are_kept_and_bounded(tmp_path: Path) -> None:
    bed = BackfillBed(tmp_path, clock=SentClock())
    write_files(bed, 2)
    bed.write_json("3.jsonl", [{"id": 5, "version": 1}, {"id": "x"}, {"version": 1}])

    with pytest.raises(
        LimitExceeded, match="refused records: 2, allowed: 1; the last one: missing"
    ):
        bed.backfill(**spread(BackwardsPool(), rejects_max=1)).run()
    assert len(bed.rows("id")) == 5
    bed.rejects.unlink()
    position = bed.backfill(**spread(BackwardsPool())).run()

    rejects = [json.loads(line) for line in bed.rejects.read_text().splitlines()]
    assert [(one["file"], one["row"]) for one in rejects] == [
        (str(bed.files / "3.jsonl"), 1),
        (str(bed.files / "3.jsonl"), 2),
    ]
    assert position.account.dead_lettered == 2
    assert len(bed.rows("id")) == 6


def test_rows_that_only_the_table_refuses_are_kept_as_well(tmp_path: Path) -> None:
    sums = {
        "name": "sums",
        "type": "TINYINT",
        "aggregate": {"function": "sum", "on_overflow": "fail"},
    }
    spec = PARCELS | {
        "columns": [*PARCELS["columns"], sums],
        "merge_engine": "aggregation",
        "sequence_groups": [],
        "default_aggregate": "max",
    }
    bed = BackfillBed(tmp_path, clock=SentClock(), spec=spec)
    bed.write_json("a.jsonl", [{"id": 1, "sums": 100}, {"id": 1, "sums": 100}, {"id": 2}])

    position = bed.backfill(**spread(BackwardsPool())).run()

    assert bed.rows("id", "sums") == [(1, 100), (2, None)]
    assert position.account.dead_lettered == 1


def test_a_damaged_file_ends_the_backfill_after_the_files_before_it(tmp_path: Path) -> None:
    bed = BackfillBed(tmp_path, clock=SentClock())
    write_files(bed, 2)
    (bed.files / "3.jsonl.gz").write_bytes(b"no gzip")

    with pytest.raises(InvalidRequest, match=r"3\.jsonl\.gz cannot be read"):
        bed.backfill(**spread(BackwardsPool())).run()

    assert bed.rows("id", "weight") == [(key, None) for key in (0, 1, 2, 3, 9)]


def test_a_change_of_the_tables_schema_meanwhile_is_followed(tmp_path: Path) -> None:
    bed = BackfillBed(tmp_path, clock=SentClock())
    write_files(bed)
    changes = [AddColumn(path=("note",), type=parse_type("STRING"))]

    class AlteringPool(BackwardsPool):
        def work(self) -> None:
            super().work()
            if changes:
                bed.table.alter(changes.pop())

    position = bed.backfill(**spread(AlteringPool())).run()

    assert position.account.records == ROWS
    assert bed.rows("id", "city")[0] == (0, f"{FILES - 1}.0")


def test_another_process_of_the_same_backfill_fences_the_first(tmp_path: Path) -> None:
    bed = BackfillBed(tmp_path, clock=SentClock())
    write_files(bed)
    bed.write_json("9.jsonl", [{"id": 1, "version": 1, "weight": "2.5"}])

    class OvertakenPool(BackwardsPool):
        def work(self) -> None:
            super().work()
            bed.backfill().run()

    with pytest.raises(StreamFenced):
        bed.backfill(**spread(OvertakenPool())).run()

    assert bed.rows("id", "weight")[1] == (1, Decimal("2.50"))
