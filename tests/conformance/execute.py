"""Executes a table case against the public API of the engine, with one of its merge machines.

Everything that a step expects is checked before the next step begins, so a case that ends at a feature which
the engine lacks has been right up to there. Such an end is recognised by what happens (the engine raises
`UnsupportedFeature`, or the step is of a kind that this runner has no call for), never guessed from the case.
"""

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from braid.lake import (
    Catalog,
    DataField,
    InvalidRequest,
    LakeError,
    Machine,
    MemoryFileIO,
    Table,
    UnsupportedFeature,
    parse_type,
)
from braid.lake.maintenance.compaction.compaction_picks import CompactionMemory
from tests.conformance.alter import schema_change
from tests.conformance.case import Case, Step
from tests.conformance.changelog import changelog_difference
from tests.conformance.column_types import with_field_ids
from tests.conformance.compare import difference
from tests.conformance.outcome import Mismatch, NotYet, OnPurpose, first_line, unsupported
from tests.conformance.values import sort_key, to_arrow

KINDS = {"+I": 0, "-U": 1, "+U": 2, "-D": 3}
"""Row kinds as data files store them."""

_EARLIER_IS_RIGHT = frozenset({"write", "read", "changelog", "merge"})
"""Phases of errors that may come when the table is created instead.

Java finds a wrong aggregate function when it first uses it. Errors of `compact` and `alter` are about the
step itself and have no earlier place.
"""

_CANNOT_COMPARE = "do not support equals"
"""Java compares nested values of one write buffer, but fails on the same values read from a file."""

_NULL_IN_NOT_NULL = 'because "this.fields[pos]" is null'
"""Java fails on the null that a retract leaves in a NOT NULL column; scans show it, and no file takes it."""

_REMOVING_OPTION = "partial-update.remove-record-on-sequence-group"


def run_table_case(case: Case, machine: Machine) -> None:
    """Create the table in memory, do the steps, check each.

    Raises:
        Mismatch: An outcome is not the expected one.
        OnPurpose: An outcome is meant to be another; all others were right.
        NotYet: The engine does not have what the case needs; all before that was right.
    """
    table = create_table(case)
    if table is None:
        return
    execution = _Execution(case=case, table=table, machine=machine)
    for step in case.steps:
        if step.expected is None:
            break
        execution.run(step)
    if execution.deviates:
        message = "a projection agrees with the full read (decision 0006)"
        raise OnPurpose(message)


def memory_catalog() -> Catalog:
    """Return a catalog of its own, in memory."""
    return Catalog("/warehouse", file_io=MemoryFileIO())


def create_declared(case: Case, catalog: Catalog, name: str = "case") -> Table:
    """Create the table that a case declares, in the database `t`; errors are the engine's."""
    return catalog.create_table(
        f"t.{name}",
        columns=data_fields(case),
        primary_key=case.primary_key,
        partition_keys=case.partition_keys,
        options=case.options,
    )


def create_table(case: Case) -> Table | None:
    """Return the table of a case in memory, or None when it was refused as it should be."""
    expected = expected_error(case)
    try:
        table = create_declared(case, memory_catalog())
    except UnsupportedFeature as error:
        raise unsupported(error) from error
    except InvalidRequest as error:
        if case.create_error is not None or expected in _EARLIER_IS_RIGHT:
            return None
        message = f"create: refused: {first_line(error)}"
        raise Mismatch(message) from error
    if case.create_error is not None:
        message = f"create: accepted, expected: {case.create_error['message']}"
        raise Mismatch(message)
    return table


def data_fields(case: Case) -> list[DataField]:
    """Return the declared columns, ids given to columns and nested fields in order."""
    ids = itertools.count(len(case.columns))
    return [
        DataField(
            id=index,
            name=column.name,
            type=parse_type(with_field_ids(column.type_json, ids)),
            description=column.comment,
            default_value=column.default,
        )
        for index, column in enumerate(case.columns)
    ]


def expected_error(case: Case) -> str | None:
    """Return the phase in which a step of the case fails, None when none does."""
    for step in case.steps:
        if step.expected is not None and "error" in step.expected:
            return str(step.expected["error"]["phase"])
    return None


def write_rows(
    table: Table, rows: Sequence[Sequence[Any]], schema: pa.Schema, *, machine: Machine
) -> int:
    """Commit rows of the form `[kind, values…]` in one snapshot and return its id."""
    columns = rows_table(rows, schema)
    # With `rowkind.field` the reference overwrites the kinds that are given, we refuse them.
    in_column = table.schema.table_options.rowkind_field is not None
    kinds = None if in_column else kinds_array(rows)
    return table.write_and_commit(columns, kinds=kinds, machine=machine).snapshot_id


def kinds_array(rows: Sequence[Sequence[Any]]) -> pa.Array:
    """Return the row kinds of rows of the form `[kind, values…]`."""
    return pa.array([KINDS[row[0]] for row in rows], pa.int8())


def rows_table(rows: Sequence[Sequence[Any]], schema: pa.Schema) -> pa.Table:
    """Return rows of the form `[kind, values…]` as columns of the schema."""
    columns = [
        to_arrow([row[position] for row in rows], field.type)
        for position, field in enumerate(schema, start=1)
    ]
    return pa.Table.from_arrays(columns, schema=schema)


