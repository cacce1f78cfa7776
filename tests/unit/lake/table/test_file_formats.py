"""Tables of ORC, Avro or mixed data files behave like tables of Parquet."""

import random
from collections import Counter
from collections.abc import Mapping

import pyarrow as pa
import pytest

from braid.lake import (
    AddColumn,
    Catalog,
    Condition,
    DropColumn,
    InvalidRequest,
    ManualClock,
    MemoryFileIO,
    RenameColumn,
    SchemaMismatch,
    SetOption,
    Table,
    UnsupportedFeature,
    UpdateColumnType,
    parse_type,
)

FORMATS = {
    "orc": {"file.format": "orc"},
    "avro": {"file.format": "avro"},
    "by level": {"file.format.per.level": "0:avro,5:orc"},
}
COLUMNS = [("k", "INT"), ("t", "INT"), ("a", "STRING"), ("b", "DOUBLE"), ("l", "ARRAY<INT>")]


def given_table(options: Mapping[str, str], **more: str) -> Table:
    return Catalog("/warehouse", file_io=MemoryFileIO()).create_table(
        "db.t", columns=COLUMNS, primary_key=["k"], options={"bucket": "2", **options, **more}
    )


def write(table: Table, first: int, last: int, version: int) -> None:
    keys = range(first, last)
    table.write_and_commit(
        pa.table(
            {
                "k": pa.array(keys, pa.int32()),
                "t": pa.array([version] * len(keys), pa.int32()),
                "a": [f"a{key % 7}" if key % 3 else None for key in keys],
                "l": pa.array([[key, None] for key in keys], pa.list_(pa.int32())),
            }
        )
    )


def rows(table: Table, *where: Condition) -> list[dict[str, object]]:
    found = table.scan(where=where).to_arrow().to_pylist()
    return sorted(found, key=lambda row: row["k"])


def suffixes(table: Table) -> Counter[str]:
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    return Counter(entry.file.file_name.rpartition(".")[2] for entry in table.live_files(snapshot))


@pytest.mark.parametrize("options", FORMATS.values(), ids=FORMATS)
def test_what_is_written_compacted_and_rescaled_reads_as_in_a_parquet_table(
    options: dict[str, str],
) -> None:
    table, model = given_table(options), given_table({})
    for version, (first, last) in enumerate([(0, 50), (25, 80), (10, 30), (0, 3)]):
        for each in (table, model):
            write(each, first, last, version)

    assert rows(table) == rows(model)
    assert set(suffixes(table)) == {"orc" if options == FORMATS["orc"] else "avro"}
    table.compact()
    assert rows(table) == rows(model)
    assert set(suffixes(table)) == {"avro" if options == FORMATS["avro"] else "orc"}
    table.rescale(3)
    assert rows(table) == rows(model)
    write(table, 70, 90, 9)
    write(model, 70, 90, 9)
    assert rows(table) == rows(model)


@pytest.mark.parametrize("options", FORMATS.values(), ids=FORMATS)
@pytest.mark.parametrize(
    "more",
    [
        {"merge-engine": "partial-update", "fields.t.sequence-group": "a,b,l"},
        {"changelog-producer": "lookup"},
        {"changelog-producer": "input", "changelog-file.format": "orc"},
        {"changelog-producer": "full-compaction", "changelog-file.format": "avro"},
        {"deletion-vectors.enabled": "true"},
        {"merge-engine": "first-row", "changelog-producer": "lookup"},
    ],
    ids=lambda more: " ".join(more.values()),
)
def test_every_engine_and_changelog_of_a_format_is_that_of_parquet(
    options: dict[str, str], more: dict[str, str]
) -> None:
    found = []
    for each in (given_table(options, **more), given_table({}, **more)):
        write(each, 0, 40, 1)
        each.compact()
        write(each, 20, 60, 2)
        write(each, 50, 55, 0)
        each.compact(full=False)
        write(each, 0, 1, 3)
        each.compact()
        changes = each.changes(0).to_arrow().to_pylist()
        found.append((rows(each), sorted(map(repr, changes)), each.get({"k": 52})))

    assert found[0] == found[1]


