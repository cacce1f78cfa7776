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
            effect="Values that are not null replace the row's.",
        ),
        KindEffect(
            kinds="+I +U",
            when="columns of a group, the record not older by its ordering columns",
            effect="The group's columns are taken whole, nulls included; those with an "
            "aggregate function combine.",
        ),
        KindEffect(
            kinds="+I +U",
            when="columns of a group, the record older",
            effect="Only columns with an aggregate function change; they combine in the "
            "function's late form.",
        ),
        KindEffect(
            kinds="+I +U",
            when="all ordering columns of a group null",
            effect="The group is left alone.",
        ),
        KindEffect(
            kinds="-U -D",
            when="columns of a group, the record not older",
            effect="The group's columns become null, those with an aggregate function take the "
            "value back, and the ordering columns are taken.",
        ),
        KindEffect(
            kinds="-U -D",
            when="columns of a group, the record older",
            effect="Only columns with an aggregate function take the value back.",
        ),
        KindEffect(
            kinds="-D",
            when="partial-update.remove-record-on-sequence-group names an ordering column of "
            "the group, the record not older",
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
            when="neither groups nor one of these options",
            effect=f"The record is stored, and {MERGING_FAILS} when it meets another.",
        ),
    ),
    result_kind="+I, or -D where the row was removed or no +I or +U was seen",
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
            because="a -D has no place in the groups' orders; "
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
        "A retract that is the first record of its key first gives its values to the row and then "
        "takes them back: with sum in a group, -U 5 and then +I 7 make 7, not 2. Let adds arrive first, or declare ignore-retract.",
        "A key that has only retracts becomes a -D, which deletes the row that it was meant for "
        "if that row is merged later. Keep retracts behind the records that they take back.",
        "A retract at the same ordering value as the add it follows takes effect. Where it "
        "should not, let ordering values not repeat.",
        "A group whose ordering columns are partly null is compared with null as the smallest. "
        "Fill all of them or none.",
        "A -D that clears a group also makes its NOT NULL columns null. So do two or more records "
        "of a key, even inserts, if none of them has a version of the group. Scans "
        "show the nulls, but [no compaction succeeds](../../guides/compaction.md#when-it-fails) until "
        "a value follows. Declare columns of groups without NOT NULL.",
    ),
    compatibility=(
        MERGING,
        Compatibility(
            subject="an ordering column in two groups, or protected by another group",
            verdict="stricter",
            why="The reference leaves the outcome to the order of a hash map.",
        ),
        Compatibility(
            subject="an ordering column named twice in one group",
            verdict="stricter",
            why="The second mention changes nothing, so it is a mistake.",
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
