"""Explanations of merges: who gives each value, and why the others do not."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest

from braid.lake.merge.explanation import MergeExplanation, explain_merge
from braid.lake.merge.spec import merge_spec
from tests.unit.lake.merge.given_records import given_records, written
from tests.unit.lake.merge.given_schemas import given_schema

PARTIAL = {"merge-engine": "partial-update"}
GROUP = PARTIAL | {"fields.g.sequence-group": "a,b"}
GROUPS = {**GROUP, "fields.h.sequence-group": "c"}


@dataclass(frozen=True)
class Explained:
    """The explanation of records."""

    records: pa.Table
    found: MergeExplanation

    @property
    def row(self) -> pa.Table:
        """The merged row as a table; without a row if there is none."""
        row = self.found.row
        return self.records.slice(0, 0) if row is None else row.copy_from(self.records)


def explained(options: Mapping[str, str], header: str, *rows: str, **more: Any) -> Explained:
    columns = "k INT NOT NULL, " + ", ".join(f"{name} INT" for name in header.split()[1:])
    spec = merge_spec(given_schema(columns, options=options))
    records = given_records(header, *rows)
    return Explained(records, explain_merge(records, spec, **more))


def shown(explained: Explained, column: str) -> str:
    """Return the winner and the reasons in the order of the records: `1: late, newer-sequence`."""
    found = explained.found
    reasons = found.columns[column]
    texts = [reasons.reasons[number] for number in sorted(found.order)]
    return f"{reasons.winner}: {', '.join(texts)}"


def test_a_single_record_gives_the_values_of_the_groups_that_it_takes_part_in() -> None:
    found = explained(GROUPS, "k g a b h c", "+I 1 5 10 _ _ _")

    assert shown(found, "a") == "0: only-version"
    assert shown(found, "b") == "0: only-version"  # a null that the record wrote
    assert shown(found, "c") == "None: null-skipped"
    assert written(found.row) == ["+I 1 5 10 _ _ _"]


def test_the_newest_record_of_a_group_gives_all_its_columns() -> None:
    found = explained(GROUPS, "k g a b h c", "+I 1 5 10 1 _ _", "+I 1 7 11 _ _ _", "+I 1 _ _ _ 2 3")

    for column in "gab":
        assert shown(found, column) == "1: newer-sequence, newer-sequence, null-skipped"
    assert shown(found, "c") == "2: null-skipped, null-skipped, only-version"


def test_a_record_that_arrives_after_a_newer_one_is_late() -> None:
    found = explained(GROUP, "k g a b", "+I 1 5 10 _", "+I 1 4 11 _", "+I 1 6 12 _", "+I 1 5 13 _")

    assert shown(found, "a") == "2: newer-sequence, late, newer-sequence, late"


def test_of_equal_ordering_values_the_later_record_is_newer() -> None:
    found = explained(GROUP, "k g a b", "+I 1 5 10 _", "+I 1 5 11 _")

    assert shown(found, "a") == "1: newer-sequence, newer-sequence"


def test_without_groups_each_column_has_its_newest_value() -> None:
    found = explained(PARTIAL, "k a b", "+I 1 10 _", "+I 1 _ 3", "+I 1 11 _")

    assert shown(found, "a") == "2: newer-sequence, null-skipped, newer-sequence"
    assert shown(found, "b") == "1: null-skipped, only-version, null-skipped"


def test_late_values_are_aggregated_too() -> None:
    options = GROUP | {"fields.a.aggregate-function": "sum"}
    found = explained(options, "k g a b", "+I 1 5 10 1", "+I 1 4 1 2", "+I 1 _ 7 3", "+I 1 6 _ 4")

    assert shown(found, "a") == "None: aggregated, aggregated, null-skipped, null-skipped"
    assert shown(found, "b") == "3: newer-sequence, late, null-skipped, newer-sequence"
    assert written(found.row) == ["+I 1 6 11 4"]


def test_a_late_value_that_an_order_dependent_function_drops_is_late() -> None:
    options = GROUP | {"fields.a.aggregate-function": "last_value"}
    found = explained(options, "k g a b", "+I 1 5 10 1", "+I 1 4 1 2", "+I 1 6 _ 3")

    assert shown(found, "a") == "2: newer-sequence, late, newer-sequence"
    assert written(found.row) == ["+I 1 6 _ 3"]


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        ("last_value", "3: newer-sequence, newer-sequence, newer-sequence, newer-sequence"),
        ("last_non_null_value", "2: newer-sequence, null-skipped, newer-sequence, null-skipped"),
        ("max", "None: aggregated, null-skipped, aggregated, null-skipped"),
    ],
)
def test_functions_of_the_aggregation_engine(function: str, expected: str) -> None:
    options = {"merge-engine": "aggregation", "fields.a.aggregate-function": function}

    found = explained(options, "k a", "+I 1 10", "+I 1 _", "+I 1 3", "+I 1 _")

    assert shown(found, "a") == expected


def test_a_retracted_value_is_taken_back() -> None:
    options = {"merge-engine": "aggregation", "fields.a.aggregate-function": "sum"}

    found = explained(options, "k a", "+I 1 10", "-U 1 10", "+U 1 3")

    assert shown(found, "a") == "None: aggregated, retracted, aggregated"
    assert written(found.row) == ["+I 1 3"]


def test_a_retract_that_the_column_ignores() -> None:
    options = {
        "merge-engine": "aggregation",
        "fields.a.aggregate-function": "sum",
        "fields.a.ignore-retract": "true",
    }

    found = explained(options, "k a", "+I 1 10", "-U 1 10")

    assert shown(found, "a") == "None: aggregated, ignored"


def test_a_delete_in_a_group_takes_the_values_away() -> None:
    found = explained(GROUPS, "k g a b h c", "+I 1 5 10 1 2 3", "-D 1 6 _ _ _ _", "+I 1 4 1 _ _ _")

    assert shown(found, "a") == "1: retracted, retracted, late"
    assert shown(found, "c") == "0: only-version, null-skipped, null-skipped"


def test_a_removed_row_has_no_values_of_older_records() -> None:
    options = {
        **GROUPS,
        "partial-update.remove-record-on-sequence-group": "g",
        "fields.c.aggregate-function": "sum",
    }
    found = explained(options, "k g a b h c", "+I 1 5 10 1 2 3", "-D 1 6 _ _ _ _")

    for column in "gabhc":
        reasons = found.found.columns[column].reasons
        assert [reasons[0], reasons[1]] == ["retracted", "retracted"]
    assert found.row.num_rows == 0


def test_a_record_after_a_removal_starts_the_row_anew() -> None:
    options = PARTIAL | {"partial-update.remove-record-on-delete": "true"}

    found = explained(options, "k a b", "+I 1 10 1", "-D 1 _ _", "+I 1 11 _")

    assert shown(found, "a") == "2: retracted, newer-sequence, newer-sequence"
    assert shown(found, "b") == "1: retracted, retracted, null-skipped"
    assert written(found.row) == ["+I 1 11 _"]


def test_an_ignored_delete() -> None:
    found = explained(PARTIAL | {"ignore-delete": "true"}, "k a", "+I 1 10", "-D 1 _")

    assert shown(found, "a") == "0: only-version, ignored"


def test_deduplicate_keeps_the_last_record() -> None:
    found = explained({}, "k a b", "+I 1 10 1", "+I 1 11 _")

    assert shown(found, "a") == "1: newer-sequence, newer-sequence"
    assert shown(found, "b") == "1: newer-sequence, newer-sequence"


def test_deduplicate_with_a_delete() -> None:
    found = explained({}, "k a", "+I 1 10", "-D 1 10")

    assert shown(found, "a") == "1: retracted, retracted"
    assert found.row.num_rows == 0


def test_a_record_with_a_smaller_sequence_field_is_late() -> None:
    found = explained({"sequence.field": "a"}, "k a b", "+I 1 10 1", "+I 1 9 2", "+I 1 11 3")

    assert shown(found, "b") == "2: newer-sequence, late, newer-sequence"
    assert found.found.order == (1, 0, 2)


def test_first_row_keeps_the_first_record() -> None:
    found = explained({"merge-engine": "first-row"}, "k a", "+I 1 10", "+I 1 11")

    assert shown(found, "a") == "0: first-row, first-row"


def test_what_a_compaction_has_merged_is_unknown() -> None:
    rows = ("+I 1 5 10 1 _ _", "+I 1 4 11 _ _ _", "+I 1 _ _ _ 2 3")

    found = explained(GROUPS, "k g a b h c", *rows, compacted={0})

    assert shown(found, "a") == "0: unknown: compacted, late, null-skipped"
    assert shown(found, "c") == "2: null-skipped, null-skipped, only-version"


def test_values_of_every_type_stay_as_they_are() -> None:
    spec = merge_spec(given_schema("k INT NOT NULL, m ARRAY<INT>, t TIME(3)", options=PARTIAL))
    types = {"m": pa.list_(pa.int32()), "t": pa.time32("ms")}
    records = given_records("k", "+I 1", "+I 1")
    records = records.append_column("m", pa.array([[1], None], types["m"]))
    records = records.append_column("t", pa.array([5, 6], pa.int32()).view(types["t"]))

    found = Explained(records, explain_merge(records, spec))

    assert shown(found, "m") == "0: only-version, null-skipped"
    assert found.row.column("m").to_pylist() == [[1]]
    assert found.row.column("t").cast(pa.int32()).to_pylist() == [6]
