"""Run of one test of a table: a new table in memory, the records of its streams, and the rows that they become.

The table is created as a registered one is. Records are read, refused and turned into rows by the code of running
streams. Each batch of records is one commit. Rows are read as they are served. First-row tables and tables with deletion
vectors show compacted rows only, so they are compacted first.

A test does not change the columns of its table: with `on_new_field: evolve`, too, undeclared fields are left out, and a
value that only a wider type could hold is a dead letter.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Final

import numpy as np
import pyarrow as pa

from braid.formats.fault import Fault, Faults
from braid.formats.json_values import json_row
from braid.formats.key_values import KeyRefused, parse_keys
from braid.lake import (
    Catalog,
    LakeError,
    ManualClock,
    MemoryFileIO,
    SnapshotLookup,
    Table,
    UnsupportedFeature,
)
from braid.records.accepted_rows import (
    accepted_records,
    accepted_rows,
    commit_rows,
    faults_of_refused_rows,
)
from braid.records.poison_records import read_sifted
from braid.records.record_reader import RecordReader
from braid.records.sample_batch import PLACE, sample_batch
from braid.records.stream_plan import StreamPlan, plan_stream
from braid.records.trial_writes import is_refusal
from braid.registry.layout.physical_table import shown_fields
from braid.registry.store.documents import RegistryStore
from braid.registry.table_creator import TableCreator
from braid.schemas import (
    CaseDifference,
    CaseOutcome,
    CaseResult,
    ExpectedRow,
    GivenRecord,
    TableDocument,
    TableTest,
)
from braid.service.control.row_explanation import column_origins, version_reasons
from braid.service.control.row_lookup import LookedUp
from braid.service.control.row_status import StatusRules
from braid.service.control.row_versions import VersionStreams
from braid.service.control.table_tests.case_differences import (
    DIFFERENCES_MAX,
    FoundDeadLetter,
    FoundRow,
    count_difference,
    letter_differences,
    refused_key,
    row_differences,
)
from braid.service.control.table_tests.given_records import batches_of, newest_ms, placed_records

_WAREHOUSE: Final = "/test"


class CaseRuns:
    """Runs tests of one table."""

    def __init__(self, document: TableDocument, check_time: Callable[[], None]) -> None:
        """Prepare to run tests.

        Args:
            document: The declaration of the table and of its streams; it breaks no rule.
            check_time: Called before each test and each batch of records; an error that it raises ends the run.
        """
        self._document = document
        self._check_time = check_time
        self._plans: dict[str, StreamPlan] = {}

    def run(self, case: TableTest) -> CaseResult:
        """Return the result of a test; skipped if a stream of its records is not registered."""
        streams = self._document.streams
        missing = sorted({one.stream for one in case.given} - streams.keys())
        if missing:
            message = f"the table has no stream {', '.join(missing)}"
            return CaseResult(name=case.name, outcome=CaseOutcome.SKIPPED, message=message)
        try:
            differences = tuple(islice(self._differences(case), DIFFERENCES_MAX))
        except LakeError as error:  # such as records that cannot be merged
            return CaseResult(name=case.name, outcome=CaseOutcome.FAILED, message=str(error))
        outcome = CaseOutcome.FAILED if differences else CaseOutcome.PASSED
        return CaseResult(name=case.name, outcome=outcome, differences=differences)

    def _differences(self, case: TableTest) -> Iterator[CaseDifference]:
        self._check_time()
        placed = placed_records(case.given)
        now_ms = newest_ms(placed) if case.read_at_ms is None else case.read_at_ms
        table = self._new_table(ManualClock(start_ms=now_ms))
        has_reasons = any(row.reasons for row in case.expect.rows)
        letters = [
            FoundDeadLetter(stream=stream, reason=fault.reason.value, message=fault.message)
            for stream, records in batches_of(placed, are_single=has_reasons)
            for fault in self._read(table, stream, records)
        ]
        if table.schema.table_options.hides_level_0:
            table.compact()
        expect = case.expect
        yield from self._row_differences(table, expect.rows, now_ms=now_ms)
        if expect.row_count is not None:
            found = table.scan(columns=table.schema.primary_keys).to_arrow().num_rows
            yield from count_difference(expect.row_count, found)
        yield from letter_differences(expect.dead_letters, letters)

    def _new_table(self, clock: ManualClock) -> Table:
        file_io = MemoryFileIO(clock=clock)
        catalog = Catalog(_WAREHOUSE, file_io=file_io, clock=clock)
        document = self._document.model_copy(update={"streams": {}, "pending": None})
        TableCreator(RegistryStore(file_io, _WAREHOUSE, clock), catalog).create(document)
        return catalog.table(document.identifier)

    def _read(self, table: Table, stream: str, records: Sequence[GivenRecord]) -> list[Fault]:
        """Write the rows of a batch of records; return why records are refused, in their order."""
        self._check_time()
        plan = self._plan(stream, table)
        sifted = read_sifted(RecordReader(plan, table.schema), sample_batch(records))
        found = sifted.found
        refused = dict(zip(_places(sifted.poison), sifted.faults, strict=True))
        refused |= _by_place(found.records, found.faults)
        is_accepted = ~found.faults.is_faulty
        rows = accepted_rows(found, is_accepted, plan, generation=0)
        written = accepted_records(found, is_accepted)
        try:
            _commit(table, rows)
        except Exception as error:
            if not is_refusal(error):
                raise
            faults = faults_of_refused_rows(
                table, pa.Table.from_batches([rows]), np.asarray(_places(written), dtype=np.int64)
            )
            refused |= _by_place(written, faults)
            _commit(table, rows.filter(pa.array(~faults.is_faulty)))
        return [refused[place] for place in sorted(refused)]

    def _plan(self, stream: str, table: Table) -> StreamPlan:
        if stream not in self._plans:
            spec = self._document.streams[stream].spec
            if spec.schema_registry is not None:
                message = (
                    f"messages or keys of the stream {stream} name their schemas by id, which a test cannot look up\n"
                    "hint: test a stream of the same columns with the schema in its declaration"
                )
                raise UnsupportedFeature(message)
            self._plans[stream] = plan_stream(
                table=self._document.identifier,
                spec=self._document.table,
                stream=spec,
                schema=table.schema,
                other_streams=[entry.spec for entry in self._document.streams.values()],
            )
        return self._plans[stream]

    def _row_differences(
        self, table: Table, expected: Sequence[ExpectedRow], *, now_ms: int
    ) -> Iterator[CaseDifference]:
        lookup = table.lookup_at()
        at = LookedUp(
            lookup=lookup,
            verified_ms=now_ms,
            # Values that are compared, not written: `json_writer` gives a VARIANT as text.
            write_row=partial(json_row, fields=shown_fields(lookup.schema)),
        )
        rules = StatusRules(self._document, lookup.schema)
        for index, wanted in enumerate(expected):
            try:
                (key,) = parse_keys(lookup.schema, [wanted.key])
            except KeyRefused as refused:
                yield from (
                    refused_key(index, f"the key: {one.field}: {one.message}")
                    for one in refused.parameters
                )
                continue
            row = at.get(key)
            status = rules.status(
                key=key,
                row=row,
                now_ms=now_ms,
                snapshot=at.snapshot,
            )
            values = None if row is None else at.write_row(row)
            found = FoundRow(values=values, status=status, reasons={})
            if wanted.reasons:
                found = replace(found, reasons=self._reasons(table, lookup, key))
            yield from row_differences(wanted, found, index)

    def _reasons(
        self, table: Table, lookup: SnapshotLookup, key: Mapping[str, object]
    ) -> dict[str, list[str]]:
        """Return by column the reason of each version of a row, oldest first."""
        streams = VersionStreams(
            document=self._document, schema=lookup.schema, snapshot=lookup.snapshot
        )
        origins = column_origins(table.explain(key, at=lookup), streams)
        return {name: version_reasons(origin) for name, origin in origins.items()}


def _commit(table: Table, rows: pa.RecordBatch) -> None:
    if rows.num_rows:
        commit_rows(table, rows)


def _places(records: pa.RecordBatch) -> list[int]:
    """Return for each row the place of its record in the batch that was read."""
    places: list[int] = records.column(PLACE).to_pylist()
    return places


def _by_place(records: pa.RecordBatch, faults: Faults) -> dict[int, Fault]:
    """Return the faults by the place of their record."""
    places = _places(records)
    return {places[row]: faults[row] for row in faults.rows}
