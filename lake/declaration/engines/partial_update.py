"""Declaration of the partial-update engine, as data (`EngineDeclaration`); merging is in `braid.lake.merge`.

Source: merge-semantics 2.3, 3.
"""

from typing import Final

from braid.lake.declaration.engine_declaration import (
    EngineConflict,
    EngineDeclaration,
    EngineOption,
    KindEffect,
)
from braid.lake.declaration.engines.common import (
    FUNCTION_OPTIONS,
    MAP_ORDER,
    MERGING,
    MERGING_FAILS,
    NO_EFFECT,
    ORDER_BY_SNAPSHOT,
    ORDER_OPTIONS,
    SINGLE_RECORD,
    TWO_ORDERS,
    TYPES_EARLIER,
    WRITE_OPTIONS,
)
from braid.lake.merge.compatibility import Compatibility
from braid.lake.options.table_options import MergeEngine

PARTIAL_UPDATE: Final = EngineDeclaration(
    engine=MergeEngine.PARTIAL_UPDATE,
    summary="Each record changes the columns that it fills; sequence groups determine, group by "
    "group, which record is the newest.",
    effects=(
        KindEffect(
            kinds="+I +U",
            when="columns without a group",
            effect="Values that are not null replace those of the row.",
        ),
        KindEffect(
            kinds="+I +U",
            when="columns of a group, if the record is not older by the ordering columns",
            effect="The group's columns get the values of the record, including nulls; columns "
            "with an aggregate function combine them with the existing values.",
        ),
        KindEffect(
            kinds="+I +U",
            when="columns of a group, if the record is older",
            effect="Only columns with an aggregate function change; the function merges the value "
            "as an older one.",
        ),
        KindEffect(
            kinds="+I +U",
            when="columns of a group, if all its ordering columns are null",
            effect="The group does not change.",
        ),
        KindEffect(
            kinds="-U -D",
            when="columns of a group, if the record is not older",
            effect="The group's columns become null, columns with an aggregate function take the "
            "value back, and the ordering columns get the values of the record.",
        ),
        KindEffect(
            kinds="-U -D",
            when="columns of a group, if the record is older",
            effect="Only columns with an aggregate function take the value back.",
        ),
        KindEffect(
            kinds="-D",
            when="partial-update.remove-record-on-sequence-group names an ordering column of the "
            "group, and the record is not older",
            effect="The row is removed.",
        ),
        KindEffect(
            kinds="-D",
            when="partial-update.remove-record-on-delete",
            effect="The row is removed; a -U is ignored.",
        ),
        KindEffect(
            kinds="-U -D", when="ignore-delete", effect="The record is dropped when written."
        ),
        KindEffect(
            kinds="-U -D",
            when="no groups, and none of these options",
            effect=f"The record is stored, and {MERGING_FAILS} when its key has another record.",
        ),
    ),
    result_kind="+I, or -D if the row was removed or the key has neither +I nor +U",
    options=(
        *WRITE_OPTIONS,
        *ORDER_OPTIONS,
        EngineOption(
            key="fields.<ordering columns>.sequence-group",
            type="columns, joined by commas without blanks",
            default=None,
            meaning="The ordering columns in the key, compared in their order, ascending, null "
            "first, determine which record is the newest for the columns in the value.",
        ),
        EngineOption(
            key="partial-update.remove-record-on-delete",
            type="true or false",
            default="false",
            meaning="A -D removes the row, in tables without sequence groups.",
        ),
        EngineOption(
            key="partial-update.remove-record-on-sequence-group",
            type="ordering columns, joined by commas without blanks",
            default=None,
            meaning="A -D that is not older by one of these groups removes the row.",
        ),
        *FUNCTION_OPTIONS,
    ),
    conflicts=(
        EngineConflict(
            option="partial-update.remove-record-on-delete",
            excludes="ignore-delete",
            because="a -D cannot both remove the row and be dropped",
        ),
        EngineConflict(
            option="partial-update.remove-record-on-sequence-group",
            excludes="ignore-delete",
            because="a -D cannot both remove the row and be dropped",
        ),
        EngineConflict(
            option="partial-update.remove-record-on-delete",
            excludes="sequence groups",
            because="a -D has no place in the orders of the groups; "
            "partial-update.remove-record-on-sequence-group gives it one",
        ),
        EngineConflict(
            option="an aggregate function other than last_non_null_value",
            excludes="a column that no sequence group protects",
            because="without a group there is no order of older and newer values",
        ),
        TWO_ORDERS,
        EngineConflict(
            option="fields.<column>.ignore-retract",
            excludes="aggregation.remove-record-on-delete",
            because="a -D either removes the row or leaves the column alone",
        ),
    ),
    anomalies=(
        SINGLE_RECORD,
        "If a retract is the first record of its key, its values are first written to the row and "
        "then taken back: with sum in a group, -U 5 and then +I 7 give 7, not 2. Write retracts "
        "after the records that they take back, or declare ignore-retract.",
        "The retracts of a key without a +I or +U are merged into a -D. If the record that they "
        "take back is merged later, this -D deletes its row. Write retracts after the records "
        "that they take back.",
        "A retract with the same ordering value as an earlier +I or +U takes effect. If it should "
        "not, do not repeat ordering values.",
        "If only some ordering columns of a group are null, null counts as the smallest value. "
        "Fill all of them or none.",
        "A -D that clears a group also makes its NOT NULL columns null. So do two or more records "
        "of a key, even inserts, if none of them has an ordering value of the group. Scans "
        "show the nulls, but [no compaction succeeds](../../guides/compaction.md#when-it-fails) "
        "until "
        "a value follows. Declare columns of groups without NOT NULL.",
    ),
    compatibility=(
        MERGING,
        Compatibility(
            subject="an ordering column in two groups, or protected by another group",
            verdict="stricter",
            why="In Paimon the result depends on the order of a hash map.",
        ),
        Compatibility(
            subject="an ordering column named twice in one group",
            verdict="stricter",
            why="Refused as a mistake, because the second mention has no effect.",
        ),
        Compatibility(
            subject="projections of tables with remove-record-on-sequence-group",
            verdict="stricter",
            why="Ordering columns that can remove a row are always read, so a projection "
            "agrees with the full read.",
        ),
        MAP_ORDER,
        ORDER_BY_SNAPSHOT,
        TYPES_EARLIER,
        NO_EFFECT,
    ),
    many_writers="Several streams, each with a sequence group of its own.",
)
