"""Random operations on a table, some of them cut off by a crash, against a dictionary.

The model is that of `test_table_model`: a record is applied to its key's row in order of arrival,
so it holds for tables whose rows do not depend on what is compacted when. After every operation
the newest rows are the model's, and so are those of older snapshots; at the end no file is missing,
and none is left that nothing needs but those of which a crash tells.

A crash stops storage at a random call of an operation, before or after its effect. A failure is the
same, but storage goes on after it.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from lake import Catalog, LakeError, Machine, ManualClock, MemoryFileIO, StorageUnavailable, Table
from tests.property.folded_changelog import FoldedChangelog
from tests.property.test_compaction import COMPACTED
from tests.property.test_table_model import (
    COLUMNS,
    Commit,
    Engine,
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
    }
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
        self.state: State = {}
        self.visible: State = {}
        self.seen: dict[int, State] = {}
        self.left_over: set[str] = set()

    # --- what happens -----------------------------------------------------------------------

    @rule(data=st.data(), fault=st.none() | FAULTS)
    def write(self, data: st.DataObject, fault: Fault | None) -> None:
        commit = data.draw(commits(self.engine))
        flush_after = data.draw(st.integers(0, len(commit.rows)))

        def work(table: Table) -> None:
            write(table, commit, flush_after=flush_after)

        if self.attempt(work, fault):
            self.apply(commit)
            self.note()

    @rule(full=st.booleans(), machine=st.sampled_from(Machine), fault=st.none() | FAULTS)
    def compact(self, full: bool, machine: Machine, fault: Fault | None) -> None:
        def work(table: Table) -> None:
            assert table.compact(full=full, machine=machine).dropped == ()

        if self.attempt(work, fault):
            # Whatever hides its new rows brings all of them up.
            self.visible = copy_of(self.state)
            self.note()
        if full and fault is None:
            self.changelog.must_add_up_to(self.state)

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
        assert scanned(self.table.scan().to_arrow()) == rows_of(self.visible)

    @precondition(lambda self: self.seen)
    @rule(data=st.data())
    def look_back(self, data: st.DataObject) -> None:
        number = data.draw(st.sampled_from(sorted(self.seen)))
        rows = self.table.scan(snapshot_id=number).to_arrow()
        assert scanned(rows) == rows_of(self.seen[number])

    @rule(k=st.integers(0, 4), p=st.sampled_from(["", "é/b"]))
    def get(self, k: int, p: str) -> None:
        assert self.table.get({"k": k, "p": p}) == self.visible.get((k, p))

    def teardown(self) -> None:
        if not hasattr(self, "seen"):
            return
        self.reopen()
        for number, state in self.seen.items():
            rows = self.table.scan(snapshot_id=number).to_arrow()
            assert scanned(rows) == rows_of(state), number
        assert missing_files(self.memory, self.table) == set()
        assert unneeded_files(self.memory, self.table) <= self.left_over

    # --- how it is done ---------------------------------------------------------------------

    def attempt(self, work: Callable[[Table], None], fault: Fault | None) -> bool:
        """Do something to the table; return whether a snapshot came of it."""
        before = self.newest_id()
        if fault is None:
            work(self.table)
            return self.newest_id() > before
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
        self.left_over |= unneeded_files(self.memory, self.table)
        return self.newest_id() > before

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

    def apply(self, commit: Commit) -> None:
        for record, kind in zip(commit.rows, commit.kinds, strict=True):
            self.engine.apply(self.state, record, kind)
        if not self.table.schema.table_options.hides_level_0:
            self.visible = copy_of(self.state)

    def note(self) -> None:
        """Remember the rows of the newest snapshot."""
        self.seen[self.newest_id()] = copy_of(self.visible)
        self.changelog.follow(self.table)


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
