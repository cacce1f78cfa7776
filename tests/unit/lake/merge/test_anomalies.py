"""Anomalies: surprising results of the format's reference, each pinned, with a way to avoid it.

None of these results can happen where each column is protected by a sequence group whose ordering values do
not repeat, or has a function that is independent of order, and rows are never removed: see `test_order_free`.
Both machines give the reference's result; `tests/interop/test_anomalies.py` compares with the reference.
"""

import pytest

from braid.lake import Machine
from tests.conformance.case import parse_case
from tests.conformance.execute import create_table, run_table_case, write_rows
from tests.unit.lake.merge.given_anomaly import (
    COMPACT,
    READ_FAILS,
    Anomaly,
    add,
    pinned,
    write,
)

GROUP = {"merge-engine": "partial-update", "fields.g.sequence-group": "a"}
AGGREGATION = {"merge-engine": "aggregation"}


def function(name: str, **options: str) -> dict[str, str]:
    """Return the options that give column `a` a function."""
    more = {f"fields.a.{key.replace('_', '-')}": value for key, value in options.items()}
    return {"fields.a.aggregate-function": name, **more}


@pinned
def test_a_single_record_is_kept_as_it_was_written() -> Anomaly:
    """A key's only record is not merged at all, so a group without an ordering value keeps its values until a second record comes.

    Workaround: give every record an ordering value, or set the group's columns to null in records without one.

    Source: merge-semantics 1.6, 3.4.
    """
    return Anomaly(
        columns={"k": "INT", "g": "INT", "a": "INT"},
        options=GROUP,
        steps=[
            (write(["+I", 1, None, 5]), [[1, None, 5]]),
            (write(["+I", 1, None, 6]), [[1, None, None]]),
        ],
    )


@pinned
def test_a_single_list_keeps_its_duplicates() -> Anomaly:
    """`collect` with `distinct` drops duplicates only when a second record comes.

    Workaround: write lists without duplicates.

    Source: merge-semantics 1.6.
    """
    return Anomaly(
        columns={"k": "INT", "a": {"type": "ARRAY", "element": "INT"}},
        options={**AGGREGATION, **function("collect", distinct="true")},
        steps=[
            (write(["+I", 1, [1, 1, 2]]), [[1, [1, 1, 2]]]),
            (write(["+I", 1, []]), [[1, [1, 2]]]),
        ],
    )


@pinned
def test_values_of_a_removed_row_come_back() -> Anomaly:
    """After a -D removed a row (`partial-update.remove-record-on-delete`), a new record of the key is merged with the values of the -D.

    Workaround: write every column after a removal, or use a sequence group, whose columns a -D sets to null instead.

    Source: merge-semantics 2.3, consequence 1.
    """
    return Anomaly(
        columns={"k": "INT", "a": "STRING", "b": "STRING"},
        options={
            "merge-engine": "partial-update",
            "partial-update.remove-record-on-delete": "true",
        },
        steps=[
            (write(["+I", 1, "a", "b"]), [[1, "a", "b"]]),
            (write(["-D", 1, "a", "b"]), []),
            (write(["+I", 1, "x", None]), [[1, "x", "b"]]),
        ],
    )


@pinned
def test_values_of_a_removed_row_do_not_come_back_after_a_compaction() -> Anomaly:
    """A full compaction drops the -D with its values, so the same records give another row if a full compaction ran between them.

    Workaround: write every column after a removal, or use a sequence group, whose columns a -D sets to null instead.

    Source: merge-semantics 2.3, consequence 1.
    """
    return Anomaly(
        columns={"k": "INT", "a": "STRING", "b": "STRING"},
        options={
            "merge-engine": "partial-update",
            "partial-update.remove-record-on-delete": "true",
        },
        steps=[
            (write(["+I", 1, "a", "b"]), [[1, "a", "b"]]),
            (write(["-D", 1, "a", "b"]), []),
            (COMPACT, []),
            (write(["+I", 1, "x", None]), [[1, "x", None]]),
        ],
    )


