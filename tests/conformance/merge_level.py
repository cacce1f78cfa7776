"""Executes a merge-level case: records go to the merge function itself, the result is asked after each.

The row machine's function is driven record by record. The column machine has no such door: it folds the records
so far as one key. A single record would take the shortcut that this level is meant to leave out, so there the
column machine has nothing to answer.
"""

import dataclasses
from collections.abc import Callable, Sequence

import pyarrow as pa

from braid.lake import LakeError, Machine, UnsupportedFeature
from braid.lake.format.system_columns import SEQUENCE_NUMBER, VALUE_KIND
from braid.lake.merge.fold import fold
from braid.lake.merge.records import records_of
from braid.lake.merge.row_machine import merge_engine, selection_of
from braid.lake.merge.spec import MergeSpec, columns_needed, merge_spec
from tests.conformance.case import Case, Step
from tests.conformance.execute import KINDS, create_table, kinds_array, rows_table
from tests.conformance.outcome import Mismatch, first_line, unsupported
from tests.conformance.values import Json, canonical, sort_key, to_json

_KEY = "_conformance_key"

Merged = tuple[str, list[Json], int]
"""Kind, values and sequence number of a merged row."""


def run_merge_case(case: Case, machine: Machine) -> None:
    """Feed the records and compare what they have become after each.

    Raises:
        Mismatch: A result is not the expected one.
        NotYet: The engine does not have what the case needs.
    """
    try:
        table = create_table(case)
        if table is None:
            return
        spec = merge_spec(table.schema)
        _check_read_columns(case, spec)
        feed = {Machine.ROW: _row_feed, Machine.COLUMN: _column_feed}[machine](case, spec)
        _check_steps(case, feed)
    except UnsupportedFeature as error:
        raise unsupported(error) from error


Feed = Callable[[Sequence[int]], Merged | None]
"""Merges the records of these numbers, in order."""


def _check_steps(case: Case, feed: Feed) -> None:
    fed: list[int] = []
    record = 0
    for step in case.steps:
        if step.expected is None:
            return
        if step.kind == "reset":
            fed = []
            continue
        fed.append(record)
        record += 1
        try:
            merged = feed(fed)
        except UnsupportedFeature:
            raise
        except LakeError as error:
            if "error" not in step.expected:
                message = f"step {step.number} (add): raised: {first_line(error)}"
                raise Mismatch(message) from error
            return
        _compare(case, step, merged)


def _compare(case: Case, step: Step, merged: Merged | None) -> None:
    assert step.expected is not None
    if "error" in step.expected:
        message = f"step {step.number} (add): no error: {step.expected['error']['message']}"
        raise Mismatch(message)
    row = step.expected["row"]
    wanted = None
    if row is not None:
        types = [field.type for field in _schema(case)]
        values = [canonical([v], t)[0] for v, t in zip(row[1:], types, strict=True)]
        wanted = [row[0], values, step.expected["sequence"]]
    found = None if merged is None else list(merged)
    if sort_key([wanted]) != sort_key([found]):
        message = f"step {step.number} (add): expected {wanted}, got {found}"
        raise Mismatch(message)


def _check_read_columns(case: Case, spec: MergeSpec) -> None:
    if "read_columns" not in case.raw:
        return
    needed = columns_needed(spec, case.raw["read_columns"])
    absent = set(case.raw["expect"]["read_columns"]) - set(needed)
    if absent:
        message = f"columns {sorted(absent)} are not read, but merging needs them"
        raise Mismatch(message)


def _schema(case: Case) -> pa.Schema:
    names = case.raw["expect"].get("read_columns", case.names)
    return pa.schema([case.arrow_schema.field(name) for name in names])


def _key_value_table(case: Case) -> pa.Table:
    rows = [step.action["add"] for step in case.steps if step.kind == "add"]
    columns = rows_table(rows, _schema(case))
    columns = columns.add_column(0, VALUE_KIND, kinds_array(rows))
    return columns.add_column(0, SEQUENCE_NUMBER, pa.array(range(len(rows)), pa.int64()))


def _row_feed(case: Case, spec: MergeSpec) -> Feed:
    table = _key_value_table(case)
    records = records_of(table, spec)
    engine = merge_engine(records, spec)

    def feed(fed: Sequence[int]) -> Merged | None:
        if len(fed) == 1:
            engine.reset()
        engine.add(fed[-1])
        merged = engine.result()
        if merged is None:
            return None
        row = selection_of([merged], records, spec).copy_from(table)
        values = [to_json(row.column(name))[0] for name in _schema(case).names]
        return (_kind_text(merged.kind), values, merged.sequence_number)

    return feed


def _column_feed(case: Case, spec: MergeSpec) -> Feed:
    # The records of a case are one key's, whatever they hold in the key columns.
    table = _key_value_table(case)
    table = table.append_column(_KEY, pa.array([0] * table.num_rows, pa.int32()))
    spec = dataclasses.replace(spec, key_columns=(_KEY,))

    def feed(fed: Sequence[int]) -> Merged | None:
        merged = fold(table.take(list(fed)), spec, machine=Machine.COLUMN, single_untouched=False)
        if not merged.num_rows:
            return None
        values = [to_json(merged.column(name))[0] for name in _schema(case).names]
        kind = _kind_text(merged.column(VALUE_KIND)[0].as_py())
        return (kind, values, merged.column(SEQUENCE_NUMBER)[0].as_py())

    return feed


def _kind_text(kind: int) -> str:
    return next(text for text, number in KINDS.items() if number == kind)
