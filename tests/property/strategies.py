"""Random tables, histories and cuts for the laws of merging.

Keys, ordering values and kinds come from small domains, so that records meet, tie and arrive late
in almost every example.
"""

import datetime as dt
import decimal
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from lake.format.system_columns import SEQUENCE_NUMBER, VALUE_KIND, RowKind
from lake.merge.declared_options import LAST_NON_NULL_VALUE
from lake.merge.spec import ColumnFunction, MergeSpec, SequenceGroup
from lake.options import MergeEngine

# Values of each type that order rows: few, and the awkward ones among them.
ATOMIC_VALUES: dict[pa.DataType, Sequence[object]] = {
    pa.bool_(): [False, True],
    pa.int8(): [-128, -1, 0, 127],
    pa.int32(): [-(2**31), -1, 0, 1, 2**31 - 1],
    pa.int64(): [-(2**63), -1, 0, 1, 2, 2**63 - 1],
    pa.float32(): [-math.inf, -0.0, 0.0, 1.5, math.nan],
    pa.float64(): [-1e300, -0.0, 0.0, 1e-300, math.inf, math.nan],
    pa.decimal128(10, 2): [decimal.Decimal(t) for t in ("-1.25", "0.00", "0.01", "99999999.99")],
    pa.decimal128(38, 0): [decimal.Decimal(n) for n in (-(10**37), -1, 0, 2**64, 2**64 + 1)],
    pa.string(): ["", "a", "a\0", "ab", "abcdefgh", "abcdefghi", "zz", "é", "\uffff", "\U0001f600"],
    pa.binary(): [b"", b"\0", b"\0\0", b"\x7f", b"\xff", b"a" * 40, b"a" * 41],
    pa.date32(): [dt.date(1969, 12, 31), dt.date(2024, 2, 29)],
    pa.time32("ms"): [dt.time(0, 0), dt.time(23, 59, 59, 999000)],
    pa.timestamp("us"): [-86_400_000_000, 0, 1],
    pa.timestamp("ns"): [-1, 0, 1, 10**18, 10**18 + 1],
}
NESTED_VALUES: dict[pa.DataType, Sequence[object]] = {
    pa.list_(pa.int32()): [[], [1], [1, None]],
    pa.map_(pa.string(), pa.int64()): [[], [("a", 1)]],
    pa.struct([("x", pa.int32()), ("y", pa.string())]): [{"x": 1, "y": None}, {"x": None, "y": ""}],
}
VALUES = {**ATOMIC_VALUES, **NESTED_VALUES}

KINDS = tuple(RowKind)
ADDS = (RowKind.INSERT, RowKind.UPDATE_AFTER)


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """A table's merge rules and records in order of arrival, sequence numbers mostly ascending."""

    spec: MergeSpec
    records: pa.Table


def types_of(values: dict[pa.DataType, Sequence[object]]) -> st.SearchStrategy[pa.DataType]:
    return st.sampled_from(list(values))


@st.composite
def groups(draw: st.DrawFn, columns: dict[str, pa.DataType]) -> tuple[SequenceGroup, ...]:
    """Draw sequence groups and add their columns."""
    found = []
    for index in range(draw(st.integers(0, 3))):
        ordering = tuple(f"g{index}_{i}" for i in range(draw(st.integers(1, 2))))
        protected = tuple(f"p{index}_{i}" for i in range(draw(st.integers(0, 3))))
        columns |= {name: draw(types_of(ATOMIC_VALUES)) for name in ordering}
        columns |= {name: draw(types_of(VALUES)) for name in protected}
        found.append(SequenceGroup(ordering=ordering, protected=protected))
    return tuple(found)