@pinned
def test_a_delete_and_a_new_row_in_one_commit_remove_nothing() -> Anomaly:
    """A commit first merges its own records of a key. So a -D and the +I that follows it become one +I, which is merged with the row as if nothing had been removed (`partial-update.remove-record-on-delete`).

    Workaround: commit a -D before the key's next record, or write every column after a removal.

    Source: merge-semantics 1.4, 2.3, consequence 1.
    """
    return Anomaly(
        columns={"k": "INT", "a": "INT", "b": "STRING"},
        options={
            "merge-engine": "partial-update",
            "partial-update.remove-record-on-delete": "true",
        },
        steps=[
            (write(["+I", 1, 1, "b"]), [[1, 1, "b"]]),
            (write(["-D", 1, None, None], ["+I", 1, 2, None]), [[1, 2, "b"]]),
            (write(["-D", 1, None, None]), []),
            (write(["+I", 1, 2, None]), [[1, 2, None]]),
        ],
    )


@pinned
def test_a_row_that_a_group_removed_comes_back_with_another_group() -> Anomaly:
    """A record of another group brings back a row that `partial-update.remove-record-on-sequence-group` removed, with the values of the -D.

    Workaround: use the option only if one stream writes all groups, or write each -D with null in all columns but the key and the ordering column.

    Source: merge-semantics 3.5.
    """
    return Anomaly(
        columns={"k": "INT", "g": "INT", "a": "STRING", "h": "INT", "b": "STRING"},
        options={
            **GROUP,
            "fields.h.sequence-group": "b",
            "partial-update.remove-record-on-sequence-group": "g",
        },
        steps=[
            (write(["+I", 1, 1, "a", 1, "b"]), [[1, 1, "a", 1, "b"]]),
            (write(["-D", 1, 2, "removed", None, None]), []),
            (write(["+I", 1, None, None, 2, "c"]), [[1, 2, "removed", 2, "c"]]),
        ],
    )


@pinned
def test_sums_continue_from_a_removed_row() -> Anomaly:
    """After a -D removed a row (`aggregation.remove-record-on-delete`), the next record is aggregated with the values of the -D.

    Workaround: write -D with null in the columns that are aggregated.

    Source: merge-semantics 2.4.
    """
    return Anomaly(
        columns={"k": "INT", "a": "INT"},
        options={
            **AGGREGATION,
            **function("sum"),
            "aggregation.remove-record-on-delete": "true",
        },
        steps=[
            (write(["+I", 1, 3]), [[1, 3]]),
            (write(["-D", 1, 5]), []),
            (write(["+I", 1, 2]), [[1, 7]]),
        ],
    )


@pinned
def test_an_ignored_delete_lends_its_values() -> Anomaly:
    """A stored -D that `ignore-delete` ignores still fills the columns that the key's later records leave null.

    This happens only if the -D was written before the option was set, because writers discard a -D otherwise.

    Workaround: set `ignore-delete` when the table is created.

    Source: merge-semantics 2.3, consequence 2.
    """
    return Anomaly(
        columns={"k": "INT", "a": "STRING", "b": "STRING"},
        options={"merge-engine": "partial-update", "ignore-delete": "true"},
        steps=[
            (add("-D", 1, "a", "b"), ["-D", 1, "a", "b"]),
            (add("+I", 1, "x", None), ["+I", 1, "x", "b"]),
        ],
        is_merge_level=True,
    )


@pinned
def test_a_retract_that_comes_first_is_lost() -> Anomaly:
    """If a retract is merged before the record that it takes back, the row begins with the retract's value, which is then subtracted from itself: 5 taken back and then 7 added gives 7, not 2.

    Workaround: write a retract after the record that it takes back, in one ordered stream.

    Source: merge-semantics 2.3, consequence 3.
    """
    return Anomaly(
        columns={"k": "INT", "g": "INT", "a": "INT"},
        options={**GROUP, **function("sum")},
        steps=[(write(["-U", 1, 1, 5], ["+I", 1, 2, 7]), [[1, 2, 7]])],
    )


