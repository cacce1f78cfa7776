"""Options of file indexes: columns, sizes, and what means nothing."""

import pytest

from braid.lake.options.file_index_options import BloomColumn, parse_file_index_options
from braid.lake.options.table_options import TableOptions

BLOOM = "file-index.bloom-filter"


def test_columns_are_declared_in_order_with_blanks_around_their_names() -> None:
    options = parse_file_index_options({f"{BLOOM}.columns": "b , a,b"})

    assert options.blooms == (BloomColumn(column="b"), BloomColumn(column="a"))
    assert options.problems == ()
    assert [bloom.fpp for bloom in options.blooms] == [0.1, 0.1]


def test_sizes_are_those_of_a_column() -> None:
    options = parse_file_index_options(
        {f"{BLOOM}.columns": "a,b", f"{BLOOM}.a.fpp": "0.01", f"{BLOOM}.b.items": "1000"}
    )

    assert options.blooms == (
        BloomColumn(column="a", fpp=0.01),
        BloomColumn(column="b", items=1000),
    )


def test_keys_of_a_map_have_the_sizes_of_the_map_unless_they_have_their_own() -> None:
    options = parse_file_index_options(
        {
            f"{BLOOM}.columns": "m[x],m[y]",
            f"{BLOOM}.m.fpp": "0.01",
            f"{BLOOM}.m[y].fpp": "0.2",
        }
    )

    x, y = options.blooms
    assert (x.name, x.column, x.map_key, x.fpp) == ("m[x]", "m", "x", 0.01)
    assert (y.name, y.fpp) == ("m[y]", 0.2)
    assert options.problems == ()


def test_indexes_of_other_kinds_are_known_by_their_columns() -> None:
    options = parse_file_index_options(
        {"file-index.bitmap.columns": "a", "file-index.bitmap.a.version": "2"}
    )

    assert options.blooms == ()
    assert options.declared == {"bitmap": ("a",)}
    assert options.problems == ()


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        (f"{BLOOM}.columns", "a,,b", "a name between two commas is empty"),
        (f"{BLOOM}.a.fpp", "1", "expected a number from 1e-30 and below 1"),
        (f"{BLOOM}.a.fpp", "0", "expected a number"),
        (f"{BLOOM}.a.fpp", "-0.1", "expected a number"),
        (f"{BLOOM}.a.fpp", "nan", "expected a number"),
        (f"{BLOOM}.a.fpp", "1e-31", "expected a number"),
        (f"{BLOOM}.a.items", "0", "expected a whole number from 1"),
        (f"{BLOOM}.a.items", "2147483648", "expected a whole number from 1"),
        (f"{BLOOM}.a.fpp", f"{'1' * 20_000}x", "expected a number"),
        (f"{BLOOM}.a.items", "1" * 5_000, "expected a whole number from 1"),
        (f"{BLOOM}.a.items", "1e3", "expected a whole number from 1"),
        (f"{BLOOM}.c.items", "5", "the column `c` has no such index"),
        ("file-index.bitmap.a.version", "2", "the column `a` has no such index"),
        (f"{BLOOM}.a.share", "0.1", "bloom filters have no such option"),
    ],
)
def test_ineffective_declarations_are_reported_and_the_table_can_be_read(
    key: str, value: str, message: str
) -> None:
    declared = {f"{BLOOM}.columns": "a,b", key: value}

    (problem,) = parse_file_index_options(declared).problems

    assert (problem.field, problem.value) == (key, value)
    assert message in problem.message
    blooms = TableOptions.parse(declared).file_index_blooms
    assert blooms == (BloomColumn(column="a"), BloomColumn(column="b"))


def test_options_of_storing_and_reading_indexes() -> None:
    given = TableOptions.parse({})
    other = TableOptions.parse(
        {"file-index.in-manifest-threshold": "1 kb", "file-index.read.enabled": "false"}
    )

    assert given.file_index_in_manifest_threshold_bytes == 500
    assert given.file_index_read_enabled
    assert other.file_index_in_manifest_threshold_bytes == 1024
    assert not other.file_index_read_enabled
