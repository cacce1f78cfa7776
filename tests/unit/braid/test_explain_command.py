"""`braid explain verify`, run as the program that it is, with the answer of the service."""

from pathlib import Path

import orjson
import pytest

from tests.support.fed_table import TABLE, FedTable, Message
from tests.support.program import run_braid

DECLARATION = {
    "columns": [{"name": "id", "type": "BIGINT"}, {"name": "note", "type": "STRING"}],
    "primary_key": ["id"],
    "sequence_groups": [{"name": "notes", "columns": ["note"], "keep": ["note"]}],
}


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    bed = FedTable(
        declaration=DECLARATION, streams={"notes": {"topic": "notes", "partitioned_by_key": True}}
    )
    bed.feed("notes", Message(value={"id": 7, "note": "new"}))
    bed.feed("notes", Message(value={"id": 7}))
    path = tmp_path / "row.json"
    path.write_bytes(bed.client.get(f"{TABLE}/rows/certificate?id=7").content)
    return path


def test_a_row_is_merged_again_without_its_table(certificate: Path) -> None:
    done = run_braid("explain", "verify", str(certificate))

    assert done.stdout == (
        "equal: shop.orders, id = 7, snapshot 3: 2 records merge into the certified row\n"
    )
    assert done.returncode == 0


def test_a_row_that_differs_is_named_by_its_column(certificate: Path) -> None:
    document = orjson.loads(certificate.read_bytes())
    document["row"]["note"] = "old"
    certificate.write_bytes(orjson.dumps(document))

    done = run_braid("explain", "verify", str(certificate))

    assert done.stdout == (
        'different: shop.orders, id = 7, snapshot 3\n  note: certified "old", merged "new"\n'
    )
    assert done.returncode == 1


def test_a_file_that_is_no_certificate(tmp_path: Path) -> None:
    path = tmp_path / "row.json"
    path.write_text("{")

    done = run_braid("explain", "verify", str(path))

    assert "error: this is no certificate" in done.stderr
    assert done.returncode == 2