@pinned
def test_retracts_without_a_row_are_counted_from_their_own_value() -> Anomaly:
    """A key that has only retracts is invisible. Its retracts are stored as one retract. When a later record is merged with this retract, the retract is subtracted from itself and has no effect.

    Workaround: write a retract after the record that it takes back, in one ordered stream.

    Source: merge-semantics 2.3, consequences 3 and 4.
    """
    return Anomaly(
        columns={"k": "INT", "g": "INT", "a": "INT"},
        options={**GROUP, **function("sum")},
        steps=[
            (write(["-U", 1, 2, 5], ["-D", 1, 3, 3]), []),
            (write(["+I", 1, 4, 10]), [[1, 4, 10]]),
        ],
    )


@pinned
def test_two_retracts_of_an_aggregation_are_a_visible_row() -> Anomaly:
    """Under aggregation one retract of an unknown key is invisible, but two retracts become a visible row with negative sums, which a compaction keeps.

    Workaround: write retracts after the records that they take back.

    Source: merge-semantics 2.4.
    """
    return Anomaly(
        columns={"k": "INT", "a": "INT"},
        options={**AGGREGATION, **function("sum")},
        steps=[
            (write(["-U", 1, 5]), []),
            (write(["-D", 1, 3]), [[1, -8]]),
            (COMPACT, [[1, -8]]),
        ],
    )


@pinned
def test_a_single_retract_disappears_in_a_compaction() -> Anomaly:
    """A full compaction drops a retract without an earlier record of its key. If the record that it takes back arrives later, that record is not taken back.

    Workaround: write retracts after the records that they take back.

    Source: merge-semantics 1.7, 7.4.
    """
    return Anomaly(
        columns={"k": "INT", "a": "INT"},
        options={**AGGREGATION, **function("sum")},
        steps=[
            (write(["-U", 1, 5]), []),
            (COMPACT, []),
            (write(["+I", 1, 5]), [[1, 5]]),
        ],
    )


@pinned
def test_a_compaction_forgets_how_new_a_delete_was() -> Anomaly:
    """After a compaction has dropped a -D, a record that is older than the -D becomes a new row.

    Workaround: set the group's columns to null with a +I instead of deleting, so that the ordering value stays.

    Source: merge-semantics 7.4; decision 0008.
    """
    return Anomaly(
        columns={"k": "INT", "g": "INT", "a": "STRING"},
        options=GROUP,
        steps=[
            (write(["-D", 1, 5, "new"]), []),
            (COMPACT, []),
            (write(["+I", 1, 3, "old"]), [[1, 3, "old"]]),
        ],
    )


@pinned
def test_a_delete_that_is_kept_holds_off_older_records() -> Anomaly:
    """As long as no compaction has dropped a -D, older records do not change the group's columns. But an older record makes the row visible, with the ordering value of the -D and null in the other columns of the group.

    Workaround: set the group's columns to null with a +I instead of deleting, so that a compaction changes nothing.

    Source: merge-semantics 3.5.
    """
    return Anomaly(
        columns={"k": "INT", "g": "INT", "a": "STRING"},
        options=GROUP,
        steps=[
            (write(["-D", 1, 5, "new"]), []),
            (write(["+I", 1, 3, "old"]), [[1, 5, None]]),
        ],
    )


@pinned
def test_a_sequence_field_forgets_how_new_a_delete_was() -> Anomaly:
    """After a compaction has dropped a -D, a record with an older value in the sequence field brings the row back.

    Workaround: mark rows as deleted in a column of their own.

    Source: merge-semantics 7.4.
    """
    return Anomaly(
        columns={"k": "INT", "s": "INT", "a": "STRING"},
        options={"merge-engine": "deduplicate", "sequence.field": "s"},
        steps=[
            (write(["+I", 1, 1, "a"]), [[1, 1, "a"]]),
            (write(["-D", 1, 5, "a"]), []),
            (write(["+I", 1, 3, "late"]), []),
            (COMPACT, []),
            (write(["+I", 1, 4, "later"]), [[1, 4, "later"]]),
        ],
    )


@pinned
def test_an_equal_ordering_value_is_the_newer_one() -> Anomaly:
    """Of two records with equal ordering values the one that arrives last wins, with its nulls.

    Workaround: use ordering values that do not repeat, for example by a second ordering column.

    Source: merge-semantics 3.4.
    """
    return Anomaly(
        columns={"k": "INT", "g": "INT", "a": "STRING"},
        options=GROUP,
        steps=[
            (write(["+I", 1, 1, "first"]), [[1, 1, "first"]]),
            (write(["+I", 1, 1, "second"]), [[1, 1, "second"]]),
            (write(["+I", 1, 1, None]), [[1, 1, None]]),
        ],
    )


