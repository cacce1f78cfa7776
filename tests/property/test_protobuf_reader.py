"""Protobuf messages are read alike column by column and one by one."""

import random
from typing import Any

import pyarrow as pa
from hypothesis import given, settings, strategies as st

from braid.formats.fault import Fault
from braid.formats.json.message_reader import MISSING
from braid.formats.native.record_values import record_values
from braid.formats.protobuf.native_messages import native_record
from braid.formats.protobuf.reader import ProtobufReader
from braid.lake import to_arrow_type
from tests.property.avro_messages import COLUMNS_OF
from tests.unit.formats.json.both_ways import fault_by_row, given_columns, plain
from tests.unit.formats.protobuf.orders import order_type

TYPE = order_type()
Order: Any = TYPE.message_class
MESSAGES = 12
ANY = sorted({sql for types in COLUMNS_OF.values() for sql in types})
NESTED = {
    "items": ["ARRAY<ROW<article INT, x INT>>", "STRING"],
    "numbers": ["ARRAY<TINYINT>", "ARRAY<STRING>"],
    "texts": ["MAP<STRING, STRING>", "MAP<STRING, DECIMAL(6, 2)>"],
    "item": ["ROW<article BIGINT, inner ROW<article INT>>", "STRING"],
}
VALUES: dict[str, list[Any]] = {
    "double": [0.0, -1.25, float("nan"), float("inf"), 1e300, 12345.675],
    "float": [0.1, -1.5],
    "string": ["", "ä", "1.005", "2026-01-02", "2026-01-02T03:04:05Z", "x" * 50],
    "bytes": [b"", b"\x00\xff\x01"],
    "bool": [True, False],
}


def random_order(chance: random.Random) -> Any:
    """Return a message with some of the fields."""
    order = Order()
    for name in TYPE.fields:
        if chance.random() < 0.5:
            continue
        kind = name.removeprefix("f_")
        if kind in VALUES:
            setattr(order, name, chance.choice(VALUES[kind]))
        elif name.startswith("f_"):
            is_wide = "64" in kind
            low, high = (-(2 ** (63 if is_wide else 31)), 2 ** (63 if is_wide else 31) - 1)
            if "u" in kind or kind.startswith("fixed"):
                low, high = 0, 2 * high + 1
            setattr(order, name, chance.choice([low, high, 0, 5]))
    if chance.random() < 0.5:
        order.items.add(article=chance.choice([1, 2**40]))
        order.item.inner.article = 3
        order.numbers.extend([1, 2, chance.choice([3, 300])])
        order.texts["a"] = chance.choice(["1.5", "b"])
        order.state = chance.choice([0, 1, 5])
        order.at.seconds, order.at.nanos = chance.choice(
            [(1, 999), (-1, 5), (2**40, 0), (2**62, 0)]
        )
    if chance.random() < 0.3:
        order.note.value = "n"
        order.maybe = 0
        order.cash = 1
        order.took.seconds = 1
    return order


@settings(max_examples=40, derandomize=True)
@given(st.integers(0, 2**32))
def test_messages_are_read_alike_by_column_and_one_by_one(seed: int) -> None:
    chance = random.Random(seed)
    names = chance.sample([*TYPE.fields], 5)
    types = {name: chance.choice(NESTED.get(name, ANY)) for name in names}
    columns = given_columns({**types, "inner": "INT"}, inner="item.inner.article")
    columns = tuple(one for one in columns if "item" not in types or one.name != "inner")
    messages = [random_order(chance) for _ in range(MESSAGES)]

    found = ProtobufReader(TYPE, columns).read(
        pa.array([message.SerializeToString() for message in messages], pa.binary())
    )

    for row, message in enumerate(messages):
        expected = record_values(native_record(message, TYPE), columns)
        fault = expected if isinstance(expected, Fault) else None
        assert fault_by_row(found).get(row) == fault
        if isinstance(expected, Fault):
            continue
        for array, value, column in zip(found.arrays, expected, columns, strict=True):
            alone = pa.array([None if value is MISSING else value], to_arrow_type(column.type))
            assert repr(plain(array.slice(row, 1))) == repr(plain(alone)), column
