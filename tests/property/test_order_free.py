"""Tables without a dependence on order give the same rows for any order of arrival (decision 0008).

On these tables each column is protected by a group whose ordering values never repeat, or has a
function that is independent of order. So rows may arrive in any order, from several writers whose
sequence numbers overlap, in any commits, buffers and batches, with compactions in between.
"""

import random
from dataclasses import dataclass

import pyarrow as pa
from hypothesis import HealthCheck, given, settings, strategies as st

from braid.lake import Catalog, Machine, ManualClock, MemoryFileIO, Table
from braid.lake.format.system_columns import SEQUENCE_NUMBER, VALUE_KIND
from braid.lake.merge.fold import fold
from braid.lake.merge.functions.registry import FUNCTIONS
from tests.property.function_columns import BY_NAME, IDEMPOTENT, ORDER_FREE
from tests.property.same_values import comparable
from tests.property.strategies import History, order_free_histories

SETTINGS = settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
FEW = settings(SETTINGS, max_examples=30)
MACHINES = st.sampled_from(Machine)


def test_the_functions_drawn_are_those_declared_order_free() -> None:
    declared = {function.name for function in FUNCTIONS.values() if function.order_free}

    assert {function.name for function in ORDER_FREE} == declared
    names = {name for function in FUNCTIONS.values() for name in (function.name, *function.aliases)}
    assert set(BY_NAME) == names


@SETTINGS
@given(order_free_histories(), MACHINES, st.randoms(use_true_random=False))
def test_any_order_of_arrival_and_any_merging_gives_the_same_rows(
    history: History, machine: Machine, chance: random.Random
) -> None:
    whole = fold(history.records, history.spec, machine=Machine.ROW)
    runs = [
        fold(run, history.spec, machine=machine) for run in runs_of_writers(history.records, chance)
    ]

    while len(runs) > 1:
        chance.shuffle(runs)
        count = chance.randint(2, len(runs))
        compacted = fold(pa.concat_tables(runs[:count]), history.spec, machine=machine)
        runs = [compacted, *runs[count:]]

    assert rows_of(history, runs[0]) == rows_of(history, whole)


@SETTINGS
@given(order_free_histories(functions=IDEMPOTENT), MACHINES, st.randoms(use_true_random=False))
def test_records_that_come_again_change_nothing(
    history: History, machine: Machine, chance: random.Random
) -> None:
    once = fold(history.records, history.spec, machine=machine)
    again = chance.sample(range(len(history.rows)), chance.randint(1, len(history.rows)))
    replayed = history.records.take(again)
    numbers = pa.array(range(10_000, 10_000 + len(again)), pa.int64())
    replayed = replayed.set_column(0, SEQUENCE_NUMBER, numbers)

    twice = fold(pa.concat_tables([once, replayed]), history.spec, machine=machine)

    assert rows_of(history, twice) == rows_of(history, once)


@FEW
@given(order_free_histories(row_count_max=25), st.data())
def test_a_table_gives_the_same_rows_however_it_was_written(
    history: History, data: st.DataObject
) -> None:
    plan = data.draw(writings(len(history.rows)))
    table = written(history, plan)

    for machine in Machine:
        scan = table.scan(batch_rows=plan.batch_rows, machine=machine)
        expected = fold(history.records, history.spec, machine=Machine.ROW)
        assert rows_of(history, scan.to_arrow()) == rows_of(history, expected)


@dataclass(frozen=True, slots=True, kw_only=True)
class Writing:
    """How rows get into a table.

    Attributes:
        order: Of arrival.
        writer_of: The writer that each row goes to; all are open at the same time.
        buffer_bytes: Of every writer: few bytes are many flushes.
        compactions: After which commits the table is compacted.
        batch_rows: Of reads.
        target_file_size: Of files: few bytes are many files in a run.
    """

    order: list[int]
    writer_of: list[int]
    buffer_bytes: int
    compactions: set[int]
    batch_rows: int
    target_file_size: str


@st.composite
def writings(draw: st.DrawFn, length: int) -> Writing:
    """Draw a way to write so many rows."""
    writer_max = draw(st.integers(0, 4))
    writer_of = st.lists(st.integers(0, writer_max), min_size=length, max_size=length)
    return Writing(
        order=draw(st.permutations(range(length))),
        writer_of=draw(writer_of),
        buffer_bytes=draw(st.sampled_from([1, 200, 1_000_000])),
        compactions=draw(st.sets(st.integers(0, writer_max))),
        batch_rows=draw(st.sampled_from([1, 3, 1_000])),
        target_file_size=draw(st.sampled_from(["100 b", "128 mb"])),
    )


def written(history: History, plan: Writing) -> Table:
    """Return a table in memory with the rows of the history."""
    declared = history.table
    table = Catalog("/wh", file_io=MemoryFileIO(), clock=ManualClock()).create_table(
        "db.t",
        columns=[(field.name, field.type) for field in declared.schema.fields],
        primary_key=declared.key,
        options={"bucket": "1", "target-file-size": plan.target_file_size, **declared.options},
    )
    # All begin before the first commit, so their sequence numbers overlap.
    writers = [table.writer(buffer_bytes=plan.buffer_bytes) for _ in range(max(plan.writer_of) + 1)]
    for row in plan.order:
        writer = writers[plan.writer_of[row]]
        writer.write(history.rows.slice(row, 1), kinds=history.kinds.slice(row, 1))
    for number, writer in enumerate(writers):
        messages = writer.prepare_commit().messages
        table.committer().commit(messages, commit_user=f"writer-{number}")
        if number in plan.compactions:
            table.compact()
    return table


def runs_of_writers(records: pa.Table, chance: random.Random) -> list[pa.Table]:
    """Return the records, in random order, as runs whose sequence numbers overlap."""
    rows = list(range(records.num_rows))
    chance.shuffle(rows)
    count = chance.randint(1, 6)
    writer_of = [chance.randrange(count) for _ in rows]
    runs = []
    for writer in range(count):
        mine = [row for row, of in zip(rows, writer_of, strict=True) if of == writer]
        first = chance.randint(0, 5)
        numbers = pa.array(range(first, first + len(mine)), pa.int64())
        runs.append(
            records.take(pa.array(mine, pa.int64())).set_column(0, SEQUENCE_NUMBER, numbers)
        )
    return [run for run in runs if run.num_rows]


def rows_of(history: History, table: pa.Table) -> list[str]:
    """Return the rows, kinds and sequence numbers left out, in the order of their texts."""
    names = [name for name in table.column_names if name not in (SEQUENCE_NUMBER, VALUE_KIND)]
    return sorted(comparable(table.select(names), history.table))