@pinned
def test_first_non_null_value_turns_null() -> Anomaly:
    """A late record with null makes `first_non_null_value` null again.

    Workaround: `min` of the values, or no nulls in late records.

    Source: merge-semantics 4, note 2.
    """
    return Anomaly(
        columns={"k": "INT", "g": "INT", "a": "INT"},
        options={**GROUP, **function("first_non_null_value")},
        steps=[
            (write(["+I", 1, 2, 5]), [[1, 2, 5]]),
            (write(["+I", 1, 1, None]), [[1, 2, None]]),
        ],
    )


@pinned
def test_first_value_takes_the_late_record_that_arrives_last() -> Anomaly:
    """`first_value` takes every late value, so of several late records the one that arrives last wins, not the oldest one.

    Workaround: let the records of a key arrive in order, or keep the oldest with `min`.

    Source: merge-semantics 4.
    """
    return Anomaly(
        columns={"k": "INT", "g": "INT", "a": "STRING"},
        options={**GROUP, **function("first_value")},
        steps=[
            (write(["+I", 1, 5, "five"]), [[1, 5, "five"]]),
            (write(["+I", 1, 3, "three"]), [[1, 5, "three"]]),
            (write(["+I", 1, 4, "four"]), [[1, 5, "four"]]),
        ],
    )


@pinned
def test_listagg_puts_late_texts_in_order_of_arrival() -> Anomaly:
    """`listagg` puts each late text in front of the others, so several late texts are in the reverse order of their arrival.

    Workaround: `collect` rows with their ordering value, and sort when reading.

    Source: merge-semantics 4.1.
    """
    return Anomaly(
        columns={"k": "INT", "g": "INT", "a": "STRING"},
        options={**GROUP, **function("listagg")},
        steps=[
            (write(["+I", 1, 5, "five"]), [[1, 5, "five"]]),
            (write(["+I", 1, 3, "three"]), [[1, 5, "three,five"]]),
            (write(["+I", 1, 4, "four"]), [[1, 5, "four,three,five"]]),
        ],
    )


@pinned
def test_listagg_keeps_the_duplicates_of_the_first_text() -> Anomaly:
    """`listagg` with `distinct` never looks for duplicates in the text that came first.

    Workaround: write one item per record.

    Source: merge-semantics 4.1.
    """
    return Anomaly(
        columns={"k": "INT", "a": "STRING"},
        options={**AGGREGATION, **function("listagg", distinct="true")},
        steps=[
            (write(["+I", 1, "x,x"]), [[1, "x,x"]]),
            (write(["+I", 1, "x,y,y"]), [[1, "x,x,y"]]),
        ],
    )


@pinned
def test_collect_appends_late_lists() -> Anomaly:
    """`collect` appends late lists like any other: the list is in order of arrival.

    Workaround: `collect` rows with their ordering value, and sort when reading.

    Source: merge-semantics 4.
    """
    return Anomaly(
        columns={"k": "INT", "g": "INT", "a": {"type": "ARRAY", "element": "INT"}},
        options={**GROUP, **function("collect")},
        steps=[
            (write(["+I", 1, 2, [2]]), [[1, 2, [2]]]),
            (write(["+I", 1, 1, [1]]), [[1, 2, [2, 1]]]),
        ],
    )


@pinned
def test_a_sum_of_doubles_depends_on_the_order() -> Anomaly:
    """Sums of FLOAT and DOUBLE are rounded at each step, so another order of the records, or other commits, can give another sum.

    Workaround: DECIMAL, or integers of the smallest unit.

    Source: merge-semantics 4, arithmetic.
    """
    return Anomaly(
        columns={"k": "INT", "a": "DOUBLE"},
        options={**AGGREGATION, **function("sum")},
        steps=[
            (write(["+I", 1, 1e16], ["+I", 1, 1.0], ["+I", 1, -1e16]), [[1, 0.0]]),
            (
                write(["+I", 2, 1e16], ["+I", 2, -1e16], ["+I", 2, 1.0]),
                [[1, 0.0], [2, 1.0]],
            ),
        ],
    )


