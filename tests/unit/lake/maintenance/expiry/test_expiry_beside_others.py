"""Expiries, writers, compactions, tag makers and readers with leases, all at once on one table."""

import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from braid.lake import Catalog, CommitConflict, InvalidRequest, ReadAt, Table
from tests.unit.lake.maintenance.given_compactions import read, write
from tests.unit.lake.maintenance.given_expiries import histories, kept_ids, needed, stored

pytestmark = pytest.mark.slow

WRITES = 40
KEYS = 6


class Bed:
    """One table on disk and the actors on it, each of which opens the table for itself."""

    def __init__(self, warehouse: Path, seed: int) -> None:
        self.table = Catalog(str(warehouse)).create_table(
            "db.t",
            columns=[("p", "STRING"), ("k", "INT"), ("v", "INT"), ("w", "STRING")],
            primary_key=["p", "k"],
            options={"bucket": "2"},
        )
        self.seed = seed
        self.written = threading.Event()
        self.leased = 0
        write(self.table, *((k, 0) for k in range(KEYS)))

    def reopened(self) -> Table:
        return Table.open(self.table.path)

    def write(self) -> None:
        """Write until the last round: every snapshot has all keys."""
        try:
            table = self.reopened()
            for number in range(1, WRITES + 1):
                write(table, (number % KEYS, number))
        finally:
            self.written.set()

    def compact(self, table: Table, _: random.Random) -> None:
        table.compact()

    def expire(self, table: Table, chance: random.Random) -> None:
        table.expire(retain_min=1, retain_max=chance.randint(1, 3), older_than_ms=1 << 60)

    def read_leased(self, table: Table, chance: random.Random) -> None:
        """Read a snapshot slowly while it is leased: nothing may be missing."""
        wanted = chance.choice([None, *kept_ids(table)])
        try:
            lease = table.lease(wanted)
        except InvalidRequest:
            return  # expired before it was leased
        with lease:
            first = read(self.reopened(), lease.snapshot_id)
            self.written.wait(chance.random() / 20)
            assert read(self.reopened(), lease.snapshot_id) == first
            assert len(first) == KEYS
        self.leased += 1

    def tag(self, table: Table, chance: random.Random) -> None:
        """Tag a snapshot, and read it later: every tag is complete."""
        name = f"t{chance.getrandbits(60)}"
        try:
            table.create_tag(name, snapshot_id=chance.choice(kept_ids(table)))
        except InvalidRequest:
            return  # expired before it was tagged
        self.written.wait(chance.random() / 20)
        assert self.reopened().scan(at=ReadAt(tag=name)).count() == KEYS
        table.delete_tag(name)

    def again(
        self, what: Callable[[Table, random.Random], None], number: int
    ) -> Callable[[], None]:
        def run() -> None:
            chance, table = random.Random(self.seed * 100 + number), self.reopened()
            while not self.written.is_set():
                try:
                    what(table, chance)
                except CommitConflict:
                    continue  # of a compaction that was too slow

        return run


@pytest.mark.parametrize("seed", range(2))
def test_all_at_once(seed: int, tmp_path: Path) -> None:
    bed = Bed(tmp_path, seed)
    doers = [bed.compact, bed.expire, bed.expire, bed.read_leased, bed.read_leased, bed.tag]

    with ThreadPoolExecutor(len(doers) + 1) as pool:
        running = [pool.submit(bed.again(what, n)) for n, what in enumerate(doers)]
        running.append(pool.submit(bed.write))
        for done in running:
            done.result()

    table = bed.reopened()
    assert bed.leased > 0
    assert table.consumers() == []
    assert all(len(rows) == KEYS for rows in histories(table).values())
    table.expire(retain_min=1, older_than_ms=1 << 60)
    assert len(kept_ids(table)) == 1
    assert needed(table) <= stored(table)
    expected = {k: max(n for n in range(WRITES + 1) if n % KEYS == k) for k in range(KEYS)}
    assert {k: v for _, k, v, _ in read(table)} == expected
