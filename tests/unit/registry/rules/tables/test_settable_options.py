"""Options that a declaration sets are on the allow list, and within bounds."""

import pytest

from braid.lake.options.option_parsers import DURATION, SIZE
from braid.lake.options.table_options import OPTIONS
from braid.registry.rules.tables.settable_options import DURATIONS, NUMBERS, SIZES
from braid.registry.rules.tables.table_rules import check_table
from tests.unit.registry.shop import orders


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("target-file-size", "1 b"),
        ("manifest.target-file-size", "1 b"),
        ("snapshot.time-retained", "1 ms"),
        ("tag.default-time-retained", "1 ms"),
        ("consumer.expiration-time", "1 ms"),
        ("num-sorted-run.compaction-trigger", "1000000"),
        ("num-levels", "1" * 1_000),
        ("partition.expiration-time", "1 d"),
        ("record-level.expire-time", "1 d"),
        ("sequence.snapshot-ordering", "true"),
        ("data-file.external-paths", "s3://evil/x"),
        ("commit.callbacks", "x.Y"),
        ("partition.mark-done-action.http.url", "http://evil"),
        ("fs.s3a.endpoint", "http://evil"),
        ("sequence.field.sort-order", "descending"),
        ("disable-explicit-type-casting", "banana"),
        ("alter-column-null-to-not-null.disabled", "1"),
        ("metadata.stats-mode", "truncate(0)"),
        ("x" * 10_000, "y"),
    ],
)
def test_harmful_new_fields_are_refused_with_their_location(key: str, value: str) -> None:
    (problem, *_) = check_table("shop", "orders", orders(options={key: value}))

    assert problem.pointer == f"/options/{key}"
    assert problem.hint
    assert len(problem.model_dump_json()) < 25_000


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("target-file-size", "64 MB"),
        ("snapshot.time-retained", "7 d"),
        ("num-sorted-run.compaction-trigger", "4"),
        ("file.format", "orc"),
        ("changelog-producer", "lookup"),
        ("file-index.bloom-filter.columns", "currency"),
        ("disable-explicit-type-casting", "True"),
        ("metadata.stats-mode", "truncate(16)"),
    ],
)
def test_listed_options_may_be_set(key: str, value: str) -> None:
    assert check_table("shop", "orders", orders(options={key: value})) == []


def test_every_bound_admits_its_ends() -> None:
    for key, (least, most) in {**NUMBERS, **SIZES, **DURATIONS}.items():
        assert least < most, key


def test_bounded_options_are_declared_by_the_engine_with_values_of_that_kind() -> None:
    parsers = {option.key: option.parser for option in OPTIONS.values()}

    assert {parsers[key] for key in SIZES} == {SIZE}
    assert {parsers[key] for key in DURATIONS} == {DURATION}
    assert {parsers[key].parse("2") for key in NUMBERS} == {2}