@pinned
def test_a_wide_decimal_that_overflows_starts_again() -> Anomaly:
    """A sum of DECIMAL with 19 or more digits that needs more digits becomes null, and the next value starts it anew.

    Workaround: leave room: DECIMAL(38, s).

    Source: merge-semantics 4, arithmetic.
    """
    return Anomaly(
        columns={"k": "INT", "a": "DECIMAL(19, 0)"},
        options={**AGGREGATION, **function("sum")},
        steps=[
            (write(["+I", 1, "9999999999999999999"]), [[1, "9999999999999999999"]]),
            (write(["+I", 1, "1"]), [[1, None]]),
            (write(["+I", 1, "5"]), [[1, "5"]]),
        ],
    )


@pinned
def test_a_short_decimal_outgrows_its_type() -> Anomaly:
    """A sum of DECIMAL with 18 or fewer digits is not checked: it may have more digits than its type.

    Workaround: leave room: DECIMAL(18, s) holds any sum that fits 64 bits.

    Source: merge-semantics 4, arithmetic.
    """
    return Anomaly(
        columns={"k": "INT", "a": "DECIMAL(5, 2)"},
        options={**AGGREGATION, **function("sum")},
        steps=[(write(["+I", 1, "999.99"], ["+I", 1, "0.01"]), [[1, "1000.00"]])],
    )


@pinned
def test_a_product_of_decimals_depends_on_the_order() -> Anomaly:
    """Products of DECIMAL are rounded to the column's scale at each step.

    Workaround: a scale that holds every product, or DOUBLE where rounding is expected.

    Source: merge-semantics 4, arithmetic.
    """
    return Anomaly(
        columns={"k": "INT", "a": "DECIMAL(10, 1)"},
        options={**AGGREGATION, **function("product")},
        steps=[
            (write(["+I", 1, "0.5"], ["+I", 1, "0.5"], ["+I", 1, "2.0"]), [[1, "0.6"]]),
            (
                write(["+I", 2, "2.0"], ["+I", 2, "0.5"], ["+I", 2, "0.5"]),
                [[1, "0.6"], [2, "0.5"]],
            ),
        ],
    )


@pinned
def test_a_retracted_product_is_divided_without_the_rest() -> Anomaly:
    """Taking a factor back from a product of integers drops the remainder of the division.

    Workaround: DECIMAL or DOUBLE, or retract only what was multiplied.

    Source: merge-semantics 4, arithmetic.
    """
    return Anomaly(
        columns={"k": "INT", "a": "INT"},
        options={**AGGREGATION, **function("product")},
        steps=[
            (write(["+I", 1, 7]), [[1, 7]]),
            (write(["-U", 1, 2]), [[1, 3]]),
        ],
    )


@pinned
def test_last_value_turns_null_whatever_is_taken_back() -> Anomaly:
    """Any retract makes `last_value` null, even a retract of another value or of an older record.

    Workaround: `fields.<column>.ignore-retract`.

    Source: merge-semantics 4.
    """
    return Anomaly(
        columns={"k": "INT", "g": "INT", "a": "STRING"},
        options={**GROUP, **function("last_value")},
        steps=[
            (write(["+I", 1, 2, "two"]), [[1, 2, "two"]]),
            (write(["-U", 1, 1, "one"]), [[1, 2, None]]),
        ],
    )


@pinned
def test_a_retract_of_a_map_compares_keys_only() -> Anomaly:
    """Taking a map back from `merge_map` removes its keys, whatever values they have by now.

    Workaround: write a -U only if the +U of the same update follows it and brings the keys back.

    Source: merge-semantics 4.
    """
    map_type = {"type": "MAP", "key": "STRING", "value": "INT"}
    return Anomaly(
        columns={"k": "INT", "a": map_type},
        options={**AGGREGATION, **function("merge_map")},
        steps=[
            (write(["+I", 1, [["x", 1], ["y", 2]]]), [[1, [["x", 1], ["y", 2]]]]),
            (write(["-U", 1, [["x", 99]]]), [[1, [["y", 2]]]]),
        ],
    )


