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
    summary="The values of each column are combined by its aggregate function; "
    "last_non_null_value is the default.",
    effects=(
        KindEffect(
            kinds="+I +U", when="", effect="The record's value is combined into every column."
        ),
        KindEffect(
            kinds="-U -D",
            when="",
            effect="The record's value is taken back from every column. If a function cannot do "
            f"so and its column has no ignore-retract, {MERGING_FAILS}.",
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
    result_kind="+I, or -D if aggregation.remove-record-on-delete is set and the last record was "
    "a -D",
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
        "A -U or -D that a column's function cannot take back is stored if it is the only record "
        "of its key in the commit. From the next merge of the key on, every full scan and every "
        "compaction of the table fails. Set ignore-retract of such columns, which also repairs "
        "the table if it is set later. Or create the table with ignore-delete, or, if the source "
        "sends -D only, with aggregation.remove-record-on-delete.",
        "If a retract makes a NOT NULL column null, scans return the null, but [no compaction "
        "succeeds](../../guides/compaction.md#when-it-fails) until a value follows. Declare the "
        "column without NOT NULL, or with ignore-retract.",
        "Two or more retracts of a key without a +I or +U give a visible row of negated sums and "
        "nulls. Write retracts after the records that they take back.",
        "After a -D that removes the row, the next +I is added to the deleted values if no "
        "compaction ran in between: the sum of a deleted 5 and a new 2 is 7. Write -D with nulls "
        "in the aggregated columns.",
        "A retract makes a sequence field null, because the function of the field is last_value. "
        "Use either retracts or a sequence field.",
        "The merged record takes the place of the last record in the order of the merge. With a "
        "sequence field, that is not always the record that was written last.",
    ),
    compatibility=(MERGING, MAP_ORDER, ORDER_BY_SNAPSHOT, TYPES_EARLIER, NO_EFFECT),
    many_writers="Several streams if the function of every column gives the same value in any "
    "order of arrival; otherwise one stream.",
)
