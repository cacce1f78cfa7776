"""ORC and Avro files: Java reads ours and we read Java's, every type, and each compacts what the other wrote.

Left out is what one of the two does not have:

* Avro files: TIMESTAMP of more than 6 digits, TIME of more than 3; and MULTISETs of anything but texts, which
  Paimon 1.4.2 writes and cannot read.
* ORC files: fractions of a second before 1970, which we refuse, and -0.0, which Java reads as 0.0 where all
  numbers of a batch are one of the two.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from braid.lake import Table
from tests.conformance.case import Case, parse_case
from tests.conformance.compare import difference
from tests.interop.java_driver import JavaDriver
from tests.interop.ours import open_table, write_case
from tests.interop.type_cases import ATOMIC_TYPES, NESTED_TYPES, composite_key_case, value_case

pytestmark = pytest.mark.interop

FORMATS: dict[str, Mapping[str, str]] = {
    "orc": {"file.format": "orc"},
    "orc zlib": {"file.format": "orc", "file.compression": "zlib"},
    "avro": {"file.format": "avro"},
    "avro deflate": {"file.format": "avro", "file.compression": "deflate"},
    "avro bzip2": {"file.format": "avro", "file.compression": "bzip2"},
    "orc snappy": {"file.format": "orc", "file.compression": "snappy"},
    "orc lz4": {"file.format": "orc", "file.compression": "lz4"},
    "orc none": {"file.format": "orc", "file.compression": "none"},
    "by level": {
        "file.format.per.level": "0:avro,5:orc",
        "file.compression.per.level": "0:null",
        "file.compression.zstd-level": "9",
    },
}
OTHER_DIGITS = re.compile(r"TIME(STAMP)?\([124578]\)")
"""Of times; with 0, 3, 6 and 9 every storage is met."""

NOT_IN_AVRO = re.compile(
    r"TIMESTAMP\([789]\)|TIME\([456789]\)|" + r'MULTISET", "element": (?!"(STRING|CHAR|VARCHAR))'
)


FEW_TYPES = ("BIGINT", "STRING", "DECIMAL(38, 10)", "BYTES")
"""For codecs, which compress bytes of whatever type."""


def given_case(
    name: str, options: Mapping[str, str], *, is_keyed: bool = False, types: Sequence[Any] = ()
) -> Case:
    """Return a table of some types, or of all that the formats of the options have, and rows for it."""
    atomic = [kind for kind in ATOMIC_TYPES if not OTHER_DIGITS.search(kind)]
    if is_keyed:
        case = composite_key_case(name, atomic)
    else:
        case = value_case(name, types or [*atomic, *NESTED_TYPES.values()])
    columns = case["schema"]["columns"]
    if "avro" in str(options):
        kept = [n for n, c in enumerate(columns) if not NOT_IN_AVRO.search(json.dumps(c["type"]))]
    else:
        kept = list(range(len(columns)))
    case["schema"]["columns"] = [columns[n] for n in kept]
    case["schema"]["columns"].append({"name": "never", "type": "STRING"})
    case["schema"]["primary_key"] = [
        key for key in case["schema"]["primary_key"] if key in [columns[n]["name"] for n in kept]
    ]
    for step in case["steps"]:
        rows = [[row[0], *(row[n + 1] for n in kept), None] for row in step["write"]]
        step["write"] = [for_orc(row) for row in rows] if "orc" in str(options) else rows
    case["options"].update(options)
    return parse_case(case)


def for_orc(value: Any) -> Any:
    """Return a value without what is told above; years before 1970 become 2000."""
    if isinstance(value, list):
        return [for_orc(part) for part in value]
    if isinstance(value, str):
        return re.sub(r"^(1[0-8]\d\d|19[0-6]\d)-(\d\d-\d\dT)", r"2000-\2", value)
    return 7.25 if str(value) == "-0.0" else value


def check_same(table: Table, java: JavaDriver, case: Case) -> None:
    """Let Java and us read the table."""
    rows = open_table(Path(table.path)).scan().to_arrow()
    found = difference(java.rows(table.path), rows, schema=case.arrow_schema, hints={})
    assert found is None


@pytest.mark.parametrize("is_keyed", [False, True], ids=["values", "keys"])
@pytest.mark.parametrize("name", ["orc", "avro"])
def test_each_reads_and_compacts_what_the_other_wrote(
    name: str, is_keyed: bool, java: JavaDriver, tmp_path: Path
) -> None:
    check_both_ways(given_case("formats", FORMATS[name], is_keyed=is_keyed), java, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in FORMATS if name not in ("orc", "avro")])
def test_each_reads_and_compacts_files_of_every_codec(
    name: str, java: JavaDriver, tmp_path: Path
) -> None:
    check_both_ways(given_case("formats", FORMATS[name], types=FEW_TYPES), java, tmp_path)


def check_both_ways(case: Case, java: JavaDriver, tmp_path: Path) -> None:
    ours = write_case(case, tmp_path)

    check_same(ours, java, case)
    java.do("compact", ours.path, mode="full")
    check_same(ours, java, case)

    path = tmp_path / "java.db" / "formats"
    java.do("create", path, case=dict(case.raw))
    for step in case.steps:
        java.write(path, step.action["write"])
    javas = open_table(path)
    before = java.rows(path)
    check_same(javas, java, case)
    javas.compact()
    check_same(javas, java, case)
    assert java.rows(path) == before