@pytest.mark.parametrize("options", FORMATS.values(), ids=FORMATS)
def test_bounds_of_keys_and_values_leave_files_out(options: dict[str, str]) -> None:
    table = given_table(options)
    write(table, 0, 10, 1)
    write(table, 100, 110, 2)
    snapshot = table.latest_snapshot()
    assert snapshot is not None

    files = [entry.file for entry in table.live_files(snapshot)]
    scan = table.scan(where=[Condition(column="k", op=">", value=50)])

    assert all(file.value_stats.null_counts[3] == file.row_count for file in files)
    assert scan.to_arrow().num_rows == 10
    assert (len(files), scan.counters.files) == (4, 2)


def test_a_table_may_change_its_format_and_then_its_columns() -> None:
    table = given_table({"bucket": "1"})
    for version, file_format in enumerate(["parquet", "orc", "avro"]):
        table.alter(SetOption(key="file.format", value=file_format))
        write(table, version * 10, version * 10 + 20, version)
    before = rows(table)

    table.alter(
        UpdateColumnType(path=("t",), type=parse_type("STRING")),
        RenameColumn(path=("l",), name="list"),
        DropColumn(path=("b",)),
        AddColumn(path=("n",), type=parse_type("DECIMAL(30, 2)")),
    )
    after = [
        {"k": r["k"], "t": str(r["t"]), "a": r["a"], "list": r["l"], "n": None} for r in before
    ]

    assert sorted(suffixes(table)) == ["avro", "orc", "parquet"]
    assert rows(table) == after
    assert table.get({"k": 39}) == after[-1]
    assert rows(table, Condition(column="t", op="=", value="0")) == after[:10]
    table.compact()
    assert suffixes(table) == {"avro": 1}
    assert rows(table) == after


def test_what_an_alteration_declares_must_be_writable() -> None:
    table = given_table({"file.format": "avro"})

    with pytest.raises(UnsupportedFeature, match=r"lance"):
        table.alter(SetOption(key="file.format", value="lance"))
    with pytest.raises(UnsupportedFeature, match=r"for avro files set one of zstd"):
        table.alter(SetOption(key="file.compression", value="gzip"))
    with pytest.raises(UnsupportedFeature, match=r"w: Avro files hold at most 6 fractional digits"):
        table.alter(AddColumn(path=("w",), type=parse_type("TIMESTAMP(9)")))
    with pytest.raises(InvalidRequest, match=r"file\.format\.per\.level.*0:avro,3:parquet"):
        table.alter(SetOption(key="file.format.per.level", value="avro"))
    assert table.schema.id == 0


@pytest.mark.parametrize("options", FORMATS.values(), ids=FORMATS)
def test_unreferenced_files_are_deleted(options: dict[str, str]) -> None:
    file_io, clock = MemoryFileIO(), ManualClock()
    table = Catalog("/warehouse", file_io=file_io, clock=clock).create_table(
        "db.t", columns=COLUMNS, primary_key=["k"], options={"bucket": "1", **options}
    )
    for version in range(3):
        write(table, 0, 30, version)
    table.compact()
    kept = rows(table)
    clock.advance(ms=7_200_000)

    table.expire(retain_min=1, retain_max=1)
    data = list(file_io.list(f"{table.path}/bucket-0"))

    assert len(data) == 1
    assert table.clean_orphans(min_age_ms=0).files == ()
    assert rows(table) == kept


@pytest.mark.parametrize("file_format", ["orc", "avro"])
def test_a_run_of_several_files_ends_near_the_target(file_format: str) -> None:
    table = given_table({"file.format": file_format, "bucket": "1", "target-file-size": "64 kb"})
    chance = random.Random(1)
    keys = range(40_000)
    texts = ["".join(chance.choices("abcdefgh", k=9)) for _ in keys]
    table.write_and_commit(pa.table({"k": pa.array(keys, pa.int32()), "a": texts}))
    table.compact()
    snapshot = table.latest_snapshot()
    assert snapshot is not None

    sizes = [entry.file.file_size for entry in table.live_files(snapshot)]

    # ORC holds rows back until they make a stripe, so of small files the size is a guess.
    assert sum(sizes) / len(sizes) > 65_536 / 2
    assert max(sizes) < 3 * 65_536
    assert table.scan().to_arrow().num_rows == 40_000


