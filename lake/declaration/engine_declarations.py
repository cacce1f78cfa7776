"""What each merge engine does, as data: the reference pages are made from it, and hints.

An engine is described as merging sees it: two or more records of one key, or one where the engine
is asked even then. A record that is alone of its key keeps its values and its kind (merge-semantics
1.6), except under first-row and in tables that look keys up.

Source: merge-semantics 1.3, 1.6, 2, 3, 5.
"""

from dataclasses import dataclass
from typing import Final

from lake.merge.compatibility import Compatibility
from lake.options import MergeEngine


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOption:
    """An option of the table that the engine reads.

    Attributes:
        key: As in the table's options; `<...>` stands for a name.
        type: What its value is, for people.
        default: For people; None: nothing unless given.
        meaning: One sentence.
    """

    key: str
    type: str
    default: str | None
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KindEffect:
    """What records of some kinds do.

    Attributes:
        kinds: Row kinds, of `+I -U +U -D`.
        when: The options or records it holds for; empty: always.
        effect: One sentence.
    """

    kinds: str
    when: str
    effect: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineConflict:
    """Two declarations that exclude each other under the engine.

    Attributes:
        option: The declaration that is refused.
        excludes: What it is refused beside.
        because: Why, one clause.
    """

    option: str
    excludes: str
    because: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineDeclaration:
    """All that a user has to know of one merge engine.

    Attributes:
        engine: Whose it is.
        summary: One sentence: what several records of one key become.
        effects: What each row kind does.
        result_kind: The kind of the merged record; rows of kind -D and -U are not visible.
        options: That it reads, besides those of its aggregate functions.
        conflicts: Declarations that exclude each other.
        anomalies: Where the answer surprises, and the way round it; one or two sentences each.
        compatibility: Against the reference.
        many_writers: Whether several streams may feed one table, and why; one sentence.
    """

    engine: MergeEngine
    summary: str
    effects: tuple[KindEffect, ...]
    result_kind: str
    options: tuple[EngineOption, ...]
    conflicts: tuple[EngineConflict, ...]
    anomalies: tuple[str, ...]
    compatibility: tuple[Compatibility, ...]
    many_writers: str


