"""Tables on which pypaimon, paimon-rust and we take turns, and the rows that they must hold.

What the rows are is said here once more, by a fold over dictionaries: none of the implementations
is the judge of the others.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, TypeAlias

import pyarrow as pa

from braid.lake import AddColumn, Catalog, LocalFileIO, RenameColumn, Table, parse_type
from tests.interop.peer_driver import NATIVE, PEERS, PYPAIMON, RUST, PeerDriver

Row: TypeAlias = dict[str, Any]
Merge: TypeAlias = Callable[[Row, Row], Row]

OURS: Final = "ours"
SCHEMA: Final = pa.schema(
    [
        pa.field("day", pa.string(), nullable=False),
        pa.field("id", pa.int64(), nullable=False),
        pa.field("version", pa.int32()),
        pa.field("text", pa.string()),
        pa.field("amount", pa.int64()),
        pa.field("price", pa.decimal128(10, 2)),
        pa.field("ratio", pa.float64()),
        pa.field("at", pa.timestamp("us")),
        pa.field("flag", pa.bool_()),
    ]
)
MOMENT: Final = datetime(2026, 1, 1, tzinfo=UTC).replace(tzinfo=None)
KEYS: Final = ("day", "id")
ADDED: Final = ("extra", "INT")
RENAMED: Final = ("text", "words")


def newest(_old: Row, new: Row) -> Row:
    """deduplicate."""
    return new


def newest_version(old: Row, new: Row) -> Row:
    """deduplicate with `sequence.field`."""
    return new if new["version"] >= old["version"] else old


def first(old: Row, _new: Row) -> Row:
    """first-row."""
    return old


def present(old: Row, new: Row) -> Row:
    """partial-update."""
    return {name: old[name] if value is None else value for name, value in new.items()}


def present_and_newest_group(old: Row, new: Row) -> Row:
    """partial-update whose `version` orders `amount` and `price`."""
    group = ("version", "amount", "price")
    winner = new if new["version"] >= old["version"] else old
    return {**present(old, new), **{name: winner[name] for name in group}}


def aggregated(old: Row, new: Row) -> Row:
    """aggregation: `amount` is summed, `price` the least, the others the last."""
    merged = present(old, new)
    for name, function in (("amount", sum), ("price", min)):
        if old[name] is not None and new[name] is not None:
            merged[name] = function([old[name], new[name]])
    return merged


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of table.

    Attributes:
        options: Of the table.
        merge: From the rows before, and the next one, of one key to the row.
        writers: Of the peers, those that write it.
        readers: Of the peers, those that read it.
        partitioned_by: Columns, or none.
        hides_new_rows: Whether rows are seen once they are compacted.
    """

    options: Mapping[str, str]
    merge: Merge = newest
    writers: Sequence[str] = PEERS
    readers: Sequence[str] = PEERS
    partitioned_by: Sequence[str] = ()
    hides_new_rows: bool = False


_PARTIAL_UPDATE: Final = {"merge-engine": "partial-update"}
KINDS: Final[Mapping[str, Kind]] = {
    "deduplicate": Kind(options={}),
    "partitions": Kind(options={}, partitioned_by=("day",)),
    "sequence field": Kind(options={"sequence.field": "version"}, merge=newest_version),
    "partial-update": Kind(options=_PARTIAL_UPDATE, merge=present),
    "sequence groups": Kind(
        options={**_PARTIAL_UPDATE, "fields.version.sequence-group": "amount,price"},
        merge=present_and_newest_group,
        writers=(NATIVE, RUST),
        readers=(NATIVE, RUST),
    ),
    "aggregation": Kind(
        options={
            "merge-engine": "aggregation",
            "fields.amount.aggregate-function": "sum",
            "fields.price.aggregate-function": "min",
        },
        merge=aggregated,
    ),
    "first-row": Kind(options={"merge-engine": "first-row"}, merge=first, hides_new_rows=True),
    "deletion vectors": Kind(options={"deletion-vectors.enabled": "true"}, hides_new_rows=True),
    "avro": Kind(options={"file.format": "avro"}),
    "orc": Kind(options={"file.format": "orc"}, writers=(PYPAIMON, NATIVE)),
}


