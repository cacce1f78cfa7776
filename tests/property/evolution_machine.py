"""Random changes of a schema between random operations on the table, against a dictionary.

The model keeps values by field id, whatever their columns are called and of whatever type they are by
now, and the columns of every schema that there was. So a reader of any snapshot, under its schema or the
newest, has to see the same values under the names and types of that schema; and a process that has
opened the table long ago sees and does nothing wrong.
"""

import itertools
import operator
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from lake import (
    Catalog,
    Condition,
    InvalidRequest,
    Machine,
    ManualClock,
    MemoryFileIO,
    SchemaChange,
    SchemaMismatch,
    Table,
)
from lake.snapshots.snapshot_store import SnapshotStore
from tests.property.evolving_columns import (
    Column,
    Values,
    copy_of,
    has_homonyms,
    shown_row,
    take_ids,
)
from tests.property.schema_steps import Roles, drawn_change, refused_changes

PATH: Final = "/wh/db.db/t"
DELETE: Final = 3
K, P, G, A, B = range(5)
"""Ids of the columns that have a part in keys or options."""


def first_columns() -> list[Column]:
    """Return the columns that the table is made with."""
    return [
        Column("k", "count", "INT", nullable=False),
        Column("p", "text", "STRING", nullable=False),
        Column("g", "count", "INT"),
        Column("a", "count", "BIGINT"),
        Column("b", "half", "DOUBLE"),
        Column("n", "count", "INT", nullable=False),
        Column("c", "whole", "STRING"),
        Column("s", "text", "STRING"),
        Column("d", "day", "DATE"),
        Column(
            "r",
            "row",
            fields=[
                Column("a", "whole", "INT"),
                Column("b", "row", fields=[Column("a", "half", "FLOAT")]),
            ],
        ),
        Column("l", "list", fields=[Column("a", "text", "STRING")]),
        Column("m", "map", fields=[Column("a", "day", "DATE"), Column("b", "whole", "INT")]),
    ]


Row: TypeAlias = Values
Key: TypeAlias = tuple[int, str]
Rows: TypeAlias = dict[Key, Row]


def replace_row(_: Row | None, given: Row, kind: int) -> Row | None:
    """Deduplicate: the last record is the row, a -D removes it."""
    return None if kind == DELETE else given


def update_row(old: Row | None, given: Row, _: int) -> Row:
    """Partial-update: a and b go with the newest g, of all else the last that is not null."""
    if old is None:
        return given
    group = {id_: given.get(id_) for id_ in (G, A, B)}
    if group[G] is None or (old.get(G) is not None and old[G] > group[G]):
        group = {id_: old.get(id_) for id_ in (G, A, B)}
    return {**old, **not_null(given), **group}


def add_up(old: Row | None, given: Row, _: int) -> Row:
    """Aggregation: g is a sum, a a maximum, of all else the last that is not null."""
    if old is None:
        return given
    row = {**old, **not_null(given)}
    both = {id_: [one[id_] for one in (old, given) if one.get(id_) is not None] for id_ in (G, A)}
    row[G] = sum(both[G]) if both[G] else None
    row[A] = max(both[A], default=None)
    return row


def keep_first(old: Row | None, given: Row, _: int) -> Row:
    """First-row: the first record is the row."""
    return given if old is None else old


def not_null(row: Row) -> Row:
    return {id_: value for id_, value in row.items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class Engine:
    """A merge engine.

    Attributes:
        options: That say it to the table.
        apply: From a key's row, if it has one, a record and its kind to the row.
        named: Ids of the columns that the options name.
    """

    options: Mapping[str, str]
    apply: Callable[[Row | None, Row, int], Row | None]
    named: frozenset[int] = frozenset()


ENGINES: Final[Mapping[str, Engine]] = {
    "deduplicate": Engine(options={}, apply=replace_row),
    "partial-update": Engine(
        options={"merge-engine": "partial-update", "fields.g.sequence-group": "a,b"},
        apply=update_row,
        named=frozenset({G, A, B}),
    ),
    "aggregation": Engine(
        options={
            "merge-engine": "aggregation",
            "fields.g.aggregate-function": "sum",
            "fields.a.aggregate-function": "max",
            "fields.default-aggregate-function": "last_non_null_value",
        },
        apply=add_up,
        named=frozenset({G, A}),
    ),
    "first-row": Engine(options={"merge-engine": "first-row"}, apply=keep_first),
}
KINDS: Final[Sequence[Mapping[str, str]]] = (
    {},
    {},
    {"changelog-producer": "lookup"},
    {"changelog-producer": "full-compaction"},
    {"deletion-vectors.enabled": "true"},
    {"force-lookup": "true"},
)
KEYS: Final = [(k, p) for k in range(6) for p in ("", "é/b")]
COMPARISONS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">=": operator.ge,
}


