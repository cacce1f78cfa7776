"""Columns of files: by the stream's fields, by names and by `--columns`; what cannot work is refused at once."""

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from braid.backfill.files.csv_file import CsvOptions
from braid.backfill.files.file_mapping import parse_fields
from braid.lake import InvalidRequest
from tests.unit.backfill.bed import PARCELS, BackfillBed

COLUMNS = [
    {"column": "id", "source": "key"},
    {"column": "version", "path": "meta.version"},
    {"column": "city", "path": "to.city"},
    {"column": "weight"},
]


@pytest.fixture
def bed(tmp_path: Path) -> BackfillBed:
    """Return a stream that reads its key from the Kafka key, and columns from objects in the message."""
    return BackfillBed(tmp_path, stream={"columns": COLUMNS})


def test_a_field_is_that_of_the_stream_else_that_of_the_columns_name(bed: BackfillBed) -> None:
    write(bed, "a", {"id": 1, "meta": {"version": 2}, "city": "by name"})
    write(bed, "b", {"id": 2, "version": 3, "to": {"city": "by path"}, "city": "not this"})

    bed.backfill().run()

    assert bed.rows("id", "version", "city") == [(1, 2, "by name"), (2, 3, "by path")]


def test_given_fields_come_before_all_others(bed: BackfillBed) -> None:
    write(bed, "a", {"id": 1, "no": {"order": 7}, "version": 3, "city": "x"})

    bed.backfill(files={"fields": parse_fields(["id=no.order", "city = city"])}).run()

    assert bed.rows("id", "city") == [(7, "x")]


@pytest.mark.parametrize(
    ("row", "fields", "field", "words"),
    [
        ({"version": 1}, {}, "--columns", "no field for the column id"),
        ({"id": 1}, {}, "--columns", "no field for the column version"),
        ({"id": "x", "version": 1}, {}, "id", "the field is a text, not BIGINT"),
        ({"id": 1, "version": 1}, {"x": "id"}, "--columns", "does not fill this column"),
        ({"id": 1, "version": 1}, {"city": "town"}, "--columns", "has no such field"),
    ],
)
def test_files_that_cannot_fill_the_columns_are_refused(
    bed: BackfillBed, row: dict[str, Any], fields: dict[str, str], field: str, words: str
) -> None:
    write(bed, "a", row)

    with pytest.raises(InvalidRequest) as caught:
        bed.backfill(files={"fields": fields}).run()

    assert caught.value.problems[0].field == field
    assert words in caught.value.problems[0].message
    assert bed.table.latest_snapshot() is None


def test_a_file_that_is_damaged_is_refused_by_name(bed: BackfillBed) -> None:
    write(bed, "a", {"id": 1, "version": 1})
    (bed.files / "b.parquet").write_bytes(b"PAR1, not")

    with pytest.raises(InvalidRequest, match=r"b\.parquet cannot be read"):
        bed.backfill().run()


def test_conditions_apply_where_the_files_have_their_fields(tmp_path: Path) -> None:
    spec = PARCELS | {"deletes": "clear_columns"}
    stream = {
        "where": "kind = 'parcel'",
        "delete_when": "op = 'd'",
        "on_delete": "clear_columns",
        "columns": [{"column": name} for name in ("id", "version", "city", "weight")],
    }
    rows = [
        {"id": 1, "version": 1, "city": "x", "kind": "parcel", "op": "u"},
        {"id": 1, "version": 2, "city": "y", "kind": "parcel", "op": "d"},
        {"id": 2, "version": 1, "city": "z", "kind": "letter", "op": "u"},
    ]
    found = {}
    for ending in ("json", "parquet", "csv"):
        bed = BackfillBed(tmp_path / ending, spec=spec, stream=stream)
        path = bed.files / f"a.{ending}"
        if ending == "json":
            path.write_text("\n".join(map(json.dumps, rows)))
        elif ending == "parquet":
            pq.write_table(pa.Table.from_pylist(rows), path)
        else:
            path.write_text("id;city;version;kind\n1;'x;y';1;parcel\n2;z;1;letter\n")
        csv = CsvOptions(delimiter=";", quote="'")
        account = bed.backfill(files={"csv": csv}).run().account
        found[ending] = (bed.rows("id", "city", "s__op"), account.ignored)

    cleared = ([(1, None, "clear")], 1)
    assert found == {"json": cleared, "parquet": cleared, "csv": ([(1, "x;y", "upsert")], 1)}


def test_a_condition_over_a_part_of_the_record_does_not_apply_to_files(tmp_path: Path) -> None:
    where = "header(type) = 'parcel' AND city = 'x'"
    bed = BackfillBed(tmp_path, stream={"columns": COLUMNS, "where": where})
    write(bed, "a", {"id": 1, "version": 1, "city": "y"})

    bed.backfill().run()

    assert bed.rows("id", "city") == [(1, "y")]
    assert bed.notices == [
        f"`where` does not apply to the rows of {bed.files}/a.parquet and of other files for which the same is true: "
        "it reads parts of a Kafka record, which no file has"
    ]