def test_times_that_orc_cannot_keep_are_refused_with_their_column() -> None:
    table = Catalog("/warehouse", file_io=MemoryFileIO()).create_table(
        "db.t",
        columns=[("k", "INT"), ("w", "TIMESTAMP(6)"), ("r", "ROW<at TIMESTAMP(3)>")],
        primary_key=["k"],
        options={"bucket": "1", "file.format": "orc"},
    )
    kinds = table.schema.arrow_schema
    for name, value, message in (
        ("w", -253_402_214_400_000_000, "years 1677 to 2262"),
        ("w", -1, "fraction of a second before 1970"),
        ("r", {"at": 253_402_214_400_000}, "years 1677 to 2262"),
    ):
        column = pa.array([None, value], kinds.field(name).type)
        with pytest.raises(SchemaMismatch, match=f"{name}: .*{message}"):
            table.write_and_commit(pa.table({"k": pa.array([1, 2], pa.int32()), name: column}))
    whole = pa.array([-1_000_000], kinds.field("w").type)
    table.write_and_commit(pa.table({"k": pa.array([1], pa.int32()), "w": whole}))
    assert table.scan(columns=["w"]).to_arrow()["w"].cast(pa.int64()).to_pylist() == [-1_000_000]


def test_chars_that_orc_cannot_keep_are_refused_with_their_column() -> None:
    """`ab` and `ab  ` are two keys in two buckets when they come, and would be read as one."""
    table = Catalog("/warehouse", file_io=MemoryFileIO()).create_table(
        "db.t",
        columns=[("k", "CHAR(4)"), ("a", "ARRAY<ROW<c CHAR(2)>>"), ("v", "VARCHAR(4)")],
        primary_key=["k"],
        options={"bucket": "8", "file.format": "orc"},
    )
    kinds = table.schema.arrow_schema
    for name, row, value in (
        ("k", {"k": "ab  "}, "ab  "),
        ("a", {"k": "x", "a": [{"c": "y"}, {"c": "z "}]}, "z "),
    ):
        with pytest.raises(SchemaMismatch, match=f"{name}: a CHAR that ends in blanks") as caught:
            table.write_and_commit(pa.Table.from_pylist([{"k": "ab"}, row], schema=kinds))
        assert caught.value.problems[0].value == value
    rows = [{"k": "ab", "a": [{"c": ""}], "v": "v  "}]
    table.write_and_commit(pa.Table.from_pylist(rows, schema=kinds))
    assert table.scan().to_arrow().to_pylist() == rows


def test_chars_of_parquet_files_are_not_rewritten_to_orc_with_other_values() -> None:
    table = Catalog("/warehouse", file_io=MemoryFileIO()).create_table(
        "db.t", columns=[("k", "CHAR(4)")], primary_key=["k"], options={"bucket": "1"}
    )
    rows = pa.table({"k": ["ab", "ab  "]})
    table.write_and_commit(rows)
    table.write_and_commit(pa.table({"k": ["c"]}))
    table.alter(SetOption(key="file.format", value="orc"))

    with pytest.raises(SchemaMismatch, match="_KEY_k: a CHAR that ends in blanks"):
        table.compact()
    assert table.scan().to_arrow()["k"].to_pylist() == ["ab", "ab  ", "c"]
    table.alter(SetOption(key="file.format", value="parquet"))
    table.compact()


@pytest.mark.parametrize("written", ["orc", "parquet"])
def test_chars_that_a_cast_has_filled_are_cut_when_orc_files_are_rewritten(written: str) -> None:
    table = Catalog("/warehouse", file_io=MemoryFileIO()).create_table(
        "db.t",
        columns=[("k", "INT"), ("v", "STRING"), ("l", "ARRAY<CHAR(3)>")],
        primary_key=["k"],
        options={
            "bucket": "1",
            "file.format": written,
            "file-index.bloom-filter.columns": "v",
            "deletion-vectors.enabled": "true",
        },
    )
    one = {"k": 1, "v": "ab", "l": ["x  ", None] if written == "parquet" else ["x", None]}
    kinds = table.schema.arrow_schema
    table.write_and_commit(pa.Table.from_pylist([{"k": 0, "v": "a"}, one], schema=kinds))
    table.alter(
        UpdateColumnType(path=("v",), type=parse_type("CHAR(4)")),
        SetOption(key="file.format", value="orc"),
    )
    table.write_and_commit(pa.Table.from_pylist([{"k": 3, "v": "c"}], schema=kinds))

    table.compact()

    assert set(suffixes(table)) == {"orc"}
    where = [Condition(column="v", op="=", value="ab")]
    assert table.scan(where=where).to_arrow().to_pylist() == [{"k": 1, "v": "ab", "l": ["x", None]}]
    assert table.scan(columns=["v"]).to_arrow()["v"].to_pylist() == ["a", "ab", "c"]