@dataclass(frozen=True, kw_only=True)
class Known:
    """What a snapshot is.

    Attributes:
        written: The rows of all that was written.
        visible: Those that readers see.
    """

    written: Rows
    visible: Rows


class EvolutionMachine(RuleBasedStateMachine):
    """One table under way, open in three processes."""

    @initialize(data=st.data())
    def create(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(ENGINES)), label="engine")
        self.engine = ENGINES[name]
        partition = data.draw(st.sampled_from([[], ["p"]]), label="partition")
        options = data.draw(st.sampled_from(KINDS[:3] if name == "first-row" else KINDS))
        bucket = data.draw(st.sampled_from(["1", "2"]))
        self.clock = ManualClock()
        self.memory = MemoryFileIO()
        self.columns = first_columns()
        self.seeds = random.Random(data.draw(st.integers(0, 2**31), label="seed"))
        table = Catalog(
            "/wh", file_io=self.memory, clock=self.clock, random=self.seeds
        ).create_table(
            "db.t",
            columns=[(one.name, one.sql) for one in self.columns],
            primary_key=["k", "p"],
            partition_keys=partition,
            options={"bucket": bucket, **self.engine.options, **options},
        )
        take_ids(self.columns, table.schema, above=-1)
        assert [one.id for one in self.columns[:5]] == [K, P, G, A, B]
        self.roles = Roles(keys={K, P}, fixed={P} if partition else set(), named=self.engine.named)
        self.highest_id = table.schema.highest_field_id
        self.versions = {0: copy_of(self.columns)}
        self.hides = table.schema.table_options.hides_level_0
        self.tables = [table, self.opened(), self.opened()]
        self.now = Known(written={}, visible={})
        self.seen: dict[int, Known] = {}
        self.turns = itertools.cycle(KEYS)

    # --- what happens -----------------------------------------------------------------------

    @rule(data=st.data(), process=st.integers(0, 2))
    def alter(self, data: st.DataObject, process: int) -> None:
        columns = copy_of(self.columns)
        drawn = [
            drawn_change(data, columns, self.roles)
            for _ in range(data.draw(st.sampled_from([1, 1, 2, 3])))
        ]
        changes = [change for change in drawn if change is not None]
        schema = self.tables[process].alter(*changes)
        take_ids(columns, schema, above=self.highest_id)
        assert schema.id == len(self.versions) or schema.id == len(self.versions) - 1
        self.highest_id = schema.highest_field_id
        self.columns = columns
        self.versions[schema.id] = copy_of(columns)

    @rule(data=st.data())
    def reopen_and_alter(self, data: st.DataObject) -> None:
        process = data.draw(st.integers(0, 2))
        self.tables[process] = self.opened()
        self.alter(data, process)

    @precondition(lambda self: self.seen)
    @rule(data=st.data(), process=st.integers(0, 2))
    def alter_wrongly(self, data: st.DataObject, process: int) -> None:
        table = self.tables[process]
        columns = copy_of(self.columns)
        good = drawn_change(data, columns, self.roles)
        wrong = data.draw(st.sampled_from(refused_changes(columns, self.roles)))
        changes: list[SchemaChange] = [wrong] if good is None else [good, wrong]
        with pytest.raises(InvalidRequest):
            table.alter(*changes)
        assert len(table.schemas()) == len(self.versions)

    @rule(data=st.data(), process=st.integers(0, 2))
    def write(self, data: st.DataObject, process: int) -> None:
        table = self.tables[process]
        version = data.draw(st.sampled_from([self.newest_schema, table.schema.id]))
        if has_homonyms(self.versions[version], self.columns):
            version = self.newest_schema
        under = self.versions[version]
        records = data.draw(st.lists(self.records(under), min_size=1, max_size=6))
        kinds = [0] * len(records)
        if self.engine.apply is replace_row:
            kinds = [data.draw(st.sampled_from([0, 0, 0, DELETE])) for _ in records]
        may_lack = [one for one in under if one.nullable]
        lacking = data.draw(st.lists(st.sampled_from(may_lack), max_size=4, unique_by=id))
        given = [one for one in under if one not in lacking]
        records = [self.with_whole_group(record, given) for record in records]
        schema = self.opened().find_schema(version)
        assert schema is not None
        rows = pa.table(
            {
                one.name: pa.array(
                    [one.shown(record.get(one.id)) for record in records],  # type: ignore[arg-type]
                    schema.arrow_schema.field(one.name).type,
                )
                for one in given
            }
        )
        before, opened_at = self.newest_id(), table.schema.id
        try:
            table.write_and_commit(rows, kinds=pa.array(kinds, pa.int8()))
        except (InvalidRequest, SchemaMismatch):
            # It does not know the columns, or they are others by now.
            assert min(version, opened_at) < self.newest_schema
            assert self.newest_id() == before
            table.refresh()
            return
        written = dict(self.now.written)
        for record, kind in zip(records, kinds, strict=True):
            row = self.arrived(record, given)
            key = row[K], row[P]
            found = self.engine.apply(written.get(key), row, kind)
            written.pop(key, None)
            if found is not None:
                written[key] = found
        if self.hides:
            self.note(Known(written=written, visible=self.now.visible))
            self.compact(full=False, machine=Machine.COLUMN, process=process)
        else:
            self.note(Known(written=written, visible=written))

    @rule(full=st.booleans(), machine=st.sampled_from(Machine), process=st.integers(0, 2))
    def compact(self, full: bool, machine: Machine, process: int) -> None:
        before = self.newest_id()
        assert self.tables[process].compact(full=full, machine=machine).dropped == ()
        if self.newest_id() > before:
            self.note(Known(written=self.now.written, visible=self.now.written))

    @rule(buckets=st.integers(1, 3), process=st.integers(0, 2))
    def rescale(self, buckets: int, process: int) -> None:
        before, versions = self.newest_id(), len(self.versions)
        self.tables[process].rescale(buckets)
        newest = self.tables[process].schema
        for number in range(versions, newest.id + 1):
            self.versions[number] = copy_of(self.columns)
        if self.newest_id() > before:
            self.note(self.now)

    @rule(retained=st.integers(1, 4), process=st.integers(0, 2))
    def expire(self, retained: int, process: int) -> None:
        later = self.clock.now_ms() + 1_000_000
        self.tables[process].expire(retain_min=retained, older_than_ms=later)
        kept = self.kept_ids()
        self.seen = {number: known for number, known in self.seen.items() if number in kept}

    @precondition(lambda self: self.seen)
    @rule(data=st.data(), process=st.integers(0, 2))
    def roll_back(self, data: st.DataObject, process: int) -> None:
        number = data.draw(st.sampled_from(sorted(self.seen)))
        self.tables[process].rollback(snapshot_id=number)
        self.now = self.seen[number]
        kept = self.kept_ids()
        self.seen = {n: known for n, known in self.seen.items() if n in kept and n <= number}
        self.seen |= dict.fromkeys((n for n in kept if n > number), self.now)
        # Partitions have the buckets of the old snapshot, and writers wait until they have the new.
        buckets = self.opened().schema.table_options.bucket
        self.rescale(buckets, process)
        if self.hides and self.now.visible != self.now.written:
            self.compact(full=False, machine=Machine.COLUMN, process=process)

    # --- what must hold ---------------------------------------------------------------------

    @invariant()
    def every_process_sees_the_newest_rows(self) -> None:
        for table in self.tables[:2]:
            rows = table.scan().to_arrow()
            # One that has seen no newer snapshot goes on with the schema that it knows.
            columns = self.versions[table.schema.id]
            assert table_of(rows) == shown(columns, self.now.visible)

    @invariant()
    def a_lookup_gives_the_models_row(self) -> None:
        """Of two keys after each operation, in turn, by a process that has looked before."""
        table, keys = self.tables[2], [next(self.turns), next(self.turns)]
        table.refresh()
        self.check_lookup(table, keys, None, self.columns, self.now)

    @rule(data=st.data(), machine=st.sampled_from(Machine))
    def look(self, data: st.DataObject, machine: Machine) -> None:
        """Scan the newest or old snapshots for some columns of some rows; look keys up in them."""
        for _ in range(3):
            table = self.tables[data.draw(st.integers(0, 2))]
            number = data.draw(st.sampled_from([None, None, *self.seen]))
            known, columns = self.now, self.columns
            if number is not None:
                known, columns = self.seen[number], self.columns_of(number)
            table.refresh()
            chosen = data.draw(st.lists(st.sampled_from(columns), min_size=1, unique_by=id))
            where, holds = drawn_condition(data, columns, known.visible)
            rows = table.scan(
                columns=[one.name for one in chosen],
                where=where,
                snapshot_id=number,
                machine=machine,
            ).to_arrow()
            matching = {key: row for key, row in known.visible.items() if holds(row)}
            assert table_of(rows) == shown(chosen, matching), where
            keys = data.draw(st.lists(st.sampled_from(KEYS), min_size=1, max_size=6))
            self.check_lookup(table, keys, number, columns, known)

    def teardown(self) -> None:
        if not hasattr(self, "seen"):
            return
        table = self.opened()
        for number, known in self.seen.items():
            columns = self.columns_of(number)
            rows = table.scan(snapshot_id=number).to_arrow()
            assert table_of(rows) == shown(columns, known.visible), number

    # --- how it is done ---------------------------------------------------------------------

    def records(self, columns: Sequence[Column]) -> st.SearchStrategy[Row]:
        """Return what draws a record under the columns of a schema."""
        values = {one.id: one.values() for one in columns}
        values[K], values[P] = st.integers(0, 4), st.sampled_from(["", "é/b"])
        drawn: st.SearchStrategy[Row] = st.fixed_dictionaries(values)  # type: ignore[arg-type]
        return drawn

    def with_whole_group(self, record: Row, given: Sequence[Column]) -> Row:
        """Return what is given of a record; without values of the group if it has no g.

        A lone record is kept untouched, a merged one loses them (merge-semantics 1.6), so the answer
        would depend on how records meet in files.
        """
        row = {one.id: record[one.id] for one in given if one.id is not None}
        if self.engine.apply is update_row and row.get(G) is None:
            row |= {A: None, B: None}
        return row

    def arrived(self, record: Row, given: Sequence[Column]) -> Row:
        """Return a record as the newest schema has it: by names, and with defaults."""
        row = {one.id: record.get(one.id) for one in given if one.id is not None}
        for one in self.columns:
            assert one.id is not None
            if one.default is not None and row.get(one.id) is None:
                row[one.id] = one.default
        return row

    def check_lookup(
        self,
        table: Table,
        keys: Sequence[Key],
        number: int | None,
        columns: Sequence[Column],
        known: Known,
    ) -> None:
        """Check what a lookup in the newest or another snapshot gives."""
        by_id = {one.id: one for one in columns}
        k, p = zip(*keys, strict=True)
        asked = pa.table({by_id[K].name: pa.array(k, pa.int32()), by_id[P].name: pa.array(p)})
        found = table.lookup(asked, snapshot_id=number)
        expected = [known.visible[key] for key in keys if key in known.visible]
        assert found.to_pylist() == [shown_row(columns, row) for row in expected]

    def columns_of(self, number: int) -> list[Column]:
        """Return the columns of the schema of a snapshot."""
        return self.versions[self.tables[0].snapshot(number).schema_id]

    def note(self, known: Known) -> None:
        self.now = known
        self.seen[self.newest_id()] = known

    def opened(self) -> Table:
        """Return the table as another process opens it, which names its files otherwise."""
        seed = random.Random(self.seeds.getrandbits(64))
        return Table.open(PATH, file_io=self.memory, clock=self.clock, random=seed)

    @property
    def newest_schema(self) -> int:
        return max(self.versions)

    def newest_id(self) -> int:
        return max(self.kept_ids(), default=0)

    def kept_ids(self) -> list[int]:
        return SnapshotStore(self.memory, self.tables[0].paths).list_ids()