def test_a_condition_that_does_not_apply_to_a_later_file_is_told_once(tmp_path: Path) -> None:
    bed = BackfillBed(tmp_path, stream={"columns": COLUMNS, "where": "kind = 'p' AND x.y = 1"})
    whole = {"version": 1, "city": "y", "kind": "p", "x": {"y": 1}}
    write(bed, "a", {"id": 1, **whole})
    for number, name in enumerate("bc", 2):
        write(bed, name, {"id": number, "version": 1, "city": "z", "kind": "q"})
    write(bed, "d", {"id": 4, **whole, "kind": "q"})

    bed.backfill().run()

    assert bed.rows("id") == [(1,), (2,), (3,)]
    assert bed.notices == [
        f"`where` does not apply to the rows of {bed.files}/b.parquet and of other files for which the same is true: "
        "the file has no field `x.y`"
    ]


def test_a_kept_column_without_a_field_keeps_and_time_formats_are_read(tmp_path: Path) -> None:
    spec = {
        "columns": [
            {"name": "id", "type": "BIGINT"},
            {"name": "version", "type": "INT"},
            {"name": "city", "type": "STRING"},
            {"name": "sent", "type": "TIMESTAMP(3)"},
        ],
        "primary_key": ["id"],
        "sequence_groups": [
            {"name": "s", "ordering": ["version"], "columns": ["city", "sent"], "keep": ["city"]}
        ],
    }
    columns = [{"column": name} for name in ("id", "version", "city")]
    stream = {"columns": [*columns, {"column": "sent", "time_format": "epoch_ms"}]}
    bed = BackfillBed(tmp_path, spec=spec, stream=stream)
    bed.live({"id": 1, "version": 1, "city": "kept"}, {"id": 2, "version": 1, "city": "kept"})
    (bed.files / "a.csv").write_text("id,version,sent\n1,2,1767323045678\n")
    (bed.files / "b.csv").write_text("id,version,city\n2,2,\n")

    bed.backfill().run()

    assert [(row[0], row[1], str(row[2])) for row in bed.rows("id", "city", "sent")] == [
        (1, "kept", "2026-01-02 03:04:05.678000"),
        (2, None, "None"),
    ]


@pytest.mark.parametrize("ending", ["json", "parquet", "csv", "avro"])
def test_a_column_that_every_row_needs_has_its_default_without_a_field(
    tmp_path: Path, ending: str
) -> None:
    spec = {
        "columns": [
            {"name": "id", "type": "BIGINT"},
            {"name": "version", "type": "INT"},
            {"name": "weight", "type": "DECIMAL(10, 2) NOT NULL"},
        ],
        "primary_key": ["id"],
        "merge_engine": "deduplicate",
        "options": {"sequence.field": "version"},
    }
    columns = [
        {"column": "id"},
        {"column": "version", "default": 3},
        {"column": "weight", "default": "0.50"},
    ]
    bed = BackfillBed(tmp_path, spec=spec, stream={"columns": columns})
    path, row = bed.files / f"a.{ending}", {"id": 1, "city": "x"}
    match ending:
        case "json":
            path.write_text(json.dumps(row))
        case "parquet":
            write(bed, "a", row)
        case "csv":
            path.write_text("id,city\n1,x\n")
        case _:
            types = {"id": "long", "city": "string"}
            fields = [{"name": name, "type": of} for name, of in types.items()]
            with path.open("wb") as file:
                fastavro.writer(file, {"type": "record", "name": "Row", "fields": fields}, [row])

    bed.backfill().run()

    assert bed.rows("id", "version", "weight") == [(1, 3, Decimal("0.50"))]


@pytest.mark.parametrize("file_format", ["parquet", "json"])
def test_times_of_files_have_the_digits_of_their_columns(tmp_path: Path, file_format: str) -> None:
    spec = {
        "columns": [
            {"name": "id", "type": "BIGINT"},
            {"name": "at", "type": "TIMESTAMP(0)"},
            {"name": "all", "type": "ARRAY<TIMESTAMP(4)>"},
        ],
        "primary_key": ["id"],
        "sequence_groups": [{"name": "s", "ordering": ["at"], "columns": ["all"]}],
    }
    at = dt.datetime.fromisoformat("2026-01-02T03:04:05.678912")
    bed = BackfillBed(tmp_path, spec=spec)
    if file_format == "parquet":
        write(bed, "a", {"id": 1, "at": at, "all": [at]})
    else:
        bed.write_json("a.json", [{"id": 1, "at": at.isoformat(), "all": [at.isoformat()]}])

    bed.backfill().run()

    assert bed.rows("id", "at", "all") == [
        (1, at.replace(microsecond=0), [at.replace(microsecond=678_900)])
    ]


def write(bed: BackfillBed, name: str, row: dict[str, Any]) -> None:
    pq.write_table(pa.Table.from_pylist([row]), bed.files / f"{name}.parquet")
