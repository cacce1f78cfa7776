"""Causes of surprising results (traps); traps with the same cause are described together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from docs.generator.traps import Trap


@dataclass(frozen=True, slots=True, kw_only=True)
class TrapCause:
    """The common cause of several traps.

    Attributes:
        title: A sentence without its full stop; a heading of the page of traps.
        says: What happens, and why.
        workaround: A measure that avoids all or most of these traps.
        names: Names of the tests of these traps.
    """

    title: str
    says: str
    workaround: str
    names: tuple[str, ...]

    @property
    def anchor(self) -> str:
        """The anchor of the cause's heading on the page of traps."""
        return self.title.lower().replace(" ", "-").replace(",", "")


CAUSES: Final = (
    TrapCause(
        title="The only record of a key is not merged",
        says="A key's only record is kept as it was written. The engine and its functions process this "
        "record only when a second record of the key arrives.",
        workaround="Write values in the form in which readers should see them.",
        names=(
            "a_single_record_is_kept_as_it_was_written",
            "a_single_list_keeps_its_duplicates",
            "listagg_keeps_the_duplicates_of_the_first_text",
        ),
    ),
    TrapCause(
        title="Retracts come before the records that they take back",
        says="A -U or -D does not wait for the record that it takes back. If the -U or -D is merged "
        "first, it starts the row with its own values or is lost.",
        workaround="Use one ordered stream, in which a retract follows its record; or `ignore-retract`.",
        names=(
            "a_retract_that_comes_first_is_lost",
            "retracts_without_a_row_are_counted_from_their_own_value",
            "two_retracts_of_an_aggregation_are_a_visible_row",
            "a_single_retract_disappears_in_a_compaction",
        ),
    ),
    TrapCause(
        title="A removed row leaves its values behind",
        says="A removal hides the row. Its values are kept until a compaction drops them, and the "
        "key's next record is merged with them.",
        workaround="Clear a group's columns instead of removing the row, or write every column "
        "after a removal.",
        names=(
            "values_of_a_removed_row_come_back",
            "values_of_a_removed_row_do_not_come_back_after_a_compaction",
            "a_delete_and_a_new_row_in_one_commit_remove_nothing",
            "a_row_that_a_group_removed_comes_back_with_another_group",
            "sums_continue_from_a_removed_row",
            "an_ignored_delete_lends_its_values",
        ),
    ),
    TrapCause(
        title="A compaction drops deletes",
        says="A compaction to the highest level drops each -D, and with it the position of the delete in "
        "the order. A record that is older than the delete then becomes a new row.",
        workaround="If records can be late, do not remove rows: set the columns to null with a +I, or "
        "mark the row in a column of its own.",
        names=(
            "a_compaction_forgets_how_new_a_delete_was",
            "a_delete_that_is_kept_holds_off_older_records",
            "a_sequence_field_forgets_how_new_a_delete_was",
        ),
    ),
    TrapCause(
        title="Order of arrival still counts",
        says="An ordering column orders only records with different values. The order of arrival still "
        "counts in three cases: records with equal values, late records in a column with a function, "
        "and records of one commit, which are merged before they are written.",
        workaround="Use ordering values that do not repeat, and "
        "[functions](aggregate-functions/README.md) that do not depend on the order of arrival.",
        names=(
            "an_equal_ordering_value_is_the_newer_one",
            "first_non_null_value_turns_null",
            "first_value_takes_the_late_record_that_arrives_last",
            "listagg_puts_late_texts_in_order_of_arrival",
            "collect_appends_late_lists",
            "times_of_map_entries_are_compared_as_texts",
            "a_count_limit_keeps_what_arrives_first",
            "rows_of_one_commit_stand_together_under_a_sequence_field",
        ),
    ),
    TrapCause(
        title="Numbers are rounded and exceed their types",
        says="Sums and products are computed record by record in the column's own type.",
        workaround="Leave room: BIGINT for counts, DECIMAL(18, s) or DECIMAL(38, s) for amounts; "
        "DOUBLE only where the last digit does not matter.",
        names=(
            "a_sum_of_doubles_depends_on_the_order",
            "a_wide_decimal_that_overflows_starts_again",
            "a_short_decimal_outgrows_its_type",
            "a_product_of_decimals_depends_on_the_order",
            "a_retracted_product_is_divided_without_the_rest",
        ),
    ),
    TrapCause(
        title="Functions do not remember single records",
        says="A column stores one combined value, not the records that it was combined from. A "
        "retract is applied to the combined value alone.",
        workaround="Set `fields.<column>.ignore-retract`, or send a -U only if the +U of the "
        "same update follows it.",
        names=(
            "last_value_turns_null_whatever_is_taken_back",
            "a_retract_of_a_map_compares_keys_only",
            "a_retracted_row_takes_all_equal_rows_with_it",
            "a_retract_takes_the_sequence_field_with_it",
        ),
    ),
    TrapCause(
        title="Retracts that the table does not allow are stored",
        says="A -U or -D that is the only record of its key in its commit is not merged, so it is not "
        "refused. When it meets another record of the key, every full scan and every compaction of the "
        "table fails: [when merging fails](../guides/which-row-wins.md#when-merging-fails).",
        workaround="Declare what deletes do when the table is created.",
        names=(
            "a_refused_retract_fails_when_it_meets_a_row",
            "a_refused_delete_fails_when_it_meets_a_row",
        ),
    ),
    TrapCause(
        title="First rows wait for a compaction",
        says="The first record of a key is determined when files are compacted.",
        workaround="[Compact](../guides/compaction.md) after writing.",
        names=("first_rows_are_invisible_until_they_are_compacted",),
    ),
)
"""All causes in the order of the page; every trap belongs to exactly one."""


def by_cause(traps: Sequence[Trap]) -> Mapping[TrapCause, list[Trap]]:
    """Return the causes with their traps, both in the order of `CAUSES`.

    Raises:
        KeyError: A cause names a trap that is not among them, or a trap has no cause.
    """
    by_name = {trap.name: trap for trap in traps}
    grouped = {cause: [by_name.pop(name) for name in cause.names] for cause in CAUSES}
    if by_name:
        message = f"traps without a cause: {', '.join(by_name)}"
        raise KeyError(message)
    return grouped