def drawn_condition(
    data: st.DataObject, columns: Sequence[Column], rows: Rows
) -> tuple[list[Condition], Callable[[Row], bool]]:
    """Draw a condition on a column, if any, and say of which rows it holds."""
    column = data.draw(st.sampled_from([one for one in columns if one.is_leaf]))
    assert column.id is not None
    id_, op = column.id, data.draw(st.sampled_from(["none", "is_null", *COMPARISONS, *COMPARISONS]))
    if op == "none":
        return [], lambda _: True
    if op == "is_null":
        return [Condition(column=column.name, op=op)], lambda row: row.get(id_) is None
    known = [row[id_] for row in rows.values() if row.get(id_) is not None]
    value = column.shown(data.draw(st.sampled_from(known) if known else column.present()))

    def holds(row: Row) -> bool:
        found = column.shown(row.get(id_))
        return found is not None and COMPARISONS[op](found, value)

    return [Condition(column=column.name, op=op, value=value)], holds


def shown(columns: Sequence[Column], rows: Rows) -> list[dict[str, Any]]:
    """Return rows as a scan gives them, in any order."""
    return sorted((shown_row(columns, row) for row in rows.values()), key=repr)


def table_of(rows: pa.Table) -> list[dict[str, Any]]:
    """Return what a scan has given, in any order."""
    return sorted(rows.to_pylist(), key=repr)