@st.composite
def specs(
    draw: st.DrawFn, columns: dict[str, pa.DataType], *, associative: bool = False
) -> MergeSpec:
    """Draw a table's merge rules and add its columns.

    A row folded from several records stands for all of them only in part: with functions in groups,
    and with sequence fields under partial-update, the reference is not associative.
    """
    keys = tuple(f"k{i}" for i in range(draw(st.integers(1, 3))))
    columns |= {name: draw(types_of(ATOMIC_VALUES)) for name in keys}
    plain = tuple(f"v{i}" for i in range(draw(st.integers(0, 3))))
    columns |= {name: draw(types_of(VALUES)) for name in plain}
    sequence_fields = tuple(f"s{i}" for i in range(draw(st.sampled_from([0, 0, 1, 2]))))
    columns |= {name: draw(types_of(ATOMIC_VALUES)) for name in sequence_fields}
    not_null: set[str] = set()
    if plain:
        not_null = draw(st.one_of(st.just(set()), st.sets(st.sampled_from(plain))))
    spec = MergeSpec(
        engine=draw(st.sampled_from([MergeEngine.DEDUPLICATE, MergeEngine.PARTIAL_UPDATE])),
        key_columns=keys,
        not_null_columns=frozenset(not_null | set(keys)),
        sequence_fields=sequence_fields,
        sequence_descending=draw(st.booleans()),
    )
    if spec.engine is MergeEngine.DEDUPLICATE:
        return replace(spec, ignore_delete=draw(st.booleans()))
    spec = replace(spec, groups=draw(groups(columns)))
    if associative:
        spec = replace(spec, sequence_fields=())
    ordering = [name for group in spec.groups for name in group.ordering]
    protected = [name for group in spec.groups for name in group.protected]
    functions = draw(st.sets(st.sampled_from(protected))) if protected and not associative else ()
    spec = replace(
        spec,
        functions=tuple(
            ColumnFunction(
                column=name, name=LAST_NON_NULL_VALUE, ignore_retract=draw(st.booleans())
            )
            for name in sorted(functions)
        ),
    )
    match draw(st.sampled_from(["refuse", "ignore", "remove"])):
        case "ignore":
            return replace(spec, ignore_delete=True)
        case "remove" if ordering:
            names = draw(st.sets(st.sampled_from(ordering), min_size=1))
            return replace(spec, removing_columns=frozenset(names))
        case "remove":
            return replace(spec, remove_record_on_delete=True)
        case _:
            return spec


@st.composite
def histories(
    draw: st.DrawFn,
    *,
    kinds: Sequence[RowKind] = KINDS,
    associative: bool = False,
) -> History:
    """Draw a table and up to 40 records of few keys; equal sequence numbers never.

    Args:
        draw: Hypothesis.
        kinds: Row kinds to draw from, adds at least.
        associative: Only tables and sequence numbers (ascending) with which folding in parts must
            give what folding at once gives.
    """
    columns: dict[str, pa.DataType] = {}
    spec = draw(specs(columns, associative=associative))
    rows = draw(st.integers(1, 40))
    # A seed keeps drawing cheap; what shrinks is the table and the number of rows.
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    null_share = draw(st.sampled_from([0.0, 0.3, 0.8]))
    key_share = draw(st.sampled_from([1, 2, 5]))
    retract_share = draw(st.sampled_from([0.0, 0.1, 0.5])) if len(kinds) > len(ADDS) else 0.0

    def column(name: str, kind: pa.DataType) -> pa.Array:
        is_key = name in spec.key_columns
        domain = VALUES[kind][:key_share] if is_key else VALUES[kind]
        share = 0.0 if is_key else null_share / 20 if name in spec.not_null_columns else null_share
        values = [
            None if random.random() < share else domain[int(random.integers(len(domain)))]
            for _ in range(rows)
        ]
        return pa.array(values, kind)

    arrays = {name: column(name, kind) for name, kind in columns.items()}
    retracts = [kind for kind in kinds if kind.is_retract]
    drawn_kinds = [
        random.choice(retracts if random.random() < retract_share else ADDS) for _ in range(rows)
    ]
    numbers = np.arange(rows, dtype=np.int64) * 3
    if not associative and draw(st.booleans()):
        numbers = random.permutation(numbers)
    return History(
        spec=spec,
        records=pa.table(
            {
                SEQUENCE_NUMBER: pa.array(numbers),
                VALUE_KIND: pa.array(drawn_kinds, pa.int8()),
                **arrays,
            }
        ),
    )


@st.composite
def cuts(draw: st.DrawFn, length: int) -> list[int]:
    """Draw the bounds of consecutive pieces, some empty: 0, ..., length."""
    inner = draw(st.lists(st.integers(0, length), max_size=6))
    return [0, *sorted(inner), length]


def plain(table: pa.Table) -> list[str]:
    """Return the rows as text that tells -0.0 from 0.0 and has one NaN."""
    columns = [
        column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column
        for column in table.columns
    ]
    return [repr(row) for row in zip(*(column.to_pylist() for column in columns), strict=True)]
