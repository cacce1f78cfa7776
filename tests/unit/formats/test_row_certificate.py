"""Certificates of rows: equal where nothing was changed, and different where it was."""

from typing import Any

import orjson
import pyarrow as pa
import pytest

from braid.formats.row_certificate import Difference, certify, differences, parse_certificate
from braid.lake import Catalog, InvalidRequest, MemoryFileIO, UnsupportedFeature
from braid.schemas import RowCertificate

OPTIONS = {
    "bucket": "1",
    "merge-engine": "partial-update",
    "fields.g.sequence-group": "a,s",
    "fields.s.aggregate-function": "sum",
}
COLUMNS = [
    ("k", "INT"),
    ("g", "INT"),
    ("a", "TIMESTAMP(9)"),
    ("s", "DECIMAL(10, 2)"),
    ("m", "BYTES"),
]


def given_certificate(*rows: dict[str, Any]) -> RowCertificate:
    table = Catalog("/w", file_io=MemoryFileIO()).create_table(
        "db.t", columns=COLUMNS, primary_key=["k"], options=OPTIONS
    )
    for row in rows:
        table.write_and_commit(pa.Table.from_pylist([row], schema=table.schema.arrow_schema))
    found = table.explain({"k": 1})
    return certify(
        "db.t",
        {"k": 1},
        found,
        snapshot=table.latest_snapshot(),
        commit_time="2026-02-02T10:00:00.000Z",
        streams=["one"] * len(found.versions),
    )


@pytest.fixture
def certificate() -> RowCertificate:
    return given_certificate(
        {"k": 1, "g": 2, "a": 1_700_000_000_000_000_001, "s": 3, "m": b"\0"},
        {"k": 1, "g": 1, "a": 1_800_000_000_000_000_002, "s": 4},
    )


def changed(certificate: RowCertificate, **fields: Any) -> RowCertificate:
    """Return a certificate with other fields, as JSON would bring it."""
    document = orjson.loads(certificate.model_dump_json()) | fields
    return parse_certificate(orjson.dumps(document))


def record(certificate: RowCertificate, number: int, **values: Any) -> list[dict[str, Any]]:
    """Return the records, one of them with other values."""
    records: list[dict[str, Any]] = orjson.loads(certificate.model_dump_json())["records"]
    records[number]["values"] |= values
    return records


def test_a_certificate_merges_into_its_row(certificate: RowCertificate) -> None:
    again = changed(certificate)

    assert differences(again) == []
    assert again.row == {
        "k": 1,
        "g": 2,
        "a": "2023-11-14T22:13:20.000000001",
        "s": "7.00",
        "m": "AA==",
    }
    assert again.winners == {"g": 0, "a": 0, "s": None, "m": 0}


def test_a_row_that_does_not_exist_has_a_certificate() -> None:
    assert differences(given_certificate()) == []


def test_another_record_makes_another_value(certificate: RowCertificate) -> None:
    found = differences(changed(certificate, records=record(certificate, 1, s="4.01")))

    assert found == [Difference(column="s", certified='"7.00"', merged='"7.01"')]


def test_another_order_makes_another_winner(certificate: RowCertificate) -> None:
    same = {"g": 2, "a": "2023-11-14T22:13:20.000000001"}
    found = differences(changed(certificate, records=record(certificate, 1, **same)))

    assert [(one.column, one.certified, one.merged) for one in found] == [
        ("g", "record 0", "record 1"),
        ("a", "record 0", "record 1"),
    ]


def test_other_rules_make_another_row(certificate: RowCertificate) -> None:
    schema = orjson.loads(certificate.model_dump_json())["table_schema"]
    schema["options"]["fields.s.aggregate-function"] = "max"

    found = differences(changed(certificate, table_schema=schema))

    assert found == [Difference(column="s", certified='"7.00"', merged='"4.00"')]


def test_a_rule_of_a_column_that_the_schema_lacks(certificate: RowCertificate) -> None:
    text = orjson.dumps(certificate.table_schema).replace(b'"name":"g"', b'"name":"h"')
    records = [
        {**one, "values": {name: value for name, value in one["values"].items() if name != "g"}}
        for one in record(certificate, 0)
    ]
    other = changed(certificate, table_schema=orjson.loads(text), records=records)

    with pytest.raises(InvalidRequest, match="the certificate cannot be read"):
        differences(other)


def test_a_missing_row_is_different(certificate: RowCertificate) -> None:
    [found] = differences(changed(certificate, row=None))

    assert found == Difference(column="", certified="no row", merged="a row")


@pytest.mark.parametrize(
    ("values", "where"),
    [
        ({"k": 2}, "records.1"),
        ({"s": "many"}, "records.1.values.s"),
        ({"g": 2**40}, "records.1.values.g"),
        ({"g": True}, "records.1.values.g"),
        ({"none": 1}, "records.1.values.none"),
    ],
)
def test_records_that_cannot_be_read(
    certificate: RowCertificate, values: dict[str, Any], where: str
) -> None:
    with pytest.raises(InvalidRequest) as refused:
        differences(changed(certificate, records=record(certificate, 1, **values)))

    assert [problem.field for problem in refused.value.problems] == [where]


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"{}", b'{"version": "1"}', b'{"version": 1, "x": 2}']
)
def test_files_that_are_no_certificates(data: bytes) -> None:
    with pytest.raises(InvalidRequest, match="no certificate"):
        parse_certificate(data)


def test_a_newer_version_is_refused_by_its_number(certificate: RowCertificate) -> None:
    with pytest.raises(UnsupportedFeature, match="version 2"):
        changed(certificate, version=2)


def test_an_aggregate_function_that_is_unknown_here_is_named(certificate: RowCertificate) -> None:
    schema = orjson.loads(certificate.model_dump_json())["table_schema"]
    schema["options"]["fields.s.aggregate-function"] = "acme.best"

    with pytest.raises(UnsupportedFeature, match=r"acme\.best"):
        differences(changed(certificate, table_schema=schema))
