"""The reduction of a function gives the result of its definition, or leaves it undecided."""

import random
from collections.abc import Callable
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from braid.lake.merge.plain_values import plain_array, plain_values
from braid.lake.merge.steps import Step
from tests.unit.lake.merge.functions.given_steps import (
    REFUSED,
    UNDECIDED,
    History,
    definition,
    folded,
    handled,
    is_same,
    reduced,
)

Draw = Callable[[random.Random], object]


def integers(bits: int) -> Draw:
    half = 1 << (bits - 1)
    edges = [0, 1, -1, 2, 3, -3, half - 1, -half, half // 2, -half // 2 - 1]
    return lambda r: r.choice([r.choice(edges), r.randrange(-9, 10), r.randrange(-half, half)])


def floats(r: random.Random) -> float:
    edges = [0.0, -0.0, float("nan"), float("inf"), float("-inf"), 1.5, 1e38, 5e-324, 1e-45, 0.1]
    return r.choice([r.choice(edges), r.uniform(-9, 9), r.uniform(-1e30, 1e30), r.uniform(0, 1)])


def decimals(precision: int, scale: int) -> Draw:
    top = 10**precision - 1

    def draw(r: random.Random) -> Decimal:
        near = [0, 1, -1, 10**scale, 5 * 10**scale, top, -top, top // 2, top // 3]
        wide = r.choice([r.randrange(-top, top + 1), r.randrange(-99, 100)])
        if precision <= 18 and r.random() < 0.1:
            # A stored sum may have more digits than its type.
            wide = r.randrange(-(2**63), 2**63)
        return Decimal(f"{r.choice([r.choice(near), wide])}E-{scale}")

    return draw


def texts(r: random.Random) -> str:
    alphabet = r.choice(["ab", "a\0é", "xyz€😀"])
    prefix = r.choice(["", "", "a common prefix of twenty "])
    return prefix + "".join(r.choices(alphabet, k=r.choice([0, 1, 2, 9, 30])))


NUMBERS: dict[str, tuple[pa.DataType, Draw]] = {
    "TINYINT": (pa.int8(), integers(8)),
    "SMALLINT": (pa.int16(), integers(16)),
    "INT": (pa.int32(), integers(32)),
    "BIGINT": (pa.int64(), integers(64)),
    "FLOAT": (pa.float32(), floats),
    "DOUBLE": (pa.float64(), floats),
    "DECIMAL(3,0)": (pa.decimal128(3, 0), decimals(3, 0)),
    "DECIMAL(10,2)": (pa.decimal128(10, 2), decimals(10, 2)),
    "DECIMAL(18,0)": (pa.decimal128(18, 0), decimals(18, 0)),
    "DECIMAL(18,18)": (pa.decimal128(18, 18), decimals(18, 18)),
    "DECIMAL(19,3)": (pa.decimal128(19, 3), decimals(19, 3)),
    "DECIMAL(38,0)": (pa.decimal128(38, 0), decimals(38, 0)),
    "DECIMAL(38,20)": (pa.decimal128(38, 20), decimals(38, 20)),
}
BOOLEAN: dict[str, tuple[pa.DataType, Draw]] = {"BOOLEAN": (pa.bool_(), lambda r: r.random() < 0.5)}
COMPARABLE = {
    **NUMBERS,
    **BOOLEAN,
    "STRING": (pa.string(), texts),
    "BYTES": (pa.binary(), lambda r: bytes(r.choices([0, 1, 127, 128, 255], k=r.randrange(12)))),
    "DATE": (pa.date32(), integers(32)),
    "TIME": (pa.time32("ms"), lambda r: r.randrange(86_400_000)),
    "TIMESTAMP(3)": (pa.timestamp("ms"), integers(60)),
    "TIMESTAMP(9)": (pa.timestamp("ns"), integers(64)),
    "TIMESTAMP_LTZ(6)": (pa.timestamp("us", tz="UTC"), integers(60)),
}
ALL = {
    **COMPARABLE,
    "ARRAY": (pa.list_(pa.int32()), lambda r: [None, 1, 2][: r.randrange(4)]),
}
OVERFLOWING = {name: case for name, case in NUMBERS.items() if not pa.types.is_floating(case[0])}
TYPES = {
    "sum": NUMBERS,
    "sum wrap": OVERFLOWING,
    "sum fail": OVERFLOWING,
    "product": NUMBERS,
    "product wrap": OVERFLOWING,
    "product fail": {name: OVERFLOWING[name] for name in ("INT", "DECIMAL(10,2)")},
    "max": COMPARABLE,
    "min": COMPARABLE,
    "bool_and": BOOLEAN,
    "bool_or": BOOLEAN,
    "last_value": ALL,
    "last_non_null_value": ALL,
    "first_value": ALL,
    "first_non_null_value": ALL,
}
CASES = [(name, kind) for name, types in TYPES.items() for kind in types]

each_case = pytest.mark.parametrize(("name", "kind"), CASES, ids=[f"{n}-{k}" for n, k in CASES])


def random_column(r: random.Random, kind: pa.DataType, draw: Draw, rows: int) -> pa.Array:
    nulls = r.choice([0.0, 0.3, 0.9])
    small = r.random() < 0.5
    pool = [draw(r) for _ in range(r.choice([1, 3, rows]))]
    if small and pa.types.is_decimal(kind):
        pool = [Decimal(f"{r.randrange(-9, 10)}E-{kind.scale}") for _ in pool]
    elif small and pa.types.is_integer(kind):
        pool = [r.randrange(-2, 3) for _ in pool]
    values = [None if r.random() < nulls else r.choice(pool) for _ in range(rows + 2)]
    column: pa.Array = plain_array(values, pa.float64() if kind == pa.float32() else kind)
    # A slice, whose buffers begin before it.
    return (column.cast(kind, safe=False) if kind == pa.float32() else column).slice(1, rows)


def random_histories(r: random.Random, rows: int, steps: list[Step], longest: int) -> list[History]:
    chosen = r.choice([[Step.ADD], steps])
    histories: list[History] = []
    for _ in range(r.randrange(1, 40)):
        length = r.choice([1, 2, 3, r.randrange(1, longest + 1)])
        history: list[tuple[Step, int]] = []
        for position in range(length):
            step = r.choice(chosen)
            row = r.randrange(rows)
            if step is Step.SEED and position:
                step = Step.ADD
            history.append((step, row))
            if step is Step.SEED and Step.RETRACT in steps and r.random() < 0.5:
                history.append((Step.RETRACT, row))
        histories.append(history)
    return histories


def small_values(kind: pa.DataType) -> list[object]:
    if pa.types.is_decimal(kind):
        return [Decimal(f"{value}E-{kind.scale}") for value in (1, 2, 3)]
    if pa.types.is_list(kind):
        return [[1], [2], [3]]
    if pa.types.is_string(kind):
        return ["a", "b", "c"]
    if pa.types.is_binary(kind):
        return [b"a", b"b", b"c"]
    return [True, False, True] if pa.types.is_boolean(kind) else [1, 2, 3]


def check(name: str, kind: pa.DataType, draw: Draw, seed: int, longest: int) -> None:
    r = random.Random(seed)
    rows = r.choice([1, 5, 60])
    column = random_column(r, kind, draw, rows)
    values = plain_values(column)
    histories = random_histories(r, rows, handled(name, kind), longest)
    function = definition(name, kind)

    answers = reduced(name, column, histories)
    for history, answer in zip(histories, answers, strict=True):
        expected = folded(function, values, history)
        if expected is REFUSED:
            assert answer is UNDECIDED, (history, answer)
        elif answer is not UNDECIDED:
            assert is_same(answer, expected), ([(s, values[i]) for s, i in history], answer)


@each_case
@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_any_history_gives_the_same_value(name: str, kind: str, seed: int) -> None:
    check(name, *TYPES[name][kind], seed, longest=6)


@each_case
@pytest.mark.parametrize("seed", range(2))
def test_long_histories_give_the_same_value(name: str, kind: str, seed: int) -> None:
    check(name, *TYPES[name][kind], seed, longest=150)


@pytest.mark.parametrize(
    # Products with more than 18 digits after the point do not fit 64 bits.
    ("name", "kind"),
    [case for case in CASES if case[0][:7] != "product" or case[1] != "DECIMAL(38,20)"],
)
def test_histories_of_small_values_are_decided(name: str, kind: str) -> None:
    data_type, _ = TYPES[name][kind]
    column = plain_array([*small_values(data_type), None], data_type)
    history = [(Step.ADD, 0), (Step.ADD, 3), (Step.ADD, 2)]

    assert reduced(name, column, [history] * 3).count(UNDECIDED) == 0
