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
    meaning="The column holds the kind of each row: +I, -U, +U or -D. Kinds are then not passed "
    "separately.",
)
SEQUENCE_FIELD = EngineOption(
    key="sequence.field",
    type="columns, joined by commas",
    default=None,
    meaning="Records of one key merge in the order of these columns, null first, and in the order "
    "of arrival where they are equal.",
)
SORT_ORDER = EngineOption(
    key="sequence.field.sort-order",
    type="ascending or descending",
    default="ascending",
    meaning="Whether the largest or the smallest value of sequence.field merges last; null merges "
    "first either way.",
)
SNAPSHOT_ORDERING = EngineOption(
    key="sequence.snapshot-ordering",
    type="true or false",
    default="false",
    meaning="Records of a later snapshot are newer, whatever their sequence numbers. Needs "
    "write-only. Among the files of one snapshot only one order is defined: +I and +U merge after "
    "-U and -D.",
)
ORDER_OPTIONS = (SEQUENCE_FIELD, SORT_ORDER, SNAPSHOT_ORDERING)
TWO_ORDERS = EngineConflict(
    option="sequence.snapshot-ordering",
    excludes="sequence.field",
    because="records have one order: that of snapshots or that of the column",
)
WRITE_OPTIONS = (IGNORE_DELETE, IGNORE_UPDATE_BEFORE, ROW_KIND_FIELD)
FUNCTION_OPTIONS = (
    EngineOption(
        key="fields.<column>.aggregate-function",
        type="an aggregate function",
        default=None,
        meaning="How values of the column combine.",
    ),
    EngineOption(
        key="fields.default-aggregate-function",
        type="an aggregate function",
        default=None,
        meaning="The function of columns that name none.",
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
    "The single record of a key is kept as it is: values are not normalised, and a single -D or -U "
    "stays one and is not visible. Write values as they should be read."
)
TYPES_EARLIER = Compatibility(
    subject="functions on columns of other types, options of functions that cannot be read",
    verdict="stricter",
    why="They are refused when the table is created; the reference accepts the table and fails at "
    "its first write.",
)
MERGING = Compatibility(
    subject="merged rows, single records and traps included",
    verdict="same",
    why="Every engine of the format reads the same rows from a table.",
)
MAP_ORDER = Compatibility(
    subject="ordering by a MAP whose values are of another type than its keys",
    verdict="other",
    why="Maps compare by size, keys, then values. Release 1.4.2 accepts the table and fails at the "
    "second record of a key, so do not order by such a column where 1.4 reads.",
)
ORDER_BY_SNAPSHOT = Compatibility(
    subject="sequence.snapshot-ordering",
    verdict="same",
    why="As in release 2.0; 1.4 does not know it and merges in order of arrival.",
)
NO_EFFECT = Compatibility(
    subject="options without effect: of another engine, of another function, misspelt",
    verdict="same",
    why="They are accepted by lake, which can list them; declarations over HTTP refuse them.",
)
