"""Names of records in a file's schema; everything else is compared with Java's (`test_columns`)."""

import fastavro

from braid.lake import parse_type
from braid.lake.format.avro.types import avro_schema
from braid.lake.format.data_types import DataField


def test_records_of_the_same_name_are_renamed() -> None:
    columns = [
        DataField(id=0, name="a", type=parse_type("ROW<b_c ROW<x INT>>")),
        DataField(id=1, name="a_b", type=parse_type("ROW<c ROW<y STRING NOT NULL>>")),
        DataField(id=2, name="m", type=parse_type("MAP<INT, ROW<z INT>>")),
    ]

    schema = avro_schema(columns)

    fastavro.parse_schema(dict(schema))
    assert "'record_a_b_c_'" in str(schema)
    assert "'record_m_value'" in str(schema)
    assert str(schema).count("'default': None") == 8
