"""Outcomes of pushed records of random histories equal a model: won, lost or aggregated, or unknown once they were compacted."""

import random
from dataclasses import dataclass, field
from typing import Any

import pytest

from braid.service.control.read_after import PushedPlace, ReadAfter, key_digest, to_token
from tests.support.fed_table import FedTable, Message

KEYS = (1, 2)
PARTITIONS = 2
BATCHES = 14
SEEDS = range(6)
ORDER = ("won", "aggregated", "unknown", "lost")
DECLARATION: dict[str, Any] = {
    "columns": [
        {"name": "id", "type": "BIGINT"},
        {"name": "paid", "type": "INT"},
        {"name": "note", "type": "STRING"},
        {"name": "visits", "type": "BIGINT", "aggregate": {"function": "sum"}},
        {"name": "version", "type": "INT"},
        {"name": "carrier", "type": "STRING"},
    ],
    "primary_key": ["id"],
    "sequence_groups": [
        {
            "name": "sales",
            "ordering": ["version"],
            "columns": ["paid", "note", "visits"],
            "keep": ["note"],
        },
        {"name": "parcels", "columns": ["carrier"]},
    ],
}
STREAMS: dict[str, dict[str, Any]] = {
    "sales": {"topic": "sales", "sequence_group": "sales"},
    "parcels": {"topic": "parcels", "sequence_group": "parcels", "partitioned_by_key": True},
}


@dataclass(frozen=True, slots=True)
class Record:
    """A pushed record; the batch is the number of its micro-batch."""

    batch: int
    key: int
    partition: int
    offset: int
    version: int
    has_note: bool
    has_visits: bool

    @property
    def order(self) -> tuple[int, int, int]:
        return self.version, self.offset, self.partition

    def message(self) -> Message:
        value: dict[str, Any] = {"id": self.key, "version": self.version, "paid": self.offset}
        if self.has_note:
            value["note"] = f"{self.partition}/{self.offset}"
        if self.has_visits:
            value["visits"] = 1
        return Message(value=value, partition=self.partition)


@dataclass(kw_only=True)
class History:
    """A table, and the records of the stream `sales` in it."""

    chance: random.Random
    fed: FedTable = field(
        default_factory=lambda: FedTable(
            declaration=DECLARATION, streams=STREAMS, partitions=PARTITIONS
        )
    )
    records: list[Record] = field(default_factory=list)
    batches: int = 0

    def live(self) -> None:
        """Commit a micro-batch, or compact."""
        if self.chance.random() < 0.15:
            self.fed.table.compact(full=self.chance.random() < 0.5)
        if self.chance.random() < 0.3:
            key = self.chance.choice(KEYS)
            self.fed.feed("parcels", Message(value={"id": key, "carrier": "ACME"}))
        counts = [sum(one.partition == p for one in self.records) for p in range(PARTITIONS)]
        batch = []
        for _ in range(self.chance.randint(1, 3)):
            partition = self.chance.randrange(PARTITIONS)
            batch.append(
                Record(
                    batch=self.batches,
                    key=self.chance.choice(KEYS),
                    partition=partition,
                    offset=counts[partition],
                    version=self.chance.randint(0, 6),
                    has_note=self.chance.random() < 0.4,
                    has_visits=self.chance.random() < 0.3,
                )
            )
            counts[partition] += 1
        self.records += batch
        self.batches += 1
        self.fed.feed("sales", *(one.message() for one in batch))

    def has_folded(self, batch: int) -> bool:
        """Return whether records of a micro-batch were of one key."""
        keys = [one.key for one in self.records if one.batch == batch]
        return len(set(keys)) < len(keys)

    def of(self, key: int) -> list[Record]:
        return [one for one in self.records if one.key == key]

    def outcomes(self, key: int) -> dict[tuple[int, int], dict[str, Any]]:
        """Return the outcomes of the records of a key, by partition and offset."""
        schema = self.fed.table.schema
        after = ReadAfter(
            table="shop.orders",
            stream="sales",
            topic_id="sales",
            records={
                PushedPlace(one.partition, one.offset): key_digest(schema, {"id": one.key})
                for one in self.records
            },
        )
        answer = self.fed.get(f"rows/outcomes?id={key}&read_after={to_token(after)}")
        assert answer["left_out"] == 0
        return {(one["partition"], one["offset"]): one for one in answer["records"]}


def expected(record: Record, history: History) -> dict[str, set[str | None]]:
    """Return the outcomes that each column may have; None: it may be left out."""
    records = history.of(record.key)
    newest = max(records, key=lambda one: one.order)
    in_order = "won" if record is newest else "lost"
    columns: dict[str, set[str | None]] = {"paid": {in_order}, "version": {in_order}}
    if record.has_note:
        noted = max((one for one in records if one.has_note), key=lambda one: one.order)
        columns["note"] = {"won"} if record is noted else {"lost"}
    together = [one for one in records if one.batch == record.batch]
    if record is not max(together, key=lambda one: one.order) and columns.get("note") != {"won"}:
        # Folded before it was written: what it had of a kept column is not known.
        columns["note"] = {None}
    if any(one.has_visits for one in together):
        # The version has the sum of its records, and does not say which of them had a value.
        has_one = len({one.batch for one in records if one.has_visits}) == 1
        columns["visits"] = {"aggregated"}
        if has_one:
            columns["visits"].add("unknown" if history.has_folded(record.batch) else "won")
        if not record.has_visits:
            columns["visits"].add(None)
    return columns


def by_column(found: dict[str, Any]) -> dict[str, str]:
    return {name: each["outcome"] for each in found["columns"] for name in each["columns"]}


@pytest.mark.parametrize("seed", SEEDS)
def test_outcomes_equal_a_model(seed: int) -> None:
    history = History(chance=random.Random(seed))
    for _ in range(BATCHES):
        history.live()
        key = history.chance.choice(KEYS)
        records, found = history.of(key), history.outcomes(key)

        assert found.keys() == {(one.partition, one.offset) for one in records}
        for record in records:
            answer = found[record.partition, record.offset]
            own, columns = by_column(answer), expected(record, history)
            assert own.keys() <= columns.keys(), (seed, record)
            for name, allowed in columns.items():
                assert own.get(name) in allowed, (seed, record, name)
            assert answer["outcome"] == next(one for one in ORDER if one in own.values())


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_not_known_any_more_is_never_guessed(seed: int) -> None:
    history = History(chance=random.Random(seed))
    for _ in range(BATCHES):
        history.live()
    history.fed.table.compact(full=True)
    history.fed.table.expire(retain_min=1, retain_max=1)
    last = history.batches
    history.live()

    for key in KEYS:
        found = history.outcomes(key)
        for record in history.of(key):
            answer = found[record.partition, record.offset]
            own, columns = by_column(answer), expected(record, history)
            for name, outcome in own.items():
                assert outcome == "unknown" or outcome in columns[name], (seed, record, name)
            # Records that give values are found in whatever was compacted.
            won = {name for name, allowed in columns.items() if allowed == {"won"}}
            assert {name for name, one in own.items() if one == "won"} >= won, (seed, record)
            if answer["outcome"] == "unknown":
                assert answer["reason"] == "unknown: compacted", (seed, record)
                assert record.batch < last or own["visits"] == "unknown"
