"""Fields of a message that its stream does not declare, or cannot hold."""

import json
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import pytest

from braid.formats.json.message import read_message
from braid.lake import DataType, parse_type
from braid.records.new_fields.undeclared_field_reader import (
    UndeclaredFieldReader,
    UnrepresentableFieldError,
)
from braid.records.new_fields.value_shape import type_of
from braid.records.new_fields.wider_type import widened
from braid.schemas import TableSpec
from tests.unit.records.given_streams import given_plan, given_spec

COLUMNS = {
    "id": "BIGINT",
    "small": "SMALLINT",
    "whole": "INT",
    "long": "BIGINT",
    "real": "FLOAT",
    "price": "DECIMAL(5, 2)",
    "code": "VARCHAR(3)",
    "bytes": "VARBINARY(2)",
    "flag": "BOOLEAN",
    "day": "DATE",
    "row": "ROW<n INT, deep ROW<x INT>>",
    "list": "ARRAY<ROW<n INT>>",
    "numbers": "ARRAY<INT>",
    "map": "MAP<STRING, ROW<n INT>>",
    "version": "INT",
}
SPEC = given_spec(COLUMNS)
PLAN = given_plan(SPEC)


def reader(
    *, taken: Collection[str] = (), refused: Mapping[str, str] | None = None, is_last: bool = False
) -> UndeclaredFieldReader:
    return UndeclaredFieldReader(plan=PLAN, taken=taken, refused=refused or {}, is_last=is_last)


def parsed(**message: Any) -> Any:
    return read_message(json.dumps(message).encode())


def new_types(found: UndeclaredFieldReader, **message: Any) -> dict[str, str]:
    delta = found.read(parsed(**message))
    assert not delta.wider
    return {".".join(path): str(type_of(shape)) for path, shape in delta.new.items()}


def wider_types(**message: Any) -> dict[str, str]:
    delta = reader().read(parsed(**message))
    assert not delta.new
    types = {column.name: column.type for column in PLAN.columns}
    return {name: str(widened(types[name], shape)) for name, shape in delta.wider.items()}


def test_declared_fields_are_no_delta() -> None:
    message = parsed(
        id=1,
        small=-5,
        whole=2**31 - 1,
        price="1.005",
        code="äöü",
        bytes="aGk=",
        day="2026-01-02",
        row={"n": 1, "deep": {"x": None}},
        list=[{"n": 1}, None],
        map={"any": {"n": 1}},
    )

    assert not reader().read(message)
    assert reader().undeclared(message) == []


def test_new_fields_stand_beside_declared_ones() -> None:
    assert new_types(reader(), id=1, tip=1, note="x", none=None) == {
        "tip": "BIGINT",
        "note": "STRING",
    }
    assert reader().undeclared(parsed(id=1, tip=1, none=None)) == ["tip", "none"]


def test_fields_of_objects_that_no_column_is_read_from_are_no_delta() -> None:
    spec = given_spec({"id": "BIGINT", "a": "INT", "version": "INT"})
    columns = [
        {"column": "id", "path": "payload.key"},
        {"column": "a", "path": "payload.after.a"},
        {"column": "version", "path": "payload.after.version"},
    ]
    found = UndeclaredFieldReader(plan=given_plan(spec, columns=columns))
    message = parsed(
        schema={}, payload={"key": 1, "after": {"a": 1, "tip": 5}, "source": {"db": "x"}}
    )

    assert [".".join(path) for path in found.read(message).new] == [
        "payload.source",
        "payload.after.tip",
    ]
    assert found.undeclared(message) == ["payload.source", "payload.after.tip"]


