"""A column takes results of the types that it holds without loss."""

import pyarrow as pa
import pytest

from braid.formats.expressions.result_types import is_lossless
from braid.formats.expressions.sql_engine import sql_engine
from braid.lake import parse_type

NO_FIELDS = pa.schema([("f0", pa.int8())])
PAIRS = {
    "BOOLEAN": "BOOLEAN",
    "TINYINT": "TINYINT",
    "SMALLINT": "TINYINT SMALLINT UTINYINT",
    "INT": "TINYINT SMALLINT INTEGER USMALLINT",
    "BIGINT": "INTEGER BIGINT UINTEGER",
    "FLOAT": "FLOAT SMALLINT USMALLINT",
    "DOUBLE": "FLOAT DOUBLE INTEGER UINTEGER",
    "DECIMAL(12,2)": "DECIMAL(12,2) DECIMAL(10,0) DECIMAL(11,1) INTEGER",
    "DECIMAL(20,0)": "UBIGINT BIGINT",
    "STRING": "VARCHAR",
    "CHAR(3)": "VARCHAR",
    "BYTES": "BLOB",
    "DATE": "DATE",
    "TIME(3)": "TIME",
    "TIMESTAMP(3)": "TIMESTAMP TIMESTAMP_S TIMESTAMP_MS TIMESTAMP_NS",
    "TIMESTAMP_LTZ(3)": "TIMESTAMPTZ",
    "ARRAY<INT>": "SMALLINT[]",
    "MAP<STRING,BIGINT>": "MAP(VARCHAR,INTEGER)",
    "ROW<a INT, b STRING>": 'STRUCT("a" INTEGER, "b" VARCHAR)',
}
LOSSY = {
    "BOOLEAN": "INTEGER VARCHAR",
    "TINYINT": "SMALLINT UTINYINT",
    "INT": "BIGINT UINTEGER DOUBLE DECIMAL(5,0) BOOLEAN VARCHAR",
    "BIGINT": "UBIGINT HUGEINT",
    "FLOAT": "DOUBLE INTEGER",
    "DOUBLE": "BIGINT DECIMAL(5,2)",
    "DECIMAL(12,2)": "DECIMAL(13,2) DECIMAL(12,3) BIGINT DOUBLE",
    "STRING": "BLOB INTEGER",
    "BYTES": "VARCHAR",
    "DATE": "TIMESTAMP",
    "TIMESTAMP(3)": "TIMESTAMPTZ DATE",
    "TIMESTAMP_LTZ(3)": "TIMESTAMP",
    "ARRAY<INT>": "BIGINT[] INTEGER",
    "MAP<STRING,INT>": "MAP(VARCHAR,BIGINT) MAP(BLOB,INTEGER)",
    "ROW<a INT, b STRING>": 'STRUCT("b" VARCHAR,"a" INTEGER) STRUCT("a" INTEGER)',
}


def types(names: str) -> list[str]:
    return names.replace(", ", ",").split(" ") if '("' not in names else _structs(names)


def _structs(names: str) -> list[str]:
    return [f"STRUCT({one}" for one in names.split("STRUCT(") if one]


@pytest.mark.parametrize(
    ("column", "result"), [(column, one) for column in PAIRS for one in types(PAIRS[column])]
)
def test_lossless(column: str, result: str) -> None:
    found = sql_engine().result_type(f"CAST(NULL AS {result})", NO_FIELDS)

    assert is_lossless(found, parse_type(column))


@pytest.mark.parametrize(
    ("column", "result"), [(column, one) for column in LOSSY for one in types(LOSSY[column])]
)
def test_lossy(column: str, result: str) -> None:
    found = sql_engine().result_type(f"CAST(NULL AS {result})", NO_FIELDS)

    assert not is_lossless(found, parse_type(column))


@pytest.mark.parametrize("column", PAIRS)
def test_null_fits_every_column(column: str) -> None:
    assert is_lossless(sql_engine().result_type("NULL", NO_FIELDS), parse_type(column))
