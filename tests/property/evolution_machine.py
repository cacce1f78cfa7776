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
from typing import Any, Final

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

from braid.lake import (
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
from braid.lake.snapshots.snapshot_store import SnapshotStore
from tests.property.evolving_columns import Column, copy_of, has_homonyms, shown_row
from tests.property.evolving_model import (
    ENGINES,
    EvolvingModel,
    K,
    Key,
    P,
    Row,
    Rows,
    first_columns,
)
from tests.property.schema_steps import drawn_change, refused_changes

PATH: Final = "/wh/db.db/t"
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
        self.seeds = random.Random(data.draw(st.integers(0, 2**31), label="seed"))
        table = Catalog(
            "/wh", file_io=self.memory, clock=self.clock, random=self.seeds
        ).create_table(
            "db.t",
            columns=[(one.name, one.sql) for one in first_columns()],
            primary_key=["k", "p"],
            partition_keys=partition,
            options={"bucket": bucket, **self.engine.options, **options},
        )
        self.model = EvolvingModel(self.engine, table.schema)
        self.hides = table.schema.table_options.hides_level_0
        self.tables = [table, self.opened(), self.opened()]
        self.now = Known(written={}, visible={})
        self.seen: dict[int, Known] = {}
        self.turns = itertools.cycle(KEYS)

    # --- what happens -----------------------------------------------------------------------

    @rule(data=st.data(), process=st.integers(0, 2))
    def alter(self, data: st.DataObject, process: int) -> None:
        changes, columns = self.model.drawn_changes(data)
        self.model.follow(self.tables[process].alter(*changes), columns)

    @rule(data=st.data())
    def reopen_and_alter(self, data: st.DataObject) -> None:
        process = data.draw(st.integers(0, 2))
        self.tables[process] = self.opened()
        self.alter(data, process)

    @precondition(lambda self: self.seen)
    @rule(data=st.data(), process=st.integers(0, 2))
    def alter_wrongly(self, data: st.DataObject, process: int) -> None:
        table = self.tables[process]
        columns = copy_of(self.model.columns)
        good = drawn_change(data, columns, self.model.roles)
        wrong = data.draw(st.sampled_from(refused_changes(columns, self.model.roles)))
        changes: list[SchemaChange] = [wrong] if good is None else [good, wrong]
        with pytest.raises(InvalidRequest):
            table.alter(*changes)
        assert len(table.schemas()) == len(self.model.versions)

    @rule(data=st.data(), process=st.integers(0, 2))
    def write(self, data: st.DataObject, process: int) -> None:
        table = self.tables[process]
        version = data.draw(st.sampled_from([self.model.newest_schema, table.schema.id]))
        if has_homonyms(self.model.versions[version], self.model.columns):
            version = self.model.newest_schema
        batch = self.model.drawn_batch(data, self.model.versions[version])
        schema = self.opened().find_schema(version)
        assert schema is not None
        rows, kinds = batch.arrow(schema), pa.array(batch.kinds, pa.int8())
        before, opened_at = self.newest_id(), table.schema.id
        try:
            table.write_and_commit(rows, kinds=kinds)
        except (InvalidRequest, SchemaMismatch):
            # It does not know the columns, or they are others by now.
            assert min(version, opened_at) < self.model.newest_schema
            assert self.newest_id() == before
            table.refresh()
            return
        written = self.model.written(self.now.written, batch)
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
        before, versions = self.newest_id(), len(self.model.versions)
        self.tables[process].rescale(buckets)
        newest = self.tables[process].schema
        for number in range(versions, newest.id + 1):
            self.model.versions[number] = copy_of(self.model.columns)
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
            columns = self.model.versions[table.schema.id]
            assert table_of(rows) == shown(columns, self.now.visible)

    @invariant()
    def a_lookup_gives_the_models_row(self) -> None:
        """Of two keys after each operation, in turn, by a process that has looked before."""
        table, keys = self.tables[2], [next(self.turns), next(self.turns)]
        table.refresh()
        self.check_lookup(table, keys, None, self.model.columns, self.now)

    @rule(data=st.data(), machine=st.sampled_from(Machine))
    def look(self, data: st.DataObject, machine: Machine) -> None:
        """Scan the newest or old snapshots for some columns of some rows; look keys up in them."""
        for _ in range(3):
            table = self.tables[data.draw(st.integers(0, 2))]
            number = data.draw(st.sampled_from([None, None, *self.seen]))
            known, columns = self.now, self.model.columns
            if number is not None:
                known, columns = self.seen[number], self.columns_of(number)
            table.refresh()
            chosen = data.draw(st.lists(st.sampled_from(columns), min_size=1, unique_by=id))
            where, holds = drawn_condition(data, columns, known.visible)
            rows = table.scan(
                columns=[one.name for one in chosen],
                where=where,
                at=number,
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
            rows = table.scan(at=number).to_arrow()
            assert table_of(rows) == shown(columns, known.visible), number

    # --- how it is done ---------------------------------------------------------------------

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
        found = table.lookup(asked, at=number)
        expected = [known.visible[key] for key in keys if key in known.visible]
        assert found.to_pylist() == [shown_row(columns, row) for row in expected]

    def columns_of(self, number: int) -> list[Column]:
        """Return the columns of the schema of a snapshot."""
        return self.model.versions[self.tables[0].snapshot(number).schema_id]

    def note(self, known: Known) -> None:
        self.now = known
        self.seen[self.newest_id()] = known

    def opened(self) -> Table:
        """Return the table as another process opens it, which names its files otherwise."""
        seed = random.Random(self.seeds.getrandbits(64))
        return Table.open(PATH, file_io=self.memory, clock=self.clock, random=seed)

    def newest_id(self) -> int:
        return max(self.kept_ids(), default=0)

    def kept_ids(self) -> list[int]:
        return SnapshotStore(self.memory, self.tables[0].paths).list_ids()


def drawn_condition(
    data: st.DataObject, columns: Sequence[Column], rows: Rows
) -> tuple[list[Condition], Callable[[Row], bool]]:
    """Draw a condition on a column, if any, and say of which rows it holds."""
    column = data.draw(st.sampled_from([one for one in columns if one.is_leaf]))
    id_ = column.known_id
    op = data.draw(st.sampled_from(["none", "is_null", *COMPARISONS, *COMPARISONS]))
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
