"""Random operations on a table, some of them cut off by a crash, against a dictionary.

The model is that of `test_table_model`: a record is applied to its key's row in order of arrival,
so it holds for tables whose rows do not depend on what is compacted when. After every operation
the newest rows are the model's, and so are those of older snapshots; at the end no file is missing,
and none is left that nothing needs but those of which a crash tells.

A crash stops storage at a random call of an operation, before or after its effect. A failure is the
same, but storage goes on after it.
"""

import itertools
import random
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
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
    LakeError,
    Machine,
    ManualClock,
    MemoryFileIO,
    ReadAt,
    StorageUnavailable,
    Table,
)
from braid.lake.format.snapshot import Snapshot
from braid.lake.snapshots.consumer_store import ConsumerStore
from braid.lake.snapshots.lease import LeaseLost
from braid.lake.snapshots.snapshot_store import SnapshotStore
from tests.property.folded_changelog import FoldedChangelog
from tests.property.test_compaction import COMPACTED
from tests.property.test_table_model import (
    COLUMNS,
    Commit,
    Engine,
    Key,
    Record,
    State,
    commits,
    write,
)
from tests.support.faulty_file_io import FaultyFileIO
from tests.support.table_files import missing_files, unneeded_files

PATH = "/wh/db.db/t"
COLUMN_TYPES = ("INT", "STRING", "BIGINT", "INT", "DOUBLE", "STRING")


OPTIONS = st.fixed_dictionaries(
    {
        "bucket": st.sampled_from(["1", "2"]),
        "target-file-size": st.sampled_from(["128 mb", "400 b"]),
        "compaction.small-file-ratio": st.sampled_from(["0.01", "0.7"]),
        "num-levels": st.sampled_from(["2", "6"]),
        "num-sorted-run.compaction-trigger": st.sampled_from(["2", "3", "5"]),
    },
    optional={
        "file-index.bloom-filter.columns": st.sampled_from(["k,p,s", "b"]),
        "file-index.in-manifest-threshold": st.sampled_from(["0 b", "1 mb"]),
    },
)
KINDS: Sequence[Mapping[str, str]] = (
    {},
    {"changelog-producer": "input"},
    {"changelog-producer": "lookup"},
    {"changelog-producer": "full-compaction"},
    {"deletion-vectors.enabled": "true"},
    {"deletion-vectors.enabled": "true", "changelog-producer": "lookup"},
    {"deletion-vectors.enabled": "true", "deletion-vectors.bitmap64": "true"},
    {"force-lookup": "true"},
)


