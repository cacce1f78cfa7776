"""Carries out generated cases with our engine, on disk, and shows tables as the comparison wants them."""

import itertools
from pathlib import Path

import pyarrow as pa

from braid.lake import Catalog, LocalFileIO, Machine, Table
from tests.conformance.case import Case
from tests.conformance.execute import create_declared, write_rows
from tests.conformance.values import Json, to_json


def write_case(case: Case, warehouse: Path) -> Table:
    """Create the table of a case under `<warehouse>/t.db/<id>` and do its steps.

    The machines take turns, so that files of both are in the table.
    """
    table = create_declared(case, Catalog(str(warehouse), file_io=LocalFileIO()), case.id)
    for step, machine in zip(case.steps, itertools.cycle(Machine), strict=False):
        if step.kind == "compact":
            table.compact(machine=machine)
        else:
            write_rows(table, step.action["write"], case.arrow_schema, machine=machine)
    return table


def open_table(path: Path) -> Table:
    """Open a table directory afresh, whoever wrote it."""
    return Table.open(str(path), file_io=LocalFileIO())


def json_rows(table: pa.Table) -> list[list[Json]]:
    """Return the rows of an Arrow table in the conformance format."""
    columns = [to_json(column) for column in table.columns]
    return [list(row) for row in zip(*columns, strict=True)]
