"""VARIANT columns of tables: declaration, files, merging, lookups, compaction, changes of the schema."""

import io
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from braid.lake import (
    VARIANT_TYPE,
    AddColumn,
    Catalog,
    InvalidRequest,
    ManualClock,
    MemoryFileIO,
    SchemaMismatch,
    Table,
    UnsupportedFeature,
    UpdateColumnType,
    json_of_variant,
    json_of_variants,
    parse_type,
    variants_of_json,
)
from braid.lake.files.declared_type import to_declared_type

COLUMNS = [("k", "INT NOT NULL"), ("g", "INT"), ("v", "VARIANT"), ("w", "ARRAY<VARIANT>")]
GROUP = {"merge-engine": "partial-update", "fields.g.sequence-group": "v,w", "bucket": "1"}


@pytest.fixture
def file_io() -> MemoryFileIO:
    """An empty storage."""
    return MemoryFileIO()


@pytest.fixture
def catalog(file_io: MemoryFileIO) -> Catalog:
    """A catalog in memory."""
    return Catalog("/wh", file_io=file_io, clock=ManualClock(start_ms=5), random=random.Random(1))


def rows(*given: tuple[int, int | None, str | None]) -> pa.Table:
    """Return rows of key, order and JSON text."""
    keys, orders, texts = zip(*given, strict=True)
    return pa.table({"k": keys, "g": orders, "v": variants_of_json(pa.array(texts, pa.string()))})


def texts(table: Table) -> list[str | None]:
    """Return the values of `v`, by key."""
    return list(json_of_variants(table.scan().to_arrow().sort_by("k").column("v")).to_pylist())


def found(table: Table, key: int) -> str | None:
    """Return the value of `v` that a lookup finds."""
    row = table.get({"k": key})
    value = None if row is None else row["v"]
    return None if value is None else json_of_variant(**value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"merge-engine": "partial-update", "fields.g.sequence-group": "v"},
        {"merge-engine": "deduplicate", "deletion-vectors.enabled": "true"},
        {"merge-engine": "aggregation", "fields.v.aggregate-function": "last_non_null_value"},
        {"merge-engine": "deduplicate", "changelog-producer": "lookup"},
    ],
    ids=["deduplicate", "sequence group", "deletion vectors", "aggregation", "changelog"],
)
def test_values_are_merged_as_a_whole(catalog: Catalog, options: dict[str, str]) -> None:
    columns = [*COLUMNS[:2], ("v", "VARIANT")]
    table = catalog.create_table(
        "d.t", columns=columns, primary_key=["k"], options={"bucket": "1", **options}
    )
    table.write_and_commit(rows((1, 1, '{"a":1}'), (2, 1, None), (3, 1, "null")))
    table.write_and_commit(rows((1, 2, '{"b":2}'), (2, 2, "[1.5]")))
    table.compact()
    table.write_and_commit(rows((3, 3, '"x"')))
    table.compact()

    assert texts(table) == ['{"b":2}', "[1.5]", '"x"']
    assert [found(table, key) for key in (1, 2, 3, 4)] == ['{"b":2}', "[1.5]", '"x"', None]


def test_a_late_value_loses_and_a_null_of_json_wins(catalog: Catalog) -> None:
    table = catalog.create_table("d.t", columns=COLUMNS, primary_key=["k"], options=GROUP)
    table.write_and_commit(rows((1, 5, '{"a":1}'), (2, 5, '{"a":1}')))
    table.write_and_commit(rows((1, 4, '{"a":0}'), (2, 6, "null")))

    assert texts(table) == ['{"a":1}', "null"]
    explained = table.explain({"k": 1})
    assert explained.row is not None
    assert explained.columns["v"].winner == 0


def test_a_record_without_a_value_is_folded_with_others(catalog: Catalog) -> None:
    columns = [("k", "INT NOT NULL"), ("g", "INT"), ("v", "VARIANT"), ("r", "ROW<a INT NOT NULL>")]
    options = {"merge-engine": "partial-update", "fields.g.sequence-group": "v,r", "bucket": "1"}
    table = catalog.create_table("d.t", columns=columns, primary_key=["k"], options=options)
    table.write_and_commit(rows((1, 1, "[1]"), (1, 2, None), (2, 1, None), (2, 2, "[2]")))
    table.write_and_commit(rows((1, None, "[3]"), (3, 1, None), (4, None, "[4]"), (4, None, "[5]")))
    table.compact()

    assert texts(table) == [None, "[2]", None, None]