@pinned
def test_times_of_map_entries_are_compared_as_texts() -> Anomaly:
    """`merge_map_with_keytime` compares its time field as text: 9 is newer than 10.

    Workaround: times of equal length, such as ISO 8601.

    Source: merge-semantics 4.3.
    """
    entry = {
        "type": "ROW",
        "fields": [{"name": "v", "type": "STRING"}, {"name": "ts", "type": "STRING"}],
    }
    return Anomaly(
        columns={"k": "INT", "a": {"type": "MAP", "key": "STRING", "value": entry}},
        options={**AGGREGATION, **function("merge_map_with_keytime")},
        steps=[
            (write(["+I", 1, [["x", ["old", "9"]]]]), [[1, [["x", ["old", "9"]]]]]),
            (write(["+I", 1, [["x", ["new", "10"]]]]), [[1, [["x", ["old", "9"]]]]]),
        ],
    )


@pinned
def test_a_retracted_row_takes_all_equal_rows_with_it() -> Anomaly:
    """Without `nested-key`, taking one row back from `nested_update` removes every equal row.

    Workaround: a `nested-key`.

    Source: merge-semantics 4.4.
    """
    rows = {
        "type": "ARRAY",
        "element": {"type": "ROW", "fields": [{"name": "x", "type": "INT"}]},
    }
    return Anomaly(
        columns={"k": "INT", "a": rows},
        options={**AGGREGATION, **function("nested_update")},
        steps=[
            (write(["+I", 1, [[7]]]), [[1, [[7]]]]),
            (write(["+I", 1, [[7]]]), [[1, [[7], [7]]]]),
            (write(["-U", 1, [[7]]]), [[1, []]]),
        ],
    )


@pinned
def test_a_count_limit_keeps_what_arrives_first() -> Anomaly:
    """`nested_update` with `count-limit` keeps the rows that arrived first, not the newest.

    Workaround: set no limit, and cut the list when you read it.

    Source: merge-semantics 4.4.
    """
    rows = {
        "type": "ARRAY",
        "element": {"type": "ROW", "fields": [{"name": "x", "type": "INT"}]},
    }
    return Anomaly(
        columns={"k": "INT", "a": rows},
        options={**AGGREGATION, **function("nested_update", count_limit="2")},
        steps=[
            (write(["+I", 1, [[1]]]), [[1, [[1]]]]),
            (write(["+I", 1, [[2]]]), [[1, [[1], [2]]]]),
            (write(["+I", 1, [[3]]]), [[1, [[1], [2]]]]),
        ],
    )


@pinned
def test_a_retract_takes_the_sequence_field_with_it() -> Anomaly:
    """Under aggregation a retract makes the sequence field null, so the row counts as older than every record with a value in the sequence field.

    Workaround: no retracts, or no sequence field.

    Source: merge-semantics 5.
    """
    return Anomaly(
        columns={"k": "INT", "s": "INT", "a": "INT"},
        options={**AGGREGATION, **function("sum"), "sequence.field": "s"},
        steps=[
            (write(["+I", 1, 1, 5]), [[1, 1, 5]]),
            (write(["-U", 1, 2, 3]), [[1, None, 2]]),
        ],
    )


@pinned
def test_rows_of_one_commit_stand_together_under_a_sequence_field() -> Anomaly:
    """The records of a key in one commit are merged into one record, which has the newest of their sequence values. So the same three records give 2 in one commit, but 1 in two commits.

    Workaround: use sequence groups instead of `sequence.field` under partial-update.

    Source: merge-semantics 3.6.
    """
    return Anomaly(
        columns={"k": "INT", "s": "INT", "a": "INT"},
        options={"merge-engine": "partial-update", "sequence.field": "s"},
        steps=[
            (write(["+I", 1, 1, 1], ["+I", 1, 3, None], ["+I", 1, 2, 2]), [[1, 3, 2]]),
            (write(["+I", 2, 1, 1], ["+I", 2, 3, None]), [[1, 3, 2], [2, 3, 1]]),
            (write(["+I", 2, 2, 2]), [[1, 3, 2], [2, 3, 1]]),
        ],
    )


