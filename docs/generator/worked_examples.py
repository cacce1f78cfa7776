"""Worked examples: records of one key, and the row that a table returns after each record."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from braid.lake import Catalog, MemoryFileIO, Table
from docs.generator.value_text import value_text

KINDS = {"+I": 0, "-U": 1, "+U": 2, "-D": 3}
NO_ROW = "no row"

Records = Sequence[Sequence[object]]
"""Records; each is a kind followed by a value for every column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkedExample:
    """Records of one key and the table that merges them.

    Attributes:
        title: What the example shows; empty if the page has no other example.
        columns: SQL type by name; the first is the key.
        options: Options of the table.
        records: The records, one commit each.
        shown: Columns whose values are shown.
        as_text: The text of a value that is bytes; None without such columns.
        is_compacted: Whether the table is compacted fully after each commit.
    """

    title: str = ""
    columns: Mapping[str, str]
    options: Mapping[str, str]
    records: Records
    shown: tuple[str, ...]
    as_text: Callable[[object], str] | None = None
    is_compacted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One record of an example and the row after it.

    Attributes:
        record: The record's kind and its shown values.
        row: The shown values of the row, or `NO_ROW`.
    """

    record: tuple[str, ...]
    row: tuple[str, ...] | str


def answers(example: WorkedExample) -> list[Answer]:
    """Return the row after each record, each record in a commit of its own."""
    table = _table(example)
    return [_answer(table, example, record) for record in example.records]


def _table(example: WorkedExample) -> Table:
    return Catalog("/docs", file_io=MemoryFileIO()).create_table(
        "docs.example",
        columns=list(example.columns.items()),
        primary_key=[next(iter(example.columns))],
        options={"bucket": "1", **example.options},
    )


def _answer(table: Table, example: WorkedExample, record: Sequence[object]) -> Answer:
    kind, *values = record
    arrow = table.schema.arrow_schema
    columns = [pa.array([value], part.type) for value, part in zip(values, arrow, strict=True)]
    table.write_and_commit(
        pa.Table.from_arrays(columns, schema=pa.schema(list(arrow))),
        kinds=pa.array([KINDS[str(kind)]], pa.int8()),
    )
    if example.is_compacted:
        table.compact()
    written = dict(zip(example.columns, values, strict=True))
    return Answer(
        record=(str(kind), *_texts(example, written, arrow)), row=_row(table, example, arrow)
    )


def _row(table: Table, example: WorkedExample, arrow: pa.Schema) -> tuple[str, ...] | str:
    rows = table.scan().to_arrow().to_pylist()
    return _texts(example, rows[0], arrow) if rows else NO_ROW


def _texts(example: WorkedExample, row: Mapping[str, object], arrow: pa.Schema) -> tuple[str, ...]:
    return tuple(_text(example, row[name], arrow.field(name).type) for name in example.shown)


def _text(example: WorkedExample, value: object, kind: pa.DataType) -> str:
    if isinstance(value, bytes) and example.as_text is not None:
        return example.as_text(value)
    return value_text(value, kind)