class Died(BaseException):
    """The process is gone: nothing may catch this."""


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What happens to storage during an operation.

    Attributes:
        call: Number of the call of the operation at which it happens, from 0.
        is_done: The call takes effect all the same.
        is_crash: The process dies there; otherwise the call fails and later ones work.
    """

    call: int
    is_done: bool
    is_crash: bool


KEYS = st.tuples(st.integers(0, 4), st.sampled_from(["", "é/b"]))
FAULTS = st.builds(Fault, call=st.integers(0, 60), is_done=st.booleans(), is_crash=st.booleans())


def add_up(state: State, record: Record, _: int) -> None:
    """Aggregation: g is a sum, a a maximum, b and s the last that is not null."""
    row = dict(zip(COLUMNS, record, strict=True))
    key = (row["k"], row["p"])
    current = state.setdefault(key, dict.fromkeys(COLUMNS) | {"k": row["k"], "p": row["p"]})
    given: dict[str, Any] = {name: value for name, value in row.items() if value is not None}
    if "g" in given:
        current["g"] = given["g"] + (current["g"] or 0)
    if "a" in given:
        current["a"] = max(given["a"], given["a"] if current["a"] is None else current["a"])
    for name in ("b", "s"):
        current[name] = given.get(name, current[name])


AGGREGATION = Engine(
    options={
        "merge-engine": "aggregation",
        "fields.g.aggregate-function": "sum",
        "fields.a.aggregate-function": "max",
        "fields.default-aggregate-function": "last_non_null_value",
    },
    apply=add_up,
    has_deletes=False,
)
ENGINES: Mapping[str, Engine] = {**COMPACTED, "aggregation": AGGREGATION}


@dataclass(frozen=True, kw_only=True)
class Known:
    """What a snapshot is.

    Attributes:
        state: The rows of all that was written.
        visible: Those that readers see.
        changes: What its changes and those before add up to.
    """

    state: State
    visible: State
    changes: State


class TableMachine(RuleBasedStateMachine):
    """One table under way."""

    @initialize(data=st.data())
    def create(self, data: st.DataObject) -> None:
        self.engine = ENGINES[data.draw(st.sampled_from(sorted(ENGINES)), label="engine")]
        partition = data.draw(st.sampled_from([[], ["p"]]), label="partition")
        kinds = (KINDS[0], KINDS[2]) if "first-row" in self.engine.options.values() else KINDS
        options = data.draw(OPTIONS, label="options") | data.draw(st.sampled_from(kinds))
        self.seeds = random.Random(data.draw(st.integers(0, 2**31), label="seed"))
        self.clock = ManualClock()
        self.memory = MemoryFileIO()
        self.storage = FaultyFileIO(self.memory)
        self.table = Catalog(
            "/wh", file_io=self.storage, clock=self.clock, random=self.seeds
        ).create_table(
            "db.t",
            columns=list(zip(COLUMNS, COLUMN_TYPES, strict=True)),
            primary_key=["k", "p"],
            partition_keys=partition,
            options={**options, **self.engine.options},
        )
        self.changelog = FoldedChangelog(self.engine, options.get("changelog-producer"))
        self.now = Known(state={}, visible={}, changes={})
        self.seen: dict[int, Known] = {}
        self.tagged: dict[str, tuple[int, Known]] = {}
        self.left_over: set[str] = set()
        self.restored: set[str] = set()
        self.is_rescaled = False
        self.turns = itertools.cycle(itertools.product(range(5), ["", "é/b"]))

    # --- what happens -----------------------------------------------------------------------

    @rule(data=st.data(), fault=st.none() | FAULTS)
    def write(self, data: st.DataObject, fault: Fault | None) -> None:
        commit = data.draw(commits(self.engine))
        flush_after = data.draw(st.integers(0, len(commit.rows)))
        before = self.newest_id()
        self.attempt(lambda table: write(table, commit, flush_after=flush_after), fault)
        if self.newest_id() > before:
            self.note(self.applied(commit))

    @rule(full=st.booleans(), machine=st.sampled_from(Machine), fault=st.none() | FAULTS)
    def compact(self, full: bool, machine: Machine, fault: Fault | None) -> None:
        def work(table: Table) -> None:
            assert table.compact(full=full, machine=machine).dropped == ()

        before = self.newest_id()
        self.attempt(work, fault)
        for number in range(before + 1, self.newest_id() + 1):
            # Bucket after bucket, whatever hides its new rows brings them up.
            self.note(replace(self.now, visible=self.brought_up(number)), number)
        if fault is None and self.newest_id() > before:
            assert self.now.visible == self.now.state
        if full and fault is None:
            self.changelog.must_add_up_to(self.now.state)

    @rule(retained=st.integers(1, 4), fault=st.none() | FAULTS)
    def expire(self, retained: int, fault: Fault | None) -> None:
        later = self.clock.now_ms() + 1_000_000
        self.attempt(lambda t: t.expire(retain_min=retained, older_than_ms=later), fault)
        kept = set(self.kept_ids())
        assert kept >= set(without_gap(self.seen)[-retained:])
        # A tag or a rollback that broke off has left a lease, which ends by itself.
        is_leased = bool(self.table.consumers())
        assert fault is not None or is_leased or len(kept) <= retained
        self.seen = {number: known for number, known in self.seen.items() if number in kept}
        assert kept == self.seen.keys()

    @precondition(lambda self: self.seen)
    @rule(data=st.data(), name=st.sampled_from("abc"), fault=st.none() | FAULTS)
    def tag(self, data: st.DataObject, name: str, fault: Fault | None) -> None:
        """Make a tag; one that is there goes."""
        if name in self.tagged:
            self.attempt(lambda table: table.delete_tag(name), fault)
        else:
            number = data.draw(st.sampled_from(sorted(self.seen)))
            self.attempt(lambda table: self.create_tag(table, name, number), fault)
            self.tagged[name] = number, self.seen[number]
        was_there = set(self.tagged)
        self.forget_tags()
        assert fault is not None or was_there - self.tagged.keys() <= {name}

    @precondition(lambda self: self.seen)
    @rule(data=st.data(), fault=st.none() | FAULTS)
    def roll_back(self, data: st.DataObject, fault: Fault | None) -> None:
        targets: dict[tuple[int, str | None], Known] = {}
        targets |= {(number, None): known for number, known in self.seen.items()}
        targets |= {(number, name): known for name, (number, known) in self.tagged.items()}
        number, name = data.draw(st.sampled_from(sorted(targets, key=str)))
        before, known = self.newest_id(), self.uuids()
        snapshots = SnapshotStore(self.memory, self.table.paths)
        tagged = {tag.name: tag.snapshot for tag in self.table.tags()}
        target = snapshots.get(number) if name is None else tagged[name]
        refused: list[bool] = []

        def work(table: Table) -> None:
            try:
                table.rollback(snapshot_id=number if name is None else None, tag=name)
            except LeaseLost:
                assert name is None
                refused.append(self.is_marked(target))
            finally:
                self.restored |= self.uuids() - known

        self.attempt(work, fault)
        newest, kept = snapshots.latest(), set(self.kept_ids())
        # Empty ones lead up to a target that is above, or make room for one whose id is another's.
        self.seen |= {above: self.now for above in kept if above > before}
        if newest is not None and newest.is_same(target):
            self.now = targets[number, name]
            self.changelog.go_back(number, copy_of(self.now.changes))
        else:
            assert fault is not None or refused == [True]
            assert newest is not None
            self.changelog.follow(self.table)
        if target.is_same(snapshots.find(number)):
            # One that only a tag had left is there again, even if the rollback broke off then.
            self.seen[number] = targets[number, name]
        self.seen = {number: known for number, known in self.seen.items() if number in kept}
        assert kept == self.seen.keys()
        self.forget_tags()
        self.left_over |= self.unneeded_files()

        if self.is_rescaled:
            # Writers are turned back until the partitions have the schema's number of buckets.
            self.rescale_to(int(self.table.schema.options["bucket"]), fault=None)

    @rule(buckets=st.integers(1, 3), fault=st.none() | FAULTS)
    def rescale(self, buckets: int, fault: Fault | None) -> None:
        self.is_rescaled = True
        self.rescale_to(buckets, fault=fault)
        if fault is not None:
            self.the_newest_rows_are_the_models()
            self.rescale_to(buckets, fault=None)

    @rule(delete=st.booleans(), fault=st.none() | FAULTS)
    def clean(self, delete: bool, fault: Fault | None) -> None:
        unneeded = self.unneeded_files()
        too_young: list[int] = []

        def work(table: Table) -> None:
            report = table.clean_orphans(min_age_ms=0, delete=delete)
            too_young.append(report.younger_files)
            found = {file.path.removeprefix(f"{PATH}/") for file in report.files}
            assert found <= unneeded
            assert len(unneeded - found) <= report.younger_files

        self.attempt(work, fault)
        self.left_over = self.unneeded_files()
        if fault is None and delete:
            assert len(self.left_over) <= too_young[0]

    @rule(ms=st.integers(1, 10_000))
    def wait(self, ms: int) -> None:
        self.clock.advance(ms=ms)

    @rule()
    def reopen(self) -> None:
        """Go on as another process, which names its files otherwise."""
        self.table = Table.open(
            PATH,
            file_io=self.storage,
            clock=self.clock,
            random=random.Random(self.seeds.getrandbits(64)),
        )

    # --- what must hold ---------------------------------------------------------------------

    @invariant()
    def the_newest_rows_are_the_models(self) -> None:
        assert scanned(self.table.scan().to_arrow()) == rows_of(self.now.visible)

    @invariant()
    def a_lookup_gives_the_models_row(self) -> None:
        """Of one key after each operation, in turn: what a lookup costs is to open the files."""
        k, p = key = next(self.turns)
        found = self.table.lookup(pa.table({"k": pa.array([k], pa.int32()), "p": [p]}))
        assert found.to_pylist() == [row for row in [self.now.visible.get(key)] if row]

    @precondition(lambda self: self.seen)
    @rule(data=st.data())
    def look_back(self, data: st.DataObject) -> None:
        number = data.draw(st.sampled_from(sorted(self.seen)))
        rows = self.table.scan(at=number).to_arrow()
        assert scanned(rows) == rows_of(self.seen[number].visible)

    @rule(keys=st.lists(KEYS, min_size=1, max_size=6), is_old=st.booleans(), data=st.data())
    def look_up(self, keys: list[Key], is_old: bool, data: st.DataObject) -> None:
        number, known = None, self.now
        if is_old and self.seen:
            number = data.draw(st.sampled_from(sorted(self.seen)))
            known = self.seen[number]
        k, p = zip(*keys, strict=True)
        asked = pa.table({"k": pa.array(k, pa.int32()), "p": pa.array(p)})
        expected = [known.visible[key] for key in keys if key in known.visible]
        assert self.table.lookup(asked, at=number).to_pylist() == expected
        assert self.table.get({"k": k[0], "p": p[0]}, at=number) == known.visible.get(keys[0])

    def teardown(self) -> None:
        if not hasattr(self, "seen"):
            return
        self.reopen()
        for number, known in self.seen.items():
            rows = self.table.scan(at=number).to_arrow()
            assert scanned(rows) == rows_of(known.visible), number
        for name, (_, known) in self.tagged.items():
            rows = self.table.scan(at=ReadAt(tag=name)).to_arrow()
            assert scanned(rows) == rows_of(known.visible), name
        assert missing_files(self.memory, self.table, restored=self.restored) == set()
        assert self.unneeded_files() <= self.left_over

    # --- how it is done ---------------------------------------------------------------------

    def create_tag(self, table: Table, name: str, number: int) -> None:
        """Make a tag, unless an expiry that died was about to remove the snapshot."""
        try:
            table.create_tag(name, snapshot_id=number)
        except LeaseLost:
            assert self.is_marked(SnapshotStore(self.memory, table.paths).get(number))

    def is_marked(self, snapshot: Snapshot) -> bool:
        """Return whether an expiry that died was about to remove a snapshot."""
        return ConsumerStore(self.memory, self.table.paths).is_marked_expiring(snapshot)

    def attempt(self, work: Callable[[Table], object], fault: Fault | None) -> None:
        """Do something to the table; what a fault leaves over is known afterwards."""
        if fault is None:
            work(self.table)
            return
        self.break_storage(fault)
        try:
            work(self.table)
        except LakeError:
            assert not fault.is_crash
        except Died:
            assert fault.is_crash
        finally:
            self.storage.before = self.storage.after = nothing
        if fault.is_crash:
            self.reopen()
        self.left_over |= self.unneeded_files()

    def rescale_to(self, buckets: int, *, fault: Fault | None) -> None:
        before = self.newest_id()
        self.attempt(lambda table: table.rescale(buckets), fault)
        self.changelog.follow(self.table)
        assert self.changelog.rows == self.now.changes
        self.seen |= {number: self.now for number in self.kept_ids() if number > before}

    def break_storage(self, fault: Fault) -> None:
        start = len(self.storage.calls) + fault.call

        def happen(number: int, method: str, path: str) -> None:
            if fault.is_crash and number >= start:
                raise Died
            if number == start:
                message = f"{method} {path} failed on purpose"
                raise StorageUnavailable(message)

        if fault.is_done:
            self.storage.after = happen
        else:
            self.storage.before = happen

    def newest_id(self) -> int:
        snapshot = self.table.latest_snapshot()
        return 0 if snapshot is None else snapshot.id

    def uuids(self) -> set[str]:
        store = SnapshotStore(self.memory, self.table.paths)
        return {str(store.get(number).uuid) for number in store.list_ids()}

    def unneeded_files(self) -> set[str]:
        return unneeded_files(self.memory, self.table, restored=self.restored)

    def kept_ids(self) -> list[int]:
        return SnapshotStore(self.memory, self.table.paths).list_ids()

    def forget_tags(self) -> None:
        """Forget the tags that are gone; all that are there are known."""
        names = {tag.name for tag in self.table.tags()}
        assert names <= self.tagged.keys()
        self.tagged = {name: known for name, known in self.tagged.items() if name in names}

    def applied(self, commit: Commit) -> Known:
        """Return what the table is after a commit."""
        state = copy_of(self.now.state)
        for record, kind in zip(commit.rows, commit.kinds, strict=True):
            self.engine.apply(state, record, kind)
        hides = self.table.schema.table_options.hides_level_0
        return replace(self.now, state=state, visible=self.now.visible if hides else copy_of(state))

    def note(self, known: Known, number: int | None = None) -> None:
        """Remember what a snapshot is, the newest unless another is given."""
        number = self.newest_id() if number is None else number
        self.changelog.follow(self.table, until=number)
        self.now = replace(known, changes=copy_of(self.changelog.rows))
        self.seen[number] = self.now

    def brought_up(self, number: int) -> State:
        """Return the rows of a compaction's snapshot: each as it was before, or as it was written."""
        visible: State = {}
        for row in self.table.scan(at=number).to_arrow().to_pylist():
            visible[row["k"], row["p"]] = row
        for key in self.now.visible.keys() | self.now.state.keys() | visible.keys():
            assert visible.get(key) in (self.now.visible.get(key), self.now.state.get(key)), key
        return visible


def without_gap(numbers: Collection[int]) -> list[int]:
    """Return the ids up to the newest, from the last gap on: a rollback that broke off leaves one.

    What lies below it is nobody's history any more, and goes first.
    """
    newest = max(numbers, default=0)
    oldest = newest
    while oldest - 1 in numbers:
        oldest -= 1
    return list(range(oldest, newest + 1)) if numbers else []


def nothing(_number: int, _method: str, _path: str) -> None:
    """Let storage work."""


def copy_of(state: State) -> State:
    """Return a copy that later records do not change."""
    return {key: dict(row) for key, row in state.items()}


def rows_of(state: State) -> list[tuple[object, ...]]:
    """Return the rows of the model, sorted."""
    return sorted((tuple(row.values()) for row in state.values()), key=repr)


def scanned(rows: Any) -> list[tuple[object, ...]]:
    """Return the rows of a table, sorted."""
    return sorted((tuple(row.values()) for row in rows.to_pylist()), key=repr)