class _Execution:
    """The steps of one case on one table, done in order.

    Attributes:
        deviates: A projected read was compared with the case's full rows, which the expected ones contradict.
    """

    def __init__(self, *, case: Case, table: Table, machine: Machine) -> None:
        self.deviates = False
        self._case = case
        self._table = table
        self._machine = machine
        self._full_rows: Sequence[Sequence[Any]] = []
        self._seen = 0
        self._missing = 0
        self._memory = CompactionMemory()
        self._schema = case.arrow_schema

    def run(self, step: Step) -> None:
        """Do the step and compare its outcome."""
        assert step.expected is not None
        wanted = step.expected.get("error", {}).get("phase")
        phase = "read" if step.kind == "read" else step.kind
        try:
            actual = self._act(step)
            if actual is None and ("rows" in step.expected or wanted == "read"):
                phase = "read"  # before the call, for an error of it is an error of this phase
                actual = self._read({})
        except UnsupportedFeature as error:
            raise unsupported(error) from error
        except LakeError as error:
            if phase == "alter" and wanted == "read" and isinstance(error, InvalidRequest):
                return  # what could not be read is not declared
            if phase != wanted:
                message = self._say(step, f"{phase} raised: {first_line(error)}")
                raise Mismatch(message) from error
            return
        if wanted is not None and _CANNOT_COMPARE in step.expected["error"]["message"]:
            message = "collect takes rows, arrays and maps back from files too (merge-semantics 10)"
            raise OnPurpose(message)
        if (
            wanted is not None
            and actual is not None
            and _NULL_IN_NOT_NULL in step.expected["error"]["message"]
            and any(
                actual.column(field.name).null_count and not field.type.nullable
                for field in self._table.schema.fields
            )
        ):
            message = "scans show a null in a NOT NULL column that a retract left there"
            raise OnPurpose(message)
        if wanted is not None:
            message = self._say(step, f"no error in {wanted}: {step.expected['error']['message']}")
            raise Mismatch(message)
        if actual is not None:
            self._compare(step, actual)
        self._compare_changes(step)

    def _act(self, step: Step) -> pa.Table | None:
        match step.kind:
            case "write":
                self._write(step.action["write"])
                return None
            case "compact":
                self._table.compact(machine=self._machine)
                return None
            case "alter":
                changes = [schema_change(raw) for raw in step.action["alter"]]
                self._schema = self._table.alter(*changes).arrow_schema
                return None
            case "read":
                return self._read(step.action["read"])
            case other:
                message = f"step {other}"
                raise NotYet(message)

    def _write(self, rows: Sequence[Sequence[Any]]) -> None:
        write_rows(self._table, rows, self._schema, machine=self._machine)
        if not self._table.schema.table_options.write_only:
            # Java's commit waits for the compaction that its write triggers.
            self._table.compact(full=False, memory=self._memory, machine=self._machine)

    def _read(self, query: Mapping[str, Any]) -> pa.Table:
        for part in ("tag", "branch"):
            if part in query:
                message = f"read of a {part}"
                raise NotYet(message)
        self._table.refresh()
        scan = self._table.scan(
            columns=query.get("columns"),
            at=query.get("snapshot"),
            machine=self._machine,
        )
        return scan.to_arrow()

    def _compare(self, step: Step, actual: pa.Table) -> None:
        assert step.expected is not None
        query = step.action["read"] if step.kind == "read" else {}
        expected = step.expected["rows"]
        names = query.get("columns", self._schema.names)
        if step.kind != "read":
            self._full_rows = expected
        elif "columns" in query and "snapshot" not in query:
            expected = self._consistent(expected, names)
        schema = pa.schema([self._schema.field(name) for name in names])
        found = difference(expected, actual, schema=schema, hints=self._case.compare)
        if found is not None:
            message = self._say(step, found)
            raise Mismatch(message)

    def _compare_changes(self, step: Step) -> None:
        """Compare the snapshots that the step made, and what each of them changed."""
        assert step.expected is not None
        newest = self._table.latest_snapshot()
        after, self._seen = self._seen, 0 if newest is None else newest.id
        is_compaction = step.kind == "compact" and self._case.has_changelog
        if "changelog" not in step.expected and not is_compaction:
            return
        told = step.expected.get("changelog", [])
        wanted = [kind for _, kind in step.expected.get("snapshots", [])]
        made = [str(self._table.snapshot(i).commit_kind) for i in range(after + 1, self._seen + 1)]
        missing = self._missing
        if is_compaction and not told:
            # Which levels compactions chose before depends on the bytes of files, and ours are not
            # Java's: where all rows had reached the highest level, there is nothing to do.
            self._missing += len(wanted) - len(made)
        elif made != wanted:
            message = self._say(step, f"made {made} after {after}, expected {wanted}")
            raise Mismatch(message)
        found = changelog_difference(
            [[number - missing, rows] for number, rows in told],
            self._table.changes(after, self._seen),
            schema=self._schema,
            key=self._table.schema.primary_keys,
            hints=self._case.compare,
        )
        if found is not None:
            message = self._say(step, found)
            raise Mismatch(message)

    def _consistent(self, rows: list[Any], names: Sequence[str]) -> list[Any]:
        """Return the projection of the full rows where the case expects removed rows besides.

        Paimon shows removed rows under a projection that leaves an ordering column out
        (merge-semantics 2.3, consequence 5); a projection of ours always agrees with the full read.
        """
        if _REMOVING_OPTION not in self._case.options:
            return rows
        positions = [self._schema.names.index(name) for name in names]
        projected = [[row[position] for position in positions] for row in self._full_rows]
        expected, consistent = Counter(map(sort_key, rows)), Counter(map(sort_key, projected))
        if not consistent < expected:
            return rows
        self.deviates = True
        return projected

    def _say(self, step: Step, what: str) -> str:
        return f"step {step.number} ({step.kind}): {what}"
