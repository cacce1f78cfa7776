import numpy as np
import pyarrow as pa
import pytest

from braid.lake.format.data_types import DataField
from braid.lake.format.schema import TableSchema
from braid.lake.format.system_columns import LEVEL, SEQUENCE_NUMBER, VALUE_KIND, RowKind
from braid.lake.format.type_codec import parse_type
from braid.lake.lsm.changelog import compared_columns, first_row_changes, merge_changes
from braid.lake.lsm.round_merge import LookupMerge, PlainMerge, RoundMerge
from braid.lake.merge.column_function import ColumnFunction
from braid.lake.merge.order.key_order import key_codes
from braid.lake.merge.spec import MergeSpec
from braid.lake.options.table_options import MergeEngine

MAX_LEVEL = 5
DEDUPLICATE = MergeSpec(engine=MergeEngine.DEDUPLICATE, key_columns=("k",))
SUM = MergeSpec(
    engine=MergeEngine.AGGREGATION,
    key_columns=("k",),
    functions=(ColumnFunction(column="v", name="sum"),),
)
LAST_BY_SEQUENCE = MergeSpec(
    engine=MergeEngine.AGGREGATION,
    key_columns=("k",),
    sequence_fields=("v",),
    functions=(ColumnFunction(column="v", name="last_value"),),
)
FIRST_ROW = MergeSpec(engine=MergeEngine.FIRST_ROW, key_columns=("k",))


def record(text: str, number: int, key: int = 1) -> dict[str, object]:
    """Return the record that `L<level><kind><value>` says, as `L0+I2` or `L1-D3`; `+I` may be left out."""
    level, rest = int(text[1]), text[2:].removeprefix("=")
    kind = RowKind.INSERT
    if rest[:2] in ("+I", "-U", "+U", "-D"):
        kind, rest = RowKind.from_symbol(rest[:2]), rest[2:]
    value, _, ignored = rest.partition("/")
    return {
        SEQUENCE_NUMBER: number,
        VALUE_KIND: int(kind),
        "k": key,
        "v": int(value),
        "w": int(ignored) if ignored else 0,
        LEVEL: level,
    }


SCHEMA = pa.schema(
    [
        pa.field(SEQUENCE_NUMBER, pa.int64(), nullable=False),
        pa.field(VALUE_KIND, pa.int8(), nullable=False),
        ("k", pa.int64()),
        ("v", pa.int64()),
        ("w", pa.int64()),
        pa.field(LEVEL, pa.int32(), nullable=False),
    ]
)


def records_of(*texts: str) -> pa.Table:
    """Return the records of one key, oldest first."""
    return pa.Table.from_pylist(
        [record(text, number) for number, text in enumerate(texts, start=1)], schema=SCHEMA
    )


def texts_of(changes: pa.Table) -> list[str]:
    kinds = [RowKind(kind).symbol for kind in changes.column(VALUE_KIND).to_pylist()]
    return [
        f"{kind}{value}" + (f"/{ignored}" if ignored else "")
        for kind, value, ignored in zip(
            kinds, changes.column("v").to_pylist(), changes.column("w").to_pylist(), strict=True
        )
    ]


def changed(
    merge: RoundMerge,
    records: pa.Table,
    *,
    base_level: int,
    compared: tuple[str, ...] | None = None,
    with_codes: bool = True,
) -> list[str]:
    """Return the changelog of merging; texts as in `record`."""
    codes = key_codes([records.column("k")])
    takes_levels = isinstance(merge, LookupMerge)
    merged = merge.merge(records if takes_levels else records.drop_columns([LEVEL]), codes)
    changes = merge_changes(
        records,
        codes if with_codes else None,
        merged,
        base_level=base_level,
        key_columns=("k",),
        compared=compared,
    )
    return texts_of(changes)


