"""Options, conflicts, anomalies and comparisons that several merge engines share.

Source: merge-semantics 1.3, 1.6, 3, 5.
"""

from braid.lake.declaration.engine_declaration import EngineConflict, EngineOption
from braid.lake.merge.compatibility import Compatibility

IGNORE_DELETE = EngineOption(
    key="ignore-delete",
    type="true or false",
    default="false",
    meaning="Records of kind -D and -U are dropped when they are written. The "
    "older keys first-row.ignore-delete, deduplicate.ignore-delete and "
    "partial-update.ignore-delete have the same effect.",
)
IGNORE_UPDATE_BEFORE = EngineOption(
    key="ignore-update-before",
    type="true or false",
    default="false",
    meaning="Records of kind -U are dropped when they are written; records of kind -D are not.",
)
ROW_KIND_FIELD = EngineOption(
    key="rowkind.field",
    type="a text column",
    default=None,
    meaning="The column holds the kind of each row: +I, -U, +U or -D. Then writers do not pass "
    "kinds separately.",
)
SEQUENCE_FIELD = EngineOption(
    key="sequence.field",
    type="columns, joined by commas",
    default=None,
    meaning="Records of one key merge in the order of these columns, null first; records with "
    "equal values merge in the order of arrival.",
)
SORT_ORDER = EngineOption(
    key="sequence.field.sort-order",
    type="ascending or descending",
    default="ascending",
    meaning="Whether the record with the largest (ascending) or the smallest value of "
    "sequence.field merges last; null merges first in both cases.",
)
SNAPSHOT_ORDERING = EngineOption(
    key="sequence.snapshot-ordering",
    type="true or false",
    default="false",
    meaning="Records of a later snapshot are newer, whatever their sequence numbers. Requires "
    "write-only. Between the files of one snapshot the only defined order is that +I and +U merge "
    "after -U and -D.",
)
ORDER_OPTIONS = (SEQUENCE_FIELD, SORT_ORDER, SNAPSHOT_ORDERING)
TWO_ORDERS = EngineConflict(
    option="sequence.snapshot-ordering",
    excludes="sequence.field",
    because="records can have only one order, that of snapshots or that of the column",
)
WRITE_OPTIONS = (IGNORE_DELETE, IGNORE_UPDATE_BEFORE, ROW_KIND_FIELD)
FUNCTION_OPTIONS = (
    EngineOption(
        key="fields.<column>.aggregate-function",
        type="an aggregate function",
        default=None,
        meaning="The function that combines the values of the column.",
    ),
    EngineOption(
        key="fields.default-aggregate-function",
        type="an aggregate function",
        default=None,
        meaning="The function of columns that have none of their own.",
    ),
    EngineOption(
        key="fields.<column>.ignore-retract",
        type="true or false",
        default="false",
        meaning="Records of kind -D and -U leave the column as it is.",
    ),
)
MERGING_FAILS = "[merging fails](../../guides/which-row-wins.md#when-merging-fails)"
SINGLE_RECORD = (
    "If a key has only one record, the record is kept as it is: values are not normalised, and a "
    "single -D or -U keeps its kind and is not visible. Write values as they should be read."
)
TYPES_EARLIER = Compatibility(
    subject="functions on columns of other types, options of functions that cannot be read",
    verdict="stricter",
    why="They are refused when the table is created; Paimon accepts the table, and the first "
    "write fails.",
)
MERGING = Compatibility(
    subject="merged rows and single records, including the traps",
    verdict="same",
    why="Every engine of the format reads the same rows from a table.",
)
MAP_ORDER = Compatibility(
    subject="ordering by a MAP whose values are of another type than its keys",
    verdict="other",
    why="Maps compare by size, then keys, then values. Paimon 1.4.2 accepts the table and fails "
    "at the second record of a key, so do not order by such a column if Paimon 1.4 reads the "
    "table.",
)
ORDER_BY_SNAPSHOT = Compatibility(
    subject="sequence.snapshot-ordering",
    verdict="same",
    why="As in Paimon 2.0; 1.4 does not have the option and merges in the order of arrival.",
)
NO_EFFECT = Compatibility(
    subject="options without effect, such as those of another engine or function, or misspelt ones",
    verdict="same",
    why="They are accepted, and `ineffective_options` lists them; declarations over HTTP refuse "
    "them.",
)
