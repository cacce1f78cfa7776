"""Any split of a history into backfills and live records gives the rows of the model, whatever is killed.

The model knows nothing of generations and files: per key the record with the largest declared value decides, of
equal ones that of the stream, the one that was produced last, and only then that of the files, in their order.
"""

import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import HealthCheck, given, settings, strategies as st

from braid.backfill.backfill import Target
from braid.backfill.read_chunk import ReadChunk, Source
from braid.lake import StorageUnavailable, StreamFenced
from tests.unit.backfill.backwards_pool import BackwardsPool, SentClock, spread
from tests.unit.backfill.bed import PARCELS, BackfillBed

KEPT: dict[str, Any] = PARCELS | {
    "sequence_groups": [
        {"name": "s", "ordering": ["version"], "columns": ["city", "weight"], "keep": ["weight"]}
    ]
}
BY_ARRIVAL: dict[str, Any] = PARCELS | {
    "sequence_groups": [{"name": "s", "columns": ["version", "city", "weight"]}]
}
FEW = settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
FILES = 2


class Killed(BaseException):
    """The end of a process."""


@FEW
@given(st.randoms(use_true_random=False), st.sampled_from([PARCELS, KEPT, BY_ARRIVAL]))
def test_any_split_gives_the_rows_of_the_model(chance: random.Random, spec: dict[str, Any]) -> None:
    with TemporaryDirectory() as folder:
        clock = SentClock()
        bed = BackfillBed(Path(folder), spec=spec, clock=clock, stream={"partitioned_by_key": True})
        history = [given_record(chance, number) for number in range(chance.randint(4, 24))]
        older, newer = split(chance, history)
        for number in range(FILES):
            bed.write_json(f"{number}.jsonl", older[number::FILES])
        live, backfill = steps_of_stream(bed, chance, newer), steps_of_backfill(bed, chance)
        running = [live, backfill]
        while running:
            step = chance.choice(running)
            if next(step, "over") == "over":
                running.remove(step)
            if chance.random() < 0.2:
                bed.table.compact(full=chance.random() < 0.5)

        by_files = [record for number in range(FILES) for record in older[number::FILES]]
        assert found_rows(bed) == expected(spec, [*by_files, *newer])
        bed.table.compact(full=True)
        assert found_rows(bed) == expected(spec, [*by_files, *newer])
        positions = bed.table.committer().stream_positions()
        assert positions["s/backfill/history"].account.records == len(older)
        if newer:
            assert positions["s"].account.records == len(newer)


def split(
    chance: random.Random, history: list[dict[str, Any]]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return which records come from files, and which from the stream; each keeps its order."""
    is_older = [chance.random() < 0.6 for _ in history]
    is_older[0] = True
    older = [record for record, old in zip(history, is_older, strict=True) if old]
    return older, [record for record, old in zip(history, is_older, strict=True) if not old]


def steps_of_stream(
    bed: BackfillBed, chance: random.Random, records: list[dict[str, Any]]
) -> Iterator[None]:
    while records:
        count = chance.randint(1, 4)
        bed.live(*records[:count])
        records = records[count:]
        yield


def steps_of_backfill(bed: BackfillBed, chance: random.Random) -> Iterator[None]:
    """Run the backfill, which is killed at any of its chunks, and overtaken by others of its kind."""
    for _ in range(chance.randint(0, 3)):
        left = chance.randint(0, 6)
        with suppress(Killed, StreamFenced):
            bed.backfill(rows=1, source_of=killed_after(bed, left, chance)).run()
        yield
    options = chance.choice(
        [{"rows": 1}, {"rows": 5}, {}, spread(BackwardsPool(lost=2)), spread(BackwardsPool())]
    )
    with suppress(StorageUnavailable):
        bed.backfill(**options).run()
    bed.backfill().run()


def killed_after(bed: BackfillBed, left: int, chance: random.Random) -> Callable[[Target], Source]:
    def some(chunks: Iterator[ReadChunk]) -> Iterator[ReadChunk]:
        for number, chunk in enumerate(chunks):
            if number == left:
                raise Killed
            yield chunk
            if chance.random() < 0.1:
                bed.backfill().run()

    return bed.through(some)


def given_record(chance: random.Random, number: int) -> dict[str, Any]:
    record: dict[str, Any] = {
        "id": chance.randint(1, 3),
        "version": chance.randint(1, 3),
        "city": f"{number}",
    }
    if chance.random() < 0.6:
        record["weight"] = chance.choice([None, number])
    return record


def expected(spec: dict[str, Any], records: list[dict[str, Any]]) -> dict[int, tuple[Any, ...]]:
    """Return city and weight by key: of the model, in the order in which records count."""
    (group,) = spec["sequence_groups"]
    has_order, keeps = "ordering" in group, "keep" in group
    rows: dict[int, dict[str, Any]] = {}
    for record in sorted(records, key=lambda one: one["version"] if has_order else 0):
        row = rows.setdefault(record["id"], {"weight": None})
        row["city"] = record["city"]
        if not keeps or "weight" in record:
            row["weight"] = record.get("weight")
    return {key: (row["city"], row["weight"]) for key, row in rows.items()}


def found_rows(bed: BackfillBed) -> dict[int, tuple[Any, ...]]:
    return {
        key: (city, None if weight is None else int(weight))
        for key, city, weight in bed.rows("id", "city", "weight")
    }
