"""A table is a dictionary: random commits, then reads by snapshot, projection and condition.

The model knows neither files nor runs: it folds each record into a row, in order of arrival. For every
snapshot, projection and condition a scan must be filter(project(model at that snapshot)), whatever
buckets, flushes, rolled files and pruning do, and a lookup must be the scan filtered to the key.
"""

import operator
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from hypothesis import given, settings, strategies as st

from braid.lake import Catalog, Condition, Machine, ManualClock, MemoryFileIO, Table

COLUMNS = ("k", "p", "g", "a", "b", "s")
VALUE_COLUMNS = COLUMNS[2:]
TYPES = {
    "k": pa.int32(),
    "p": pa.string(),
    "g": pa.int64(),
    "a": pa.int32(),
    "b": pa.float64(),
    "s": pa.string(),
}
SMALL = {
    "k": st.integers(0, 3),
    "p": st.sampled_from(["", "é/b"]),
    "g": st.none() | st.integers(0, 3),
    "a": st.none() | st.integers(0, 3),
    "b": st.none() | st.sampled_from([-0.5, 0.0, 2.25]),
    "s": st.none() | st.sampled_from(["", "x", "long text with a tail " * 2]),
}
COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

Record = tuple[object, ...]
Key = tuple[object, object]
State = dict[Key, dict[str, object]]


@dataclass(frozen=True, kw_only=True)
class Commit:
    """Rows of one commit; `kinds` has one of 0 (+I) and 3 (-D) per row."""

    rows: list[Record]
    kinds: list[int]


@dataclass(frozen=True, kw_only=True)
class Question:
    """A scan: at which of the commits, which columns, under which conditions."""

    commit: int
    columns: list[str]
    where: list[Condition]
    batch_rows: int


@dataclass(frozen=True, kw_only=True)
class Engine:
    """Options of a table and what a record does to its row."""

    options: dict[str, str]
    apply: Callable[[State, Record, int], None]
    has_deletes: bool


def replace_row(state: State, record: Record, kind: int) -> None:
    """Deduplicate: the last record is the row, a -D removes it."""
    row = dict(zip(COLUMNS, record, strict=True))
    key = (row["k"], row["p"])
    state.pop(key, None)
    if kind == 0:
        state[key] = row


def update_row(state: State, record: Record, _: int) -> None:
    """Partial-update with one group: a and b go with the newest g, s is the last that is not null."""
    row = dict(zip(COLUMNS, record, strict=True))
    key = (row["k"], row["p"])
    current = state.get(key)
    if current is None:
        state[key] = row
        return
    newer, older = row["g"], current["g"]
    if newer is not None and (older is None or newer >= older):  # type: ignore[operator]
        current.update(g=newer, a=row["a"], b=row["b"])
    if row["s"] is not None:
        current["s"] = row["s"]


ENGINES = {
    "deduplicate": Engine(options={}, apply=replace_row, has_deletes=True),
    "partial-update": Engine(
        options={"merge-engine": "partial-update", "fields.g.sequence-group": "a,b"},
        apply=update_row,
        has_deletes=False,
    ),
}


def forget_group_of_null(record: Record) -> Record:
    """Return the record without group values if its g is null.

    A lone record is kept untouched, a merged one loses them (merge-semantics 1.6), so the answer
    would depend on how records meet in files.
    """
    row = dict(zip(COLUMNS, record, strict=True))
    return record if row["g"] is not None else (row["k"], row["p"], None, None, None, row["s"])


@st.composite
def commits(draw: st.DrawFn, engine: Engine) -> Commit:
    """Draw the rows of one commit."""
    size_max = draw(st.sampled_from([1, 1, 2, 12]))  # small files have narrow bounds and are pruned
    records = st.tuples(*(SMALL[name] for name in COLUMNS))
    rows = draw(st.lists(records, min_size=1, max_size=size_max))
    deletes = st.sampled_from([0, 0, 0, 3]) if engine.has_deletes else st.just(0)
    kinds = [draw(deletes) for _ in rows]
    return Commit(rows=[forget_group_of_null(row) for row in rows], kinds=kinds)


@st.composite
def conditions(draw: st.DrawFn) -> Condition:
    """Draw a condition on any column."""
    column = draw(st.sampled_from(COLUMNS))
    op = draw(st.sampled_from([*COMPARISONS, "in", "is_null", "not_null"]))
    if op in ("is_null", "not_null"):
        return Condition(column=column, op=op)
    value = draw(st.lists(SMALL[column], max_size=3)) if op == "in" else draw(SMALL[column])
    return Condition(column=column, op=op, value=value)


