"""The columns and rows of a table that is altered, as a model has them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import pyarrow as pa
from hypothesis import strategies as st

from braid.lake import SchemaChange, TableSchema
from tests.property.evolving_columns import Column, Values, copy_of, take_ids
from tests.property.schema_steps import Roles, drawn_change

DELETE: Final = 3
K, P, G, A, B = range(5)
"""Ids of the columns that have a part in keys or options."""


def first_columns() -> list[Column]:
    """Return the columns that the table is made with."""
    return [
        Column("k", "count", "INT", nullable=False),
        Column("p", "text", "STRING", nullable=False),
        Column("g", "count", "INT"),
        Column("a", "count", "BIGINT"),
        Column("b", "half", "DOUBLE"),
        Column("n", "count", "INT", nullable=False),
        Column("c", "whole", "STRING"),
        Column("s", "text", "STRING"),
        Column("d", "day", "DATE"),
        Column(
            "r",
            "row",
            fields=[
                Column("a", "whole", "INT"),
                Column("b", "row", fields=[Column("a", "half", "FLOAT")]),
            ],
        ),
        Column("l", "list", fields=[Column("a", "text", "STRING")]),
        Column("m", "map", fields=[Column("a", "day", "DATE"), Column("b", "whole", "INT")]),
    ]


Row: TypeAlias = Values
Key: TypeAlias = tuple[int, str]
Rows: TypeAlias = dict[Key, Row]


def replace_row(_: Row | None, given: Row, kind: int) -> Row | None:
    """Deduplicate: the last record is the row, a -D removes it."""
    return None if kind == DELETE else given


def update_row(old: Row | None, given: Row, _: int) -> Row:
    """Partial-update: a and b go with the newest g, of all else the last that is not null."""
    if old is None:
        return given
    group = {id_: given.get(id_) for id_ in (G, A, B)}
    if group[G] is None or (old.get(G) is not None and old[G] > group[G]):
        group = {id_: old.get(id_) for id_ in (G, A, B)}
    return {**old, **not_null(given), **group}


def add_up(old: Row | None, given: Row, _: int) -> Row:
    """Aggregation: g is a sum, a a maximum, of all else the last that is not null."""
    if old is None:
        return given
    row = {**old, **not_null(given)}
    both = {id_: [one[id_] for one in (old, given) if one.get(id_) is not None] for id_ in (G, A)}
    row[G] = sum(both[G]) if both[G] else None
    row[A] = max(both[A], default=None)
    return row


def keep_first(old: Row | None, given: Row, _: int) -> Row:
    """First-row: the first record is the row."""
    return given if old is None else old


def not_null(row: Row) -> Row:
    return {id_: value for id_, value in row.items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class Engine:
    """A merge engine.

    Attributes:
        options: That say it to the table.
        apply: From a key's row, if it has one, a record and its kind to the row.
        named: Ids of the columns that the options name.
    """

    options: Mapping[str, str]
    apply: Callable[[Row | None, Row, int], Row | None]
    named: frozenset[int] = frozenset()


ENGINES: Final[Mapping[str, Engine]] = {
    "deduplicate": Engine(options={}, apply=replace_row),
    "partial-update": Engine(
        options={"merge-engine": "partial-update", "fields.g.sequence-group": "a,b"},
        apply=update_row,
        named=frozenset({G, A, B}),
    ),
    "aggregation": Engine(
        options={
            "merge-engine": "aggregation",
            "fields.g.aggregate-function": "sum",
            "fields.a.aggregate-function": "max",
            "fields.default-aggregate-function": "last_non_null_value",
        },
        apply=add_up,
        named=frozenset({G, A}),
    ),
    "first-row": Engine(options={"merge-engine": "first-row"}, apply=keep_first),
}


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Records to write.

    Attributes:
        records: Under the columns of a schema.
        kinds: Of each, 0 (+I) or 3 (-D).
        given: The columns that are written; the others are left out.
    """

    records: Sequence[Row]
    kinds: Sequence[int]
    given: Sequence[Column]

    def arrow(self, schema: TableSchema) -> pa.Table:
        """Return the records under a schema's types."""
        return pa.table(
            {
                one.name: pa.array(
                    [one.shown(record.get(one.known_id)) for record in self.records],
                    schema.arrow_schema.field(one.name).type,
                )
                for one in self.given
            }
        )


