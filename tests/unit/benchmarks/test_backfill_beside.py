"""Times of commits of a stream, of which the first snapshots have expired."""

from pathlib import Path

import numpy as np

from benchmarks.backfill_beside import commit_times_ms
from tests.unit.backfill.bed import BackfillBed


def test_records_of_expired_snapshots_have_no_time(tmp_path: Path) -> None:
    bed = BackfillBed(tmp_path)
    position = None
    for number in range(4):
        position = bed.live({"id": number, "version": 1}, position=position)
    before = commit_times_ms(bed.table, 4)
    bed.table.expire(retain_min=1, retain_max=2, older_than_ms=1 << 60)

    found = commit_times_ms(bed.table, 4)

    assert not np.isnan(before).any()
    assert np.isnan(found).tolist() == [True, True, True, False]
    assert found[3] == before[3]