@pytest.mark.parametrize(
    ("spec", "records", "changelog"),
    [
        pytest.param(DEDUPLICATE, ["L2=1", "L1=2"], [], id="C01 no record of level 0"),
        pytest.param(DEDUPLICATE, ["L1=1", "L0=2"], ["-U1", "+U2"], id="C02"),
        pytest.param(DEDUPLICATE, ["L0+U2"], ["+I2"], id="C03 a lone +U is new"),
        pytest.param(DEDUPLICATE, ["L3=1", "L0=2"], ["-U1", "+U2"], id="C04 looked up"),
        pytest.param(DEDUPLICATE, ["L3-D1", "L0=2"], ["+I2"], id="C05 looked up a retract"),
        pytest.param(DEDUPLICATE, ["L0-U2"], [], id="C06"),
        pytest.param(DEDUPLICATE, ["L3-D1", "L0-D2"], [], id="C07"),
        pytest.param(DEDUPLICATE, ["L2=2", "L0=2"], ["-U2", "+U2"], id="C08 repeated"),
        pytest.param(SUM, ["L2=1", "L1=2"], [], id="C12"),
        pytest.param(SUM, ["L1=1", "L0=2"], ["-U1", "+U3"], id="C13"),
        pytest.param(SUM, ["L3=1", "L2=1", "L1=2", "L0=2"], ["-U2", "+U4"], id="C14"),
        pytest.param(SUM, ["L1=2", "L0=0"], ["-U2", "+U2"], id="C15"),
        pytest.param(LAST_BY_SEQUENCE, ["L3=3", "L0=2"], ["-U3", "+U3"], id="C16 an older one"),
        pytest.param(LAST_BY_SEQUENCE, ["L3=1", "L0=2"], ["-U1", "+U2"], id="C17"),
        pytest.param(LAST_BY_SEQUENCE, ["L3=2", "L0=1", "L0=3"], ["-U2", "+U3"], id="C18"),
        pytest.param(DEDUPLICATE, ["L2=1", "L1=2"], [], id="C19"),
        pytest.param(DEDUPLICATE, ["L2=2", "L1=1", "L0=3"], ["-U1", "+U3"], id="C20"),
        pytest.param(DEDUPLICATE, ["L1=1", "L0-D1"], ["-D1"], id="a delete"),
    ],
)
def test_lookup_compares_with_the_lowest_compacted_record(
    spec: MergeSpec, records: list[str], changelog: list[str]
) -> None:
    merge = LookupMerge(spec=spec)

    assert changed(merge, records_of(*records), base_level=1) == changelog
    assert changed(merge, records_of(*records), base_level=1, with_codes=False) == changelog


@pytest.mark.parametrize(
    ("records", "changelog"),
    [
        pytest.param(["L0=1"], ["+I1"], id="C30"),
        pytest.param(["L0-D1"], [], id="C31"),
        pytest.param(["L5=3"], [], id="C32"),
        pytest.param(["L0=3", "L0=-3"], ["+I-3"], id="C33"),
        pytest.param(["L0=3", "L0-D3"], [], id="C34"),
        pytest.param(["L5=3", "L0=-3"], ["-U3", "+U-3"], id="C35"),
        pytest.param(["L5=3", "L0-D4"], ["-D3"], id="C36 the old row is taken away"),
        pytest.param(["L5=3", "L0-U3"], ["-D3"], id="C37"),
        pytest.param(["L5=3", "L0=3"], ["-U3", "+U3"], id="C38"),
        pytest.param(["L5=3", "L2=4"], ["-U3", "+U4"], id="a level between"),
    ],
)
def test_full_compaction_compares_with_the_highest_level(
    records: list[str], changelog: list[str]
) -> None:
    merge = PlainMerge(spec=DEDUPLICATE)

    assert changed(merge, records_of(*records), base_level=MAX_LEVEL) == changelog


@pytest.mark.parametrize(
    ("records", "compared", "changelog"),
    [
        pytest.param(["L2=2", "L0=2"], ("v", "w"), [], id="C08 equal"),
        pytest.param(["L2=1/1", "L0=1/2"], ("v",), [], id="C10 but for an ignored column"),
        pytest.param(["L1=1/1", "L0=2/2"], ("v",), ["-U1/1", "+U2/2"], id="C11 different"),
        pytest.param(["L1=1/1", "L0=1/2"], ("v", "w"), ["-U1/1", "+U1/2"], id="w counts"),
        pytest.param(["L0=2"], ("v", "w"), ["+I2"], id="an insert stays"),
        pytest.param(["L1=2", "L0-D2"], ("v", "w"), ["-D2"], id="a delete stays"),
    ],
)
def test_an_update_to_equal_values_can_be_left_out(
    records: list[str], compared: tuple[str, ...], changelog: list[str]
) -> None:
    merge = LookupMerge(spec=DEDUPLICATE)

    assert changed(merge, records_of(*records), base_level=1, compared=compared) == changelog


def test_rows_before_keep_their_number_and_rows_after_have_the_new_one() -> None:
    records = records_of("L1=1", "L0=2")
    merged = LookupMerge(spec=DEDUPLICATE).merge(records, None)

    changes = merge_changes(records, None, merged, base_level=1, key_columns=("k",))

    assert changes.schema == merged.schema
    assert changes.column(SEQUENCE_NUMBER).to_pylist() == [1, 2]