class EvolvingModel:
    """What a table is, and was under each of its schemas.

    Attributes:
        engine: Of the table.
        columns: Of the newest schema.
        versions: Columns of each schema, by id.
        roles: Of the columns.
    """

    def __init__(self, engine: Engine, schema: TableSchema) -> None:
        """Take over a table that was made with `first_columns`."""
        self.engine = engine
        self.columns = first_columns()
        take_ids(self.columns, schema, above=-1)
        assert [one.id for one in self.columns[:5]] == [K, P, G, A, B]
        fixed = {P} if schema.partition_keys else set()
        self.roles = Roles(keys={K, P}, fixed=fixed, named=engine.named)
        self.versions = {schema.id: copy_of(self.columns)}
        self._highest_id = schema.highest_field_id

    @property
    def newest_schema(self) -> int:
        """Id of the newest schema."""
        return max(self.versions)

    def drawn_changes(self, data: st.DataObject) -> tuple[list[SchemaChange], list[Column]]:
        """Draw changes, and return what they make of the columns."""
        columns = copy_of(self.columns)
        count = data.draw(st.sampled_from([1, 1, 2, 3]))
        drawn = [drawn_change(data, columns, self.roles) for _ in range(count)]
        return [change for change in drawn if change is not None], columns

    def follow(self, schema: TableSchema, columns: list[Column]) -> None:
        """Check that a schema has the columns that were to be expected, and go on with it."""
        take_ids(columns, schema, above=self._highest_id)
        assert schema.id - self.newest_schema in (0, 1)
        self._highest_id = schema.highest_field_id
        self.columns = columns
        self.versions[schema.id] = copy_of(columns)

    def drawn_batch(self, data: st.DataObject, under: Sequence[Column]) -> Batch:
        """Draw records under the columns of a schema."""
        records = data.draw(st.lists(_records(under), min_size=1, max_size=6))
        kinds = [0] * len(records)
        if self.engine.apply is replace_row:
            kinds = [data.draw(st.sampled_from([0, 0, 0, DELETE])) for _ in records]
        may_lack = [one for one in under if one.nullable]
        lacking = data.draw(st.lists(st.sampled_from(may_lack), max_size=4, unique_by=id))
        given = [one for one in under if one not in lacking]
        whole = [self._with_whole_group(record, given) for record in records]
        return Batch(records=whole, kinds=kinds, given=given)

    def written(self, rows: Rows, batch: Batch) -> Rows:
        """Return the rows after a batch was written."""
        written = dict(rows)
        for record, kind in zip(batch.records, batch.kinds, strict=True):
            row = self._arrived(record)
            key = row[K], row[P]
            found = self.engine.apply(written.get(key), row, kind)
            written.pop(key, None)
            if found is not None:
                written[key] = found
        return written

    def _with_whole_group(self, record: Row, given: Sequence[Column]) -> Row:
        """Return what is given of a record; without values of the group if it has no g.

        A lone record is kept untouched, a merged one loses them (merge-semantics 1.6), so the answer
        would depend on how records meet in files.
        """
        row = {one.known_id: record[one.known_id] for one in given}
        if self.engine.apply is update_row and row.get(G) is None:
            row |= {A: None, B: None}
        return row

    def _arrived(self, record: Row) -> Row:
        """Return a record as it is stored: with defaults."""
        row = dict(record)
        for one in self.columns:
            if one.default is not None and row.get(one.known_id) is None:
                row[one.known_id] = one.default
        return row


def _records(columns: Sequence[Column]) -> st.SearchStrategy[Row]:
    """Return what draws a record under the columns of a schema."""
    values = {one.known_id: one.values() for one in columns}
    values[K], values[P] = st.integers(0, 4), st.sampled_from(["", "é/b"])
    return st.fixed_dictionaries(values)
