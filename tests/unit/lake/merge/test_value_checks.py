"""Values that an aggregate function cannot read are refused when they are written."""

import base64
import random
from collections.abc import Callable
from typing import Any

import datasketches
import pyarrow as pa
import pytest
from pyroaring import BitMap

from braid.lake import Catalog, InvalidRequest, ManualClock, MemoryFileIO, SchemaMismatch, Table
from braid.lake.merge.functions.sets import bitmap32, bitmap64, sketches
from braid.lake.merge.value_checks import ValueChecks
from tests.given_tables import given_schema
from tests.property.function_columns import BY_NAME

HLL_TYPES = datasketches.tgt_hll_type


def hll(count: int, lg_k: int = 12, kind: Any = HLL_TYPES.HLL_4) -> bytes:
    sketch = datasketches.hll_sketch(lg_k, kind)
    for value in range(count):
        sketch.update(value)
    return bytes(sketch.serialize_compact())


def theta(count: int, lg_k: int = 12) -> bytes:
    sketch = datasketches.update_theta_sketch(lg_k)
    for value in range(count):
        sketch.update(value)
    return bytes(sketch.compact().serialize())


def table_of(function: str, sql: str = "BYTES", **options: str) -> Table:
    catalog = Catalog("/w", file_io=MemoryFileIO(), clock=ManualClock())
    options_of_field = {f"fields.v.{key}": value for key, value in options.items()}
    return catalog.create_table(
        "d.t",
        columns=[("k", "INT"), ("v", sql)],
        primary_key=["k"],
        options={
            "bucket": "1",
            "merge-engine": "aggregation",
            "fields.v.aggregate-function": function,
            **options_of_field,
        },
    )


SIZED = {"braid.lg-k": "12"}
OF_TYPE = {**SIZED, "braid.hll-type": "HLL_6"}


@pytest.mark.parametrize(
    ("function", "options", "good", "bad", "message"),
    [
        ("rbm32", {}, bytes(BitMap([1, 9]).serialize()), b"", "cannot read"),
        ("rbm32", {}, bytes(BitMap(range(9000)).serialize()), b"\x3a\x30junk", "cannot read"),
        ("rbm64", {}, b"\x00", b"\x01\x02", "cannot read"),
        ("hll_sketch", {}, hll(9, lg_k=10), b"", "cannot read"),
        ("hll_sketch", {}, hll(9000), hll(9000)[:-9], "cannot read"),
        ("hll_sketch", SIZED, hll(9), hll(9, lg_k=10), "lg_k 10, but the column declares 12"),
        ("hll_sketch", SIZED, hll(9, kind=HLL_TYPES.HLL_8), hll(20000, lg_k=14), "lg_k 14"),
        ("hll_sketch", OF_TYPE, hll(9, kind=HLL_TYPES.HLL_6), hll(9), "HLL_4, but the column"),
        ("theta_sketch", {}, theta(9), b"\x01", "cannot read"),
        ("theta_sketch", SIZED, theta(20000), theta(20000, lg_k=14), "larger than the lg_k 12"),
        ("theta_sketch", SIZED, theta(9, lg_k=10), theta(20000, lg_k=10), "smaller than"),
    ],
    ids=lambda value: f"{len(value)}-bytes" if isinstance(value, bytes) else None,
)
def test_bytes_that_are_no_set_of_the_declared_size_are_not_written(
    function: str, options: dict[str, str], good: bytes, bad: bytes, message: str
) -> None:
    table = table_of(function, **options)
    writer = table.writer()
    column = pa.array([good, None, bad, bad], pa.binary())

    with pytest.raises(SchemaMismatch, match=message) as caught:
        writer.write(pa.table({"k": [1, 2, 3, 4], "v": column}))

    (problem,) = caught.value.problems
    assert problem.field == "v"
    assert "row 2" in problem.message
    assert "2 of 4 rows" in problem.message
    for _ in range(2):
        table.write_and_commit(pa.table({"k": [1], "v": pa.array([good])}))
    assert table.get({"k": 1}) is not None


def test_a_null_in_a_nested_key_that_forbids_it_is_found() -> None:
    """Streams refuse it; the writer stores it, as the format does."""
    sql = "ARRAY<ROW<id INT, n INT>>"
    options = {"nested-key": "id", "nested-key-null-strategy": "error"}
    kind = pa.list_(pa.struct([("id", pa.int32()), ("n", pa.int32())]))
    rows = pa.array([[(1, 2)], None, [(2, 1), None], [(3, 1), (None, 1)]], kind).slice(1)
    table = table_of("nested_update", sql, **options)

    (found,) = ValueChecks.of(table.schema).unfit("v", rows)

    assert (found.row, found.hint) == (2, "send no null in id")
    is_null = pa.array([False, True, False])
    shown = pa.array([[(1, 2)], [(2, 1), None], [(3, 1), (None, 1)]], kind)
    hidden = pa.ListArray.from_arrays(shown.offsets, shown.values, mask=is_null)
    assert [one.row for one in ValueChecks.of(table.schema).unfit("v", hidden)] == [2]
    table.write_and_commit(pa.table({"k": pa.array([1, 2, 3], pa.int32()), "v": rows}))
    lenient = table_of("nested_partial_update", sql, **{"nested-key": "id"})
    assert list(ValueChecks.of(lenient.schema).unfit("v", rows)) == []


def spoilt(r: random.Random, data: bytes) -> bytes:
    """Return bytes with some of them changed, cut off or added."""
    found = bytearray(data)
    for _ in range(r.randrange(1, 4)):
        if found:
            found[r.randrange(len(found))] = r.randrange(256)
    return bytes(found[: r.randrange(len(found) + 1)]) if r.random() < 0.3 else bytes(found)


@pytest.mark.parametrize("function", ["rbm32", "rbm64", "theta_sketch", "hll_sketch"])
def test_values_that_the_check_accepts_merge_with_each_other(function: str) -> None:
    """No bytes that the check lets through make a later merge fail."""
    r = random.Random(function)
    (_, texts), *_ = BY_NAME[function].domains
    good = [base64.b64decode(str(text)) for text in texts]
    schema = given_schema(
        {"k": "INT", "v": "BYTES"},
        key=["k"],
        options={"merge-engine": "aggregation", "fields.v.aggregate-function": function},
    )
    values = good + [spoilt(r, r.choice(good)) for _ in range(300)]
    unfit = {found.row for found in ValueChecks.of(schema).unfit("v", pa.array(values))}
    fit = [value for row, value in enumerate(values) if row not in unfit]
    assert len(good) <= len(fit) < len(values)
    unite = united_by(function)

    for one in fit:
        for other in r.sample(fit, min(len(fit), 4)):
            unite(one, other)


def united_by(function: str) -> Callable[[bytes, bytes], bytes]:
    return {
        "rbm32": bitmap32.united_32,
        "rbm64": bitmap64.united_64,
        "hll_sketch": sketches.united_hll,
        "theta_sketch": sketches.united_theta,
    }[function]


@pytest.mark.parametrize(
    ("function", "options", "message"),
    [
        ("hll_sketch", {"braid.lg-k": "3"}, "from 4 to 21"),
        ("theta_sketch", {"braid.lg-k": "x"}, "from 5 to 26"),
        ("hll_sketch", {"braid.hll-type": "HLL_5"}, "one of hll_4"),
    ],
)
def test_sizes_that_cannot_be_are_refused_when_they_are_declared(
    function: str, options: dict[str, str], message: str
) -> None:
    with pytest.raises(InvalidRequest, match=message):
        table_of(function, **options)