@st.composite
def questions(draw: st.DrawFn, states: Sequence[State]) -> Question:
    """Draw a scan; half of them ask for values that some row has or had together."""
    known = [row for state in states for row in state.values()]
    where = draw(st.lists(conditions(), max_size=3))
    asks_for_known = draw(st.booleans())
    if known and asks_for_known:
        row: dict[str, object] = known[draw(st.integers(0, len(known) - 1))]
        names = draw(st.lists(st.sampled_from(VALUE_COLUMNS), min_size=1, max_size=2, unique=True))
        where = [Condition(column=name, op="=", value=row[name]) for name in names]
    return Question(
        commit=draw(st.integers(0, len(states) - 1)),
        columns=draw(st.lists(st.sampled_from(COLUMNS), min_size=1, unique=True)),
        where=where,
        batch_rows=draw(st.sampled_from([1, 3, 1_000])),
    )


def holds(row: dict[str, object], condition: Condition) -> bool:
    """Evaluate a condition as SQL does."""
    found, value = row[condition.column], condition.value
    match condition.op:
        case "is_null":
            return found is None
        case "not_null":
            return found is not None
        case "in":
            assert isinstance(value, list)
            return found is not None and found in value
        case other:
            return found is not None and value is not None and COMPARISONS[other](found, value)


def expected_rows(state: State, question: Question) -> list[tuple[object, ...]]:
    """Return filter(project(model))."""
    return sorted(
        (
            tuple(row[name] for name in question.columns)
            for row in state.values()
            if all(holds(row, condition) for condition in question.where)
        ),
        key=repr,
    )


def found_rows(
    table: Table, question: Question, snapshot_id: int, machine: Machine
) -> list[tuple[object, ...]]:
    """Return the rows of the scan."""
    scan = table.scan(
        columns=question.columns,
        where=question.where,
        at=snapshot_id,
        batch_rows=question.batch_rows,
        machine=machine,
    )
    return sorted(
        (
            tuple(row[name] for name in question.columns)
            for batch in scan.to_batches()
            for row in batch.to_pylist()
        ),
        key=repr,
    )


def create(engine: Engine, *, is_partitioned: bool, bucket: int, target: str) -> Table:
    """Create a table in memory."""
    return Catalog(
        "/wh", file_io=MemoryFileIO(), clock=ManualClock(), random=random.Random(3)
    ).create_table(
        "db.t",
        columns=[
            ("k", "INT"),
            ("p", "STRING"),
            ("g", "BIGINT"),
            ("a", "INT"),
            ("b", "DOUBLE"),
            ("s", "STRING"),
        ],
        primary_key=["k", "p"],
        partition_keys=["p"] if is_partitioned else [],
        options={"bucket": str(bucket), "target-file-size": target, **engine.options},
    )


def write(table: Table, commit: Commit, *, flush_after: int) -> int:
    """Commit rows, with a flush in the middle, and return the snapshot's id."""
    writer = table.writer()
    for start, end in ((0, flush_after), (flush_after, len(commit.rows))):
        part = commit.rows[start:end]
        columns: Sequence[Sequence[object]] = list(zip(*part, strict=True)) or [()] * len(COLUMNS)
        arrays = [
            pa.array(list(values), TYPES[name])
            for name, values in zip(COLUMNS, columns, strict=True)
        ]
        writer.write(
            pa.table(dict(zip(COLUMNS, arrays, strict=True))),
            kinds=pa.array(commit.kinds[start:end], pa.int8()),
        )
        writer.flush()
    result = writer.prepare_commit()
    return table.committer().commit(result.messages, commit_user="model").snapshot_id


@settings(deadline=None, max_examples=40)
@given(data=st.data())
def test_a_scan_is_the_model_filtered_and_projected(data: st.DataObject) -> None:
    engine = ENGINES[data.draw(st.sampled_from(sorted(ENGINES)), label="engine")]
    table = create(
        engine,
        is_partitioned=data.draw(st.booleans(), label="partitioned"),
        bucket=data.draw(st.sampled_from([1, 1, 3]), label="buckets"),
        target=data.draw(st.sampled_from(["128 mb", "100 b"]), label="target size"),
    )
    state: State = {}
    states: list[State] = []
    snapshot_ids: list[int] = []
    for commit in data.draw(st.lists(commits(engine), min_size=2, max_size=5), label="commits"):
        flush_after = data.draw(st.integers(0, len(commit.rows)), label="flush after")
        snapshot_ids.append(write(table, commit, flush_after=flush_after))
        for record, kind in zip(commit.rows, commit.kinds, strict=True):
            engine.apply(state, record, kind)
        states.append({key: dict(row) for key, row in state.items()})

    asked = data.draw(st.lists(questions(states), min_size=4, max_size=8), label="questions")
    for question in asked:
        expected = expected_rows(states[question.commit], question)
        snapshot_id = snapshot_ids[question.commit]
        machine = data.draw(st.sampled_from(Machine))
        assert found_rows(table, question, snapshot_id, machine) == expected, question
        assert table.scan(where=question.where, at=snapshot_id).count() == len(expected), question

    for key in [(k, p) for k in (0, 1, 9) for p in ("", "é/b")]:
        assert table.get({"k": key[0], "p": key[1]}) == state.get(key), key
