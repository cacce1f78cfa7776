"""Types that a running stream can follow are those that lose nothing."""

import pytest

from braid.lake import parse_type
from braid.registry.alteration.type_widening import is_safe_widening


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("TINYINT", "SMALLINT"),
        ("INT", "BIGINT"),
        ("INT", "DOUBLE"),
        ("SMALLINT", "FLOAT"),
        ("INT", "DECIMAL(12, 2)"),
        ("FLOAT", "DOUBLE"),
        ("DECIMAL(10, 2)", "DECIMAL(12, 4)"),
        ("VARCHAR(3)", "VARCHAR(4)"),
        ("CHAR(3)", "STRING"),
        ("VARBINARY(3)", "BYTES"),
        ("TIMESTAMP(3)", "TIMESTAMP(6)"),
        ("ARRAY<INT>", "ARRAY<BIGINT>"),
        ("MAP<STRING, INT>", "MAP<STRING, BIGINT>"),
        ("ROW<a INT>", "ROW<b STRING, a BIGINT>"),
        ("STRING", "STRING NOT NULL"),
        ("BOOLEAN", "BOOLEAN"),
    ],
)
def test_a_wider_type_is_followed(old: str, new: str) -> None:
    assert is_safe_widening(parse_type(old), parse_type(new))
    is_other = parse_type(old).with_nullable(True) != parse_type(new).with_nullable(True)
    assert is_safe_widening(parse_type(new), parse_type(old)) is not is_other


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("BIGINT", "DOUBLE"),
        ("INT", "FLOAT"),
        ("BIGINT", "DECIMAL(18, 0)"),
        ("INT", "STRING"),
        ("DECIMAL(10, 2)", "DECIMAL(10, 3)"),
        ("DECIMAL(10, 2)", "DOUBLE"),
        ("CHAR(3)", "CHAR(4)"),
        ("DATE", "TIMESTAMP(3)"),
        ("TIMESTAMP(3)", "TIMESTAMP(3) WITH LOCAL TIME ZONE"),
        ("BOOLEAN", "INT"),
        ("MAP<INT, INT>", "MAP<BIGINT, INT>"),
        ("ROW<a INT>", "ROW<b INT>"),
        ("ARRAY<ROW<a INT>>", "ARRAY<ROW<a STRING>>"),
    ],
)
def test_a_type_that_loses_values_or_reads_messages_otherwise_is_not(old: str, new: str) -> None:
    assert not is_safe_widening(parse_type(old), parse_type(new))