@pytest.mark.parametrize(
    ("records", "changelog"),
    [
        pytest.param(["L2=1", "L1=2"], [], id="C21 compacted only"),
        pytest.param(["L1=1", "L0=2"], [], id="C21 known"),
        pytest.param(["L0=0"], ["+I0"], id="C22 new"),
        pytest.param(["L0+U0"], ["+U0"], id="new, and keeps its kind"),
        pytest.param(["L4=7", "L0=0"], [], id="C23 looked up"),
    ],
)
def test_first_row_reports_new_rows(records: list[str], changelog: list[str]) -> None:
    table = records_of(*records)
    merged = LookupMerge(spec=FIRST_ROW).merge(table, None)

    assert texts_of(first_row_changes(table, None, merged, key_columns=("k",))) == changelog


def rows_of(values: dict[int, int], *, number: int, retracted: tuple[int, ...] = ()) -> pa.Table:
    """Return key-value rows without a level: keys in the order given, some of them retracts."""
    keys = [*values, *retracted]
    kinds = [RowKind.INSERT] * len(values) + [RowKind.DELETE] * len(retracted)
    return pa.table(
        {
            SEQUENCE_NUMBER: pa.array(np.full(len(keys), number)),
            VALUE_KIND: pa.array([int(kind) for kind in kinds], pa.int8()),
            "k": pa.array(keys, pa.int64()),
            "v": pa.array([*values.values(), *(0 for _ in retracted)], pa.int64()),
        }
    )


def test_random_rows_turn_into_each_other_by_their_difference() -> None:
    random = np.random.default_rng(7)
    for _ in range(100):
        before = {int(k): int(random.integers(3)) for k in random.permutation(20)[:9]}
        after = {int(k): int(random.integers(3)) for k in random.permutation(20)[:9]}
        gone = tuple(set(range(20, 25)) | (set(before) - set(after)))

        old, new = rows_of(before, number=1), rows_of(after, number=2, retracted=gone)
        levels = pa.array([1] * old.num_rows + [0] * new.num_rows, pa.int32())
        records = pa.concat_tables([old, new]).append_column(LEVEL, levels)

        changes = merge_changes(
            records,
            None,
            new.sort_by("k"),
            base_level=1,
            key_columns=("k",),
            compared=("v",),
        )

        replayed = dict(before)
        seen: list[int] = []
        for change in changes.to_pylist():
            key, kind = change["k"], RowKind(change[VALUE_KIND])
            seen.append(key)
            if kind.is_retract:
                assert replayed.pop(key) == change["v"]
                assert change[SEQUENCE_NUMBER] == 1
            else:
                assert (kind is RowKind.UPDATE_AFTER) == (key in before)
                replayed[key] = change["v"]
                assert change[SEQUENCE_NUMBER] == 2
        assert replayed == after
        assert seen == sorted(seen)
        assert len(seen) == sum(1 for k in before if k not in after) + sum(
            1 if k not in before else 2 * (before[k] != v) for k, v in after.items()
        )


def test_no_records_have_no_changes() -> None:
    merged = rows_of({}, number=1)
    records = merged.append_column(LEVEL, pa.array([], pa.int32()))

    changes = merge_changes(records, None, merged, base_level=1, key_columns=("k",))

    assert changes.equals(merged)


def schema_with(options: dict[str, str]) -> TableSchema:
    return TableSchema(
        id=0,
        fields=(
            DataField(id=0, name="p", type=parse_type("INT NOT NULL")),
            DataField(id=1, name="k", type=parse_type("INT NOT NULL")),
            DataField(id=2, name="v", type=parse_type("BIGINT")),
            DataField(id=3, name="at", type=parse_type("BIGINT")),
        ),
        highest_field_id=3,
        partition_keys=("p",),
        primary_keys=("p", "k"),
        options={"bucket": "1", **options},
    )


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param({}, None, id="every update is told"),
        pytest.param({"row-deduplicate": "true"}, ("p", "v", "at"), id="all but the key"),
        pytest.param(
            {"row-deduplicate": "true", "row-deduplicate-ignore-fields": "at"},
            ("p", "v"),
            id="but for a column",
        ),
        pytest.param({"row-deduplicate-ignore-fields": "at"}, None, id="alone it means nothing"),
    ],
)
def test_columns_in_which_an_update_differs_from_a_repetition(
    options: dict[str, str], expected: tuple[str, ...] | None
) -> None:
    named = {f"changelog-producer.{key}": value for key, value in options.items()}

    assert compared_columns(schema_with(named)) == expected