_IGNORE_DELETE = EngineOption(
    key="ignore-delete",
    type="true or false",
    default="false",
    meaning="Records of kind -D, and those of kind -U too, are dropped when they are written. The "
    "older keys first-row.ignore-delete, deduplicate.ignore-delete and "
    "partial-update.ignore-delete say the same.",
)
_IGNORE_UPDATE_BEFORE = EngineOption(
    key="ignore-update-before",
    type="true or false",
    default="false",
    meaning="Records of kind -U are dropped when they are written, those of kind -D are not.",
)
_ROW_KIND_FIELD = EngineOption(
    key="rowkind.field",
    type="a text column",
    default=None,
    meaning="The column says what each row does: +I, -U, +U or -D. Kinds are then not given beside "
    "the rows.",
)
_SEQUENCE_FIELD = EngineOption(
    key="sequence.field",
    type="columns, joined by commas",
    default=None,
    meaning="Records of one key merge in the order of these columns, null first, and in the order "
    "of arrival where they are equal.",
)
_SORT_ORDER = EngineOption(
    key="sequence.field.sort-order",
    type="ascending or descending",
    default="ascending",
    meaning="Whether the largest or the smallest value of sequence.field merges last; null merges "
    "first either way.",
)
_SNAPSHOT_ORDERING = EngineOption(
    key="sequence.snapshot-ordering",
    type="true or false",
    default="false",
    meaning="Records of a later snapshot are newer, whatever their sequence numbers. Needs "
    "write-only. Between the files of one snapshot only one thing is certain: +I and +U merge "
    "after -U and -D.",
)
_ORDER_OPTIONS = (_SEQUENCE_FIELD, _SORT_ORDER, _SNAPSHOT_ORDERING)
_TWO_ORDERS = EngineConflict(
    option="sequence.snapshot-ordering",
    excludes="sequence.field",
    because="records have one order: that of snapshots or that of the column",
)
_WRITE_OPTIONS = (_IGNORE_DELETE, _IGNORE_UPDATE_BEFORE, _ROW_KIND_FIELD)
_FUNCTION_OPTIONS = (
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
_MERGING_FAILS = "[merging fails](../../guides/which-row-wins.md#when-merging-fails)"
_SINGLE_RECORD = (
    "A record that is alone of its key is kept as it is: values are not normalised, a lone -D or "
    "-U stays one and is not visible. Write values as they shall be seen."
)
_TYPES_EARLIER = Compatibility(
    subject="functions on columns of other types, options of functions that cannot be read",
    verdict="stricter",
    why="They are refused when the table is made; the reference accepts the table and fails at its "
    "first write.",
)
_MERGING = Compatibility(
    subject="merged rows, lone records, traps included",
    verdict="same",
    why="Every engine of the format shall see one answer in one table.",
)
_MAP_ORDER = Compatibility(
    subject="ordering by a MAP whose values are of another type than its keys",
    verdict="other",
    why="Maps compare by size, keys, then values. Release 1.4.2 accepts the table and fails at the "
    "second record of a key, so do not order by such a column where 1.4 reads.",
)
_ORDER_BY_SNAPSHOT = Compatibility(
    subject="sequence.snapshot-ordering",
    verdict="same",
    why="As in release 2.0; 1.4 does not know it and merges in order of arrival.",
)
_NO_EFFECT = Compatibility(
    subject="options without effect: of another engine, of another function, misspelt",
    verdict="same",
    why="They are accepted by lake, which can list them; declarations over HTTP refuse them.",
)

ENGINES: Final[dict[MergeEngine, EngineDeclaration]] = {
    MergeEngine.DEDUPLICATE: EngineDeclaration(
        engine=MergeEngine.DEDUPLICATE,
        summary="The last record of a key replaces all earlier ones whole.",
        effects=(
            KindEffect(kinds="+I +U", when="", effect="The record replaces the row."),
            KindEffect(kinds="-U -D", when="", effect="The row is gone."),
            KindEffect(
                kinds="-U -D", when="ignore-delete", effect="The record is dropped when written."
            ),
        ),
        result_kind="the last record's",
        options=(*_WRITE_OPTIONS, *_ORDER_OPTIONS),
        conflicts=(_TWO_ORDERS,),
        anomalies=(
            "A -U removes the row as a -D does until a +U of the key follows: nobody waits for the "
            "other half of an update. Set ignore-update-before where the source sends both.",
        ),
        compatibility=(_MERGING, _MAP_ORDER, _ORDER_BY_SNAPSHOT, _NO_EFFECT),
        many_writers="One stream only: rows replace each other whole, so one stream's row would "
        "erase what another wrote.",
    ),
    MergeEngine.PARTIAL_UPDATE: EngineDeclaration(
        engine=MergeEngine.PARTIAL_UPDATE,
        summary="Each record changes the columns that it fills; sequence groups say, group by "
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
                effect=f"The record is stored, and {_MERGING_FAILS} when it meets another.",
            ),
        ),
        result_kind="+I, or -D where the row was removed or no +I or +U was seen",
        options=(
            *_WRITE_OPTIONS,
            *_ORDER_OPTIONS,
            EngineOption(
                key="fields.<ordering columns>.sequence-group",
                type="columns, joined by commas without blanks",
                default=None,
                meaning="The ordering columns in the key, compared in their order, ascending, null "
                "first, say which record of the columns in the value is the newest.",
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
            *_FUNCTION_OPTIONS,
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
                because="without a group nothing tells an older value from a newer one",
            ),
            _TWO_ORDERS,
            EngineConflict(
                option="fields.<column>.ignore-retract",
                excludes="aggregation.remove-record-on-delete",
                because="a -D either removes the row or leaves the column alone",
            ),
        ),
        anomalies=(
            _SINGLE_RECORD,
            "A retract that is the first record of its key gives the row its own values before it "
            "takes them back: with sum in a group, -U 5 and then +I 7 make 7, not 2. Let adds arrive first, or declare ignore-retract.",
            "A key that has only retracts becomes a -D, which is a delete again when the row it "
            "was meant for is merged later. Keep retracts behind the records that they take back.",
            "A retract at the same ordering value as the add it follows takes effect. Where it "
            "should not, let ordering values not repeat.",
            "A group whose ordering columns are partly null is compared with null as the smallest. "
            "Fill all of them or none.",
            "A -D that clears a group makes its NOT NULL columns null, too, and so do two or more "
            "records of a key, inserts as well, of which none has a version of the group: scans "
            "show it, but [no compaction succeeds](../../guides/compaction.md#when-it-fails) until "
            "a value follows. Declare columns of groups without NOT NULL.",
        ),
        compatibility=(
            _MERGING,
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
            _MAP_ORDER,
            _ORDER_BY_SNAPSHOT,
            _TYPES_EARLIER,
            _NO_EFFECT,
        ),
        many_writers="Several streams, each with a sequence group of its own.",
    ),
    MergeEngine.AGGREGATION: EngineDeclaration(
        engine=MergeEngine.AGGREGATION,
        summary="Each column combines its values by an aggregate function, last_non_null_value "
        "where none is declared.",
        effects=(
            KindEffect(kinds="+I +U", when="", effect="Every column takes the value in."),
            KindEffect(
                kinds="-U -D",
                when="",
                effect="Every column takes its value back. Where its function cannot and the column "
                f"has no ignore-retract, {_MERGING_FAILS}.",
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
            *_WRITE_OPTIONS,
            *_ORDER_OPTIONS,
            EngineOption(
                key="aggregation.remove-record-on-delete",
                type="true or false",
                default="false",
                meaning="A -D removes the row.",
            ),
            *_FUNCTION_OPTIONS,
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
            _TWO_ORDERS,
        ),
        anomalies=(
            _SINGLE_RECORD,
            "A -U or -D that a column's function cannot take back is stored when it is alone in "
            "its commit, and from its key's next merge on every full scan and every compaction of "
            "the table fails. Declare ignore-retract of such columns or ignore-delete with the "
            "table, or, where only -D comes, aggregation.remove-record-on-delete: its options do "
            "not change later.",
            "A retract that makes a NOT NULL column null is shown by scans, but [no compaction "
            "succeeds](../../guides/compaction.md#when-it-fails) until a value follows. Declare "
            "the column without NOT NULL, or ignore-retract.",
            "Two or more retracts of a key without an add make a visible row of negated sums and "
            "nulls. Keep retracts behind the records that they take back.",
            "After a -D that removes the row, the next +I is aggregated onto the deleted values if "
            "no compaction came between: the sum of a deleted 5 and a new 2 is 7. Write -D with "
            "null in the columns that are aggregated.",
            "A sequence field becomes null by a retract, for its function is last_value. Do "
            "without one of the two.",
            "The merged record stands in the order where the last record of the merge stood, which "
            "with a sequence field is not always the one that was written last.",
        ),
        compatibility=(_MERGING, _MAP_ORDER, _ORDER_BY_SNAPSHOT, _TYPES_EARLIER, _NO_EFFECT),
        many_writers="Several streams where every column's function gives one answer in any order; "
        "otherwise one.",
    ),
    MergeEngine.FIRST_ROW: EngineDeclaration(
        engine=MergeEngine.FIRST_ROW,
        summary="The first record of a key stays; later ones are dropped.",
        effects=(
            KindEffect(
                kinds="+I +U", when="", effect="The record is kept where the key has none yet."
            ),
            KindEffect(
                kinds="-U -D", when="ignore-delete", effect="The record is dropped when written."
            ),
            KindEffect(
                kinds="-U -D",
                when="without ignore-delete",
                effect="The record is refused when written.",
            ),
        ),
        result_kind="the first record's",
        options=(*_WRITE_OPTIONS, _SNAPSHOT_ORDERING),
        conflicts=(
            EngineConflict(
                option="sequence.field",
                excludes="merge-engine = first-row",
                because="the first record written stays, whatever it holds",
            ),
            EngineConflict(
                option="changelog-producer",
                excludes="merge-engine = first-row",
                because="the first record is known when files are compacted with a look at the "
                "keys there are: only none and lookup go with it",
            ),
            EngineConflict(
                option="deletion-vectors.enabled",
                excludes="merge-engine = first-row",
                because="no row is ever replaced, so there is nothing to mark as deleted",
            ),
        ),
        anomalies=("A +U that comes first is kept as it is; only readers of changes can tell.",),
        compatibility=(
            _MERGING,
            Compatibility(
                subject="-U and -D without ignore-delete",
                verdict="stricter",
                why="The reference refuses them when it compacts; stored before, they would keep "
                "every later row from being seen.",
            ),
            _ORDER_BY_SNAPSHOT,
            _NO_EFFECT,
        ),
        many_writers="One stream only: which record is the first would depend on which job commits "
        "first.",
    ),
}
"""The engines, in the order in which they are told of."""


def why_excluded(engine: MergeEngine, option: str, excludes: str) -> str:
    """Return why two declarations exclude each other under the engine, for a hint."""
    return next(
        conflict.because
        for conflict in ENGINES[engine].conflicts
        if (conflict.option, conflict.excludes) == (option, excludes)
    )