def test_fields_that_other_streams_read_from_the_topic_are_declared() -> None:
    found = UndeclaredFieldReader(
        plan=replace(PLAN, paths_of_other_streams=(("other",), ("deep", "er")))
    )

    assert found.undeclared(parsed(other=1, deep={"er": 1, "x": 2}, mine=1)) == ["mine"]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ({"small": 40_000}, {"small": "BIGINT"}),
        ({"whole": 2**31}, {"whole": "BIGINT"}),
        ({"whole": 2**63}, {"whole": "DECIMAL(38, 0)"}),
        ({"whole": 1.5}, {"whole": "DOUBLE"}),
        ({"long": 2**63}, {"long": "DECIMAL(38, 0)"}),
        ({"price": 123456.5}, {"price": "DECIMAL(38, 2)"}),
        ({"code": "long text"}, {"code": "STRING"}),
        ({"bytes": "aGVsbG8="}, {"bytes": "BYTES"}),
        ({"row": {"m": True}}, {"row": "ROW<`m` BOOLEAN>"}),
        (
            {"row": {"n": 2**40, "deep": {"y": "a"}}},
            {"row": "ROW<`n` BIGINT, `deep` ROW<`y` STRING>>"},
        ),
        ({"list": [{"n": 1}, {"m": 1}]}, {"list": "ARRAY<ROW<`m` BIGINT>>"}),
        ({"numbers": [1, 2**40, None]}, {"numbers": "ARRAY<BIGINT>"}),
        ({"map": {"a": {"n": 1}, "b": {"m": "x"}}}, {"map": "MAP<STRING, ROW<`m` STRING>>"}),
    ],
)
def test_values_beyond_a_type_widen_it(message: Any, expected: Any) -> None:
    assert wider_types(**message) == expected


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (
            {"whole": "x"},
            "column whole stays as it is: its value fits no type that INT can be widened to",
        ),
        ({"long": 1.5}, "no type that BIGINT can be widened to"),
        ({"flag": 1}, "no type that BOOLEAN can be widened to"),
        ({"day": "soon"}, "no type that DATE can be widened to"),
        ({"price": "x"}, r"no type that DECIMAL\(5, 2\) can be widened to"),
        ({"bytes": "?"}, r"no type that VARBINARY\(2\) can be widened to"),
        ({"row": 1}, "column row stays as it is: its value is not of type ROW"),
        ({"row": {"n": "x"}}, r"column row\.n stays as it is: "),
        ({"row": {"N": 1}}, "differs from the field n in case only"),
        (
            {"row": {"a b": 1}},
            r"field row\.a b is not declared and stays out: it cannot be a field of a column",
        ),
        ({"list": 1}, "column list .* not of type ARRAY"),
        ({"numbers": ["x"]}, "column numbers "),
        ({"id": 2**63}, "the type of a key column cannot change"),
        ({"a b": 1}, "field a b .* cannot be a column: the name of a column is a letter"),
        ({"rowkind": 1}, "the name of a system column"),
        ({"x" * 500: 1}, "cannot be a column"),
    ],
)
def test_fields_that_no_column_can_hold(message: Any, why: str) -> None:
    with pytest.raises(UnrepresentableFieldError, match=why):
        reader().read(parsed(**message))


def test_names_that_the_table_has_are_taken() -> None:
    with pytest.raises(UnrepresentableFieldError, match="the table already has a column Tip"):
        reader(taken=["Tip"]).read(parsed(tip=1))


def test_refused_fields_stay_out() -> None:
    with pytest.raises(UnrepresentableFieldError, match=r"field tip .*: not allowed"):
        reader(refused={"tip": "not allowed"}).read(parsed(tip=1))
    with pytest.raises(
        UnrepresentableFieldError, match=r"column whole stays as it is: not allowed"
    ):
        reader(refused={"whole": "not allowed"}).read(parsed(whole=2**40))


def test_in_the_last_round_everything_new_stays_out() -> None:
    with pytest.raises(UnrepresentableFieldError, match="too many new fields came at once"):
        reader(is_last=True).read(parsed(tip=1))

    assert not reader(is_last=True).read(parsed(tip=None, whole=1))


def test_a_value_of_another_time_format_refuses_the_new_fields_beside_it() -> None:
    columns = [*({"column": name} for name in COLUMNS if name != "day")]
    columns.append({"column": "day", "time_format": "epoch_ms"})
    found = UndeclaredFieldReader(plan=given_plan(SPEC, columns=columns))

    assert new_types(found, day=1767323045678, new=1) == {"new": "BIGINT"}
    assert new_types(found, day=None, new=1) == {"new": "BIGINT"}
    with pytest.raises(
        UnrepresentableFieldError, match="its value is not of the column's time format"
    ):
        found.read(parsed(day="2026-01-02", new=1))


def test_a_row_whose_times_have_a_format_gets_new_fields() -> None:
    spec = given_spec({"id": "BIGINT", "row": "ROW<at TIMESTAMP(3), n INT>"}, ordering=None)
    columns = [{"column": "id"}, {"column": "row", "time_format": "epoch_ms"}]
    found = UndeclaredFieldReader(plan=given_plan(spec, columns=columns))

    assert not found.read(parsed(id=1, row={"at": 0, "n": 1}))
    shape = found.read(parsed(id=1, row={"at": 0, "n": 2**40, "m": "x"})).wider["row"]
    assert str(widened(spec_type(spec, "row"), shape)) == "ROW<`n` BIGINT, `m` STRING>"
    with pytest.raises(UnrepresentableFieldError, match="not of the column's time format"):
        found.read(parsed(id=1, row={"at": "noon", "m": "x"}))


def spec_type(spec: TableSpec, name: str) -> DataType:
    return parse_type(next(column.type for column in spec.columns if column.name == name))