@dataclass(kw_only=True)
class Turns:
    """A table under way.

    Attributes:
        kind: Of it.
        name: `database.table`.
        peers: Take their turns.
        chance: Draws who does what, and the rows.
        told: What was done, for the message of a failure.
    """

    kind: Kind
    name: str
    warehouse: Path
    peers: PeerDriver
    chance: random.Random
    told: list[str] = field(default_factory=list)
    _columns: list[str] = field(default_factory=lambda: list(SCHEMA.names))
    _rows: dict[tuple[Any, ...], Row] = field(default_factory=dict)
    _seen: dict[tuple[Any, ...], Row] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Let pypaimon create the table."""
        self.peers.create(
            self.name,
            SCHEMA,
            keys=KEYS,
            partition_keys=list(self.kind.partitioned_by),
            options={"bucket": "2", **self.kind.options},
        )

    def write(self, writer: str) -> None:
        """Let somebody commit some rows."""
        rows = [self._draw() for _ in range(8)]
        self.told.append(f"{writer} writes {rows}")
        data = self._table_of(rows)
        if writer == OURS:
            self._ours().write_and_commit(data)
        else:
            self.peers.write(writer, self.name, data)
        for row in rows:
            key = tuple(row[name] for name in KEYS)
            self._rows[key] = self.kind.merge(self._rows[key], row) if key in self._rows else row
        if not self.kind.hides_new_rows:
            self._seen = dict(self._rows)

    def compact(self) -> None:
        """Compact; only we can."""
        self.told.append("ours compacts")
        self._ours().compact()
        self._seen = dict(self._rows)

    def add_column(self, who: str) -> None:
        """Let somebody add a column."""
        name, kind = ADDED
        self.told.append(f"{who} adds {name}")
        if who == OURS:
            self._ours().alter(AddColumn(path=(name,), type=parse_type(kind)))
        else:
            self.peers.do("add_column", engine=who, table=self.name, name=name, kind=kind)
        self._columns.append(name)
        for rows in (self._rows, self._seen):
            rows.update({key: {**row, name: None} for key, row in rows.items()})

    def rename_column(self, who: str) -> None:
        """Let somebody rename a column."""
        old, new = RENAMED
        self.told.append(f"{who} renames {old}")
        if who == OURS:
            self._ours().alter(RenameColumn(path=(old,), name=new))
        else:
            self.peers.do("rename_column", engine=who, table=self.name, name=old, new_name=new)
        self._columns[self._columns.index(old)] = new
        for rows in (self._rows, self._seen):
            rows.update(
                {
                    key: {new if name == old else name: value for name, value in row.items()}
                    for key, row in rows.items()
                }
            )

    def look(self) -> None:
        """Check what everybody reads, and what we look up."""
        expected = sorted(self._seen.values(), key=_key)
        table = self._ours()
        for reader in (OURS, *self.kind.readers):
            found = (
                table.scan().to_arrow() if reader == OURS else self.peers.read(reader, self.name)
            )
            rows = [] if found is None else sorted(found.to_pylist(), key=_key)
            assert rows == expected, f"{reader} reads other rows\n" + "\n".join(self.told)
        for row in self.chance.sample(expected, min(3, len(expected))):
            assert table.get({name: row[name] for name in KEYS}) == row, "\n".join(self.told)

    def _ours(self) -> Table:
        return Catalog(str(self.warehouse), file_io=LocalFileIO()).table(self.name)

    def _draw(self) -> Row:
        row: Row = {
            "day": self.chance.choice(["2026-01-01", "2026-01-02"]),
            "id": self.chance.randrange(6),
            "version": self.chance.randrange(20),
            "text": self.chance.choice(["a", "é", "", "日本", "x" * 40]),
            "amount": self.chance.randrange(-(10**9), 10**9),
            "price": Decimal(self.chance.randrange(-(10**9), 10**9)) / 100,
            "ratio": self.chance.choice([0.0, 1.5, -2.25, 1e300]),
            "at": MOMENT + timedelta(microseconds=self.chance.randrange(10**15)),
            "flag": self.chance.random() < 0.5,
            ADDED[0]: self.chance.randrange(100),
        }  # fmt: skip
        row[RENAMED[1]] = row["text"]
        given = {name: row[name] for name in self._columns}
        for name in self._columns:
            if name not in (*KEYS, "version") and self.chance.random() < 0.3:
                given[name] = None
        return given

    def _table_of(self, rows: Sequence[Row]) -> pa.Table:
        types = {RENAMED[1]: pa.string(), ADDED[0]: pa.int32()}
        fields = [
            SCHEMA.field(name) if name in SCHEMA.names else pa.field(name, types[name])
            for name in self._columns
        ]
        return pa.Table.from_pylist(list(rows), schema=pa.schema(fields))


def _key(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in KEYS)
