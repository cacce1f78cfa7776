"""Declaration of the aggregation engine, as data (`EngineDeclaration`); merging is in `braid.lake.merge`.

Source: merge-semantics 2.4, 5.
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
from braid.lake.options.table_options import MergeEngine

AGGREGATION: Final = EngineDeclaration(
    engine=MergeEngine.AGGREGATION,
    summary="Each column combines its values by an aggregate function, last_non_null_value "
    "where none is declared.",
    effects=(
        KindEffect(
            kinds="+I +U", when="", effect="The record's value is combined into every column."
        ),
        KindEffect(
            kinds="-U -D",
            when="",
            effect="The record's value is taken back from every column. Where the function "
            f"cannot do so and the column has no ignore-retract, {MERGING_FAILS}.",
        ),
        KindEffect(
            kinds="-D",
            when="aggregation.remove-record-on-delete",
            effect="The row is removed; a -U is still taken back column by column.",
        ),
        KindEffect(
            kinds="-U -D", when="ignore-delete", effect="The record is dropped when written."
        ),
    ),
    result_kind="+I; -D where aggregation.remove-record-on-delete is set and the last record "
    "was a -D",
    options=(
        *WRITE_OPTIONS,
        *ORDER_OPTIONS,
        EngineOption(
            key="aggregation.remove-record-on-delete",
            type="true or false",
            default="false",
            meaning="A -D removes the row.",
        ),
        *FUNCTION_OPTIONS,
    ),
    conflicts=(
        EngineConflict(
            option="fields.<column>.ignore-retract",
            excludes="aggregation.remove-record-on-delete",
            because="a -D either removes the row or leaves the column alone",
        ),
        EngineConflict(
            option="fields.<column>.aggregate-function",
            excludes="sequence.field naming the column",
            because="a sequence field always holds its last value",
        ),
        TWO_ORDERS,
    ),
    anomalies=(
        SINGLE_RECORD,
        "A -U or -D that a column's function cannot take back is stored when it is alone in "
        "its commit. From the next merge of its key on, every full scan and every compaction of "
        "the table fails. Set ignore-retract of such columns: set later, it repairs the table, too. "
        "Or create the table with ignore-delete, or, where only -D comes, with "
        "aggregation.remove-record-on-delete.",
        "A retract that makes a NOT NULL column null is shown by scans, but [no compaction "
        "succeeds](../../guides/compaction.md#when-it-fails) until a value follows. Declare "
        "the column without NOT NULL, or ignore-retract.",
        "Two or more retracts of a key without an add make a visible row of negated sums and "
        "nulls. Keep retracts behind the records that they take back.",
        "After a -D that removes the row, the next +I is aggregated onto the deleted values if "
        "no compaction came between: the sum of a deleted 5 and a new 2 is 7. Write -D with "
        "null in the columns that are aggregated.",
        "A sequence field becomes null by a retract, because its function is last_value. Use only "
        "one of the two.",
        "The merged record takes the place of the last record in the order of the merge. With a "
        "sequence field, that is not always the record that was written last.",
    ),
    compatibility=(MERGING, MAP_ORDER, ORDER_BY_SNAPSHOT, TYPES_EARLIER, NO_EFFECT),
    many_writers="Several streams where every column's function gives one answer in any order; "
    "otherwise one.",
)