@pinned
def test_a_refused_retract_fails_when_it_meets_a_row() -> Anomaly:
    """A retract that a function cannot take back is stored when it is the only record of its key in its commit. When it is merged with a row, every full scan and every compaction of the table fails.

    Workaround: `ignore-retract` of the columns, which repairs a table even when it is set later; or, when the table is created, `ignore-delete` or (against -D alone) `aggregation.remove-record-on-delete`.

    Source: merge-semantics 1.6, 2.
    """
    return Anomaly(
        columns={"k": "INT", "a": "INT"},
        options={**AGGREGATION, **function("max")},
        steps=[
            (write(["+I", 1, 5]), [[1, 5]]),
            (write(["-U", 1, 5]), READ_FAILS),
        ],
    )


@pinned
def test_a_refused_delete_fails_when_it_meets_a_row() -> Anomaly:
    """A -U or -D under partial-update without groups and without a rule for deletes is stored when it is the only record of its key in its commit. When it is merged with a row, every full scan and every compaction of the table fails.

    Workaround: `ignore-delete`, which repairs a table even when it is set later; or `partial-update.remove-record-on-delete`, when the table is created.

    Source: merge-semantics 1.6, 2.3.
    """
    return Anomaly(
        columns={"k": "INT", "a": "INT"},
        options={"merge-engine": "partial-update"},
        steps=[
            (write(["-D", 2, None]), []),
            (write(["+I", 1, 5]), [[1, 5]]),
            (write(["-D", 1, 5]), READ_FAILS),
        ],
    )


@pinned
def test_first_rows_are_invisible_until_they_are_compacted() -> Anomaly:
    """A first-row table shows a row only after a compaction.

    Workaround: compact after writing, as Paimon's writers do unless the table is `write-only`.

    Source: merge-semantics 1.7, 2.2.
    """
    return Anomaly(
        columns={"k": "INT", "a": "STRING"},
        options={"merge-engine": "first-row"},
        steps=[
            (write(["+I", 1, "first"]), []),
            (COMPACT, [[1, "first"]]),
            (write(["+I", 1, "second"], ["+I", 2, "new"]), [[1, "first"]]),
            (COMPACT, [[1, "first"], [2, "new"]]),
        ],
    )


REMOVED_ROW = Anomaly(
    columns={"k": "INT", "g": "INT", "a": "STRING", "b": "STRING"},
    options={**GROUP, "partial-update.remove-record-on-sequence-group": "g"},
    steps=[
        (write(["+I", 1, 1, "a", "b"]), [[1, 1, "a", "b"]]),
        (write(["-D", 1, 2, "a", "b"]), []),
        ({"read": {"columns": ["k", "b"]}}, [[1, "b"]]),
    ],
)
"""What the reference answers: a projection shows a row that the full read does not have."""


@pytest.mark.parametrize("machine", Machine, ids=lambda machine: machine.name.lower())
def test_a_removed_row_is_in_no_projection(machine: Machine) -> None:
    """The reference shows a removed row to a projection without the group that removed it; we do not.

    Stricter than the reference: a projection agrees with the full read (decision 0006).

    Source: merge-semantics 2.3, consequence 5.
    """
    case = parse_case(REMOVED_ROW.case("removed_row"))
    table = create_table(case)
    assert table is not None
    for step in case.steps[:2]:
        write_rows(table, step.action["write"], case.arrow_schema, machine=machine)

    assert table.scan(columns=["k", "b"], machine=machine).to_arrow().num_rows == 0
    assert table.scan(machine=machine).to_arrow().num_rows == 0


WRAPPED = Anomaly(
    columns={"k": "INT", "a": "INT"},
    options={**AGGREGATION, **function("sum"), "fields.a.braid.on-overflow": "wrap"},
    steps=[
        (write(["+I", 1, 2147483647]), [[1, 2147483647]]),
        (write(["+I", 1, 1]), [[1, -2147483648]]),
    ],
)
"""What we answer; release 2.0 of the reference fails at the second step, until we have compacted."""


@pytest.mark.parametrize("machine", Machine, ids=lambda machine: machine.name.lower())
def test_a_sum_that_wraps_round_is_read(machine: Machine) -> None:
    """An option of ours, which other engines do not know (decision 0028)."""
    run_table_case(parse_case(WRAPPED.case("wrapped")), machine)