def test_files_are_as_paimon_writes_them(catalog: Catalog, file_io: MemoryFileIO) -> None:
    table = catalog.create_table("d.t", columns=COLUMNS, primary_key=["k"], options=GROUP)
    table.write_and_commit(rows((1, 1, '{"a":1}')))

    (path,) = (entry.path for entry in file_io.list("/wh/d.db/t/bucket-0"))
    schema = pq.ParquetFile(io.BytesIO(file_io.read_bytes(path))).schema.to_arrow_schema()
    field = schema.field("v")
    assert (field.nullable, field.metadata[b"PARQUET:field_id"]) == (True, b"2")
    assert [(part.name, part.type, part.nullable) for part in field.type] == [
        ("value", pa.binary(), False),
        ("metadata", pa.binary(), False),
    ]
    assert [part.metadata[b"PARQUET:field_id"] for part in field.type] == [b"0", b"1"]


def test_columns_are_added_and_keep_their_type(catalog: Catalog) -> None:
    columns = [("k", "INT NOT NULL"), ("g", "INT")]
    table = catalog.create_table("d.t", columns=columns, primary_key=["k"], options={"bucket": "1"})
    table.write_and_commit(pa.table({"k": [1], "g": [1]}))

    table.alter(AddColumn(path=("v",), type=parse_type("VARIANT")))
    table.write_and_commit(rows((2, 1, "[1]")))

    assert texts(table) == [None, "[1]"]
    for other in ("STRING", "BYTES", "ROW<a INT>"):
        with pytest.raises(InvalidRequest):
            table.alter(UpdateColumnType(path=("v",), type=parse_type(other)))
    with pytest.raises(InvalidRequest):
        table.alter(UpdateColumnType(path=("g",), type=parse_type("VARIANT")))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"primary_key": ["k", "v"]}, "a key column cannot be"),
        ({"options": {"sequence.field": "v"}}, "VARIANT values have no order"),
        ({"options": {"sequence.field": "w"}}, "VARIANT values have no order"),
        (
            {"options": {"merge-engine": "partial-update", "fields.v.sequence-group": "g"}},
            "VARIANT values have no order",
        ),
        (
            {"options": {"merge-engine": "aggregation", "fields.v.aggregate-function": "max"}},
            "VARIANT",
        ),
        ({"options": {"file.format": "orc"}}, "only Parquet files hold VARIANT"),
        ({"options": {"file.format.per.level": "0:avro"}}, "only Parquet files hold VARIANT"),
        ({"options": {"file-index.bloom-filter.columns": "v"}}, "VARIANT"),
        ({"columns": [*COLUMNS, ("p", "VARIANT NOT NULL")], "partition_keys": ["p"]}, "key column"),
    ],
)
def test_what_values_without_order_cannot_do_is_refused(
    catalog: Catalog, changes: dict[str, object], message: str
) -> None:
    declared = {"columns": COLUMNS, "primary_key": ["k"], "options": {}} | changes

    with pytest.raises(InvalidRequest, match=message):
        catalog.create_table("d.t", **declared)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "value",
    [
        {"value": b"\0", "metadata": b""},
        {"value": b"", "metadata": b"\1\0\0"},
        {"value": b"\0", "metadata": b"\2\0\0"},
        {"value": None, "metadata": b"\1\0\0"},
    ],
)
def test_bytes_that_no_reader_opens_are_not_written(
    catalog: Catalog, value: dict[str, bytes]
) -> None:
    table = catalog.create_table("d.t", columns=COLUMNS, primary_key=["k"], options=GROUP)
    plain = pa.struct([("value", pa.binary()), ("metadata", pa.binary())])

    with pytest.raises(SchemaMismatch, match="row 1: the value is no VARIANT value"):
        table.write_and_commit(
            pa.table(
                {
                    "k": [1, 2],
                    "g": [1, 1],
                    "v": pa.array([{"value": b"\0", "metadata": b"\1\0\0"}, value], plain),
                }
            )
        )


def test_shredded_values_are_refused_by_name() -> None:
    typed = pa.struct([("value", pa.binary()), ("typed_value", pa.int64())])
    stored = pa.struct(
        [
            ("metadata", pa.binary()),
            ("value", pa.binary()),
            ("typed_value", pa.struct([("a", typed)])),
        ]
    )
    for column, target in (
        (pa.nulls(2, stored), VARIANT_TYPE),
        (pa.nulls(2, pa.list_(stored)), pa.list_(VARIANT_TYPE)),
        (pa.nulls(2, pa.map_(pa.string(), stored)), pa.map_(pa.string(), VARIANT_TYPE)),
        (pa.nulls(2, pa.struct([("x", stored)])), pa.struct([("x", VARIANT_TYPE)])),
    ):
        with pytest.raises(UnsupportedFeature, match="shredded"):
            to_declared_type(column, target)
