"""Every type survives JSON and Arrow: a row, a lookup and a page have the values that a scan has, and a key of each type
finds its row and the pages after it."""

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from braid.formats.key_values import parse_value
from braid.lake import Catalog, DataField, DataType, ManualClock, MemoryFileIO, TypeRoot
from braid.service.app import create_app
from braid.service.settings import ServiceSettings
from tests.conformance.column_types import TypeJson, arrow_type
from tests.conformance.values import to_arrow
from tests.property.domains import ATOMIC, NESTED
from tests.unit.service.http_client import HttpClient

ARROW = {"accept": "application/vnd.apache.arrow.stream"}
PATH = "/v1/tables/db/t/rows"
KEYS = [domain for domain in ATOMIC if isinstance(domain[0], str)]


def given_table(columns: list[tuple[str, str]], key: list[str]) -> tuple[HttpClient, Any]:
    file_io, clock = MemoryFileIO(), ManualClock()
    catalog = Catalog("/w", file_io=file_io, clock=clock)
    table = catalog.create_table("db.t", columns=columns, primary_key=key, options={"bucket": "2"})
    settings_ = ServiceSettings(warehouse="/w")
    app = create_app(settings_, catalog=catalog, file_io=file_io, clock=clock)
    return HttpClient(app), table


def from_json(value: Any, field: DataField) -> Any:
    """Return the value of JSON as a client reads it by the column's type."""
    kind: DataType = field.type

    def inner(item: Any, of: DataType | None) -> Any:
        assert of is not None
        return from_json(item, DataField(id=0, name="e", type=of))

    if value is None:
        return None
    if kind.root is TypeRoot.ARRAY:
        return [inner(item, kind.element) for item in value]
    if kind.root is TypeRoot.MAP:
        return [(inner(one["key"], kind.key), inner(one["value"], kind.value)) for one in value]
    if kind.root is TypeRoot.MULTISET:
        return [(inner(one["key"], kind.element), one["value"]) for one in value]
    if kind.root is TypeRoot.ROW:
        return {part.name: from_json(value[part.name], part) for part in kind.fields}
    return parse_value(value if isinstance(value, str) else json.dumps(value), field)


def sql_type(kind: TypeJson) -> str:
    """Return a type as declarations write it."""
    if isinstance(kind, str):
        return kind
    match kind["type"]:
        case "MAP":
            return f"MAP<{sql_type(kind['key'])}, {sql_type(kind['value'])}>"
        case "ROW":
            parts = (f"{one['name']} {sql_type(one['type'])}" for one in kind["fields"])
            return f"ROW<{', '.join(parts)}>"
        case collection:
            return f"{collection}<{sql_type(kind['element'])}>"


def table_of(rows: list[dict[str, Any]], schema: Any) -> pa.Table:
    columns = [
        pa.array([from_json(row[field.name], field) for row in rows], arrow_field.type)
        for field, arrow_field in zip(schema.fields, schema.arrow_schema, strict=True)
    ]
    return pa.table(columns, schema=schema.arrow_schema)


@settings(deadline=None, max_examples=15)
@given(data=st.data())
def test_values_of_every_type_survive_json_and_arrow(data: st.DataObject) -> None:
    kinds = [str(kind) for kind, _ in KEYS]
    columns = [("k", "INT"), *((f"v{n}", kind) for n, kind in enumerate(kinds))]
    columns += [(f"a{n}", f"ARRAY<{kind}>") for n, kind in enumerate(kinds)]
    columns += [(f"n{n}", sql_type(kind)) for n, (kind, _) in enumerate(NESTED)]
    client, table = given_table(columns, ["k"])
    count = data.draw(st.integers(1, 3), label="rows")
    types = {field.name: field.type for field in table.schema.arrow_schema}
    written: dict[str, pa.Array] = {"k": pa.array(range(count), pa.int32())}
    for number, (kind, values) in enumerate(KEYS):
        domain = to_arrow(values, arrow_type(kind))
        picks = st.none() | st.integers(0, len(values) - 1)
        chosen = data.draw(st.lists(picks, min_size=count, max_size=count), label=f"v{number}")
        written[f"v{number}"] = domain.take(pa.array(chosen, pa.int32()))
        inner = domain.take(pa.array([*chosen, None], pa.int32()))
        offsets = pa.array([*range(count), len(inner)], pa.int32())
        written[f"a{number}"] = pa.ListArray.from_arrays(offsets, inner).cast(types[f"a{number}"])
    for number, (_, values) in enumerate(NESTED):
        picks = st.none() | st.integers(0, len(values) - 1)
        chosen = data.draw(st.lists(picks, min_size=count, max_size=count), label=f"n{number}")
        domain = to_arrow(values, types[f"n{number}"])
        written[f"n{number}"] = domain.take(pa.array(chosen, pa.int32()))
    table.write_and_commit(pa.table(written))
    expected = table.scan().to_arrow().sort_by("k")
    integers = data.draw(st.sampled_from(["number", "text"]), label="integers")

    one = client.get(f"{PATH}?k=0&integers={integers}").json()["row"]
    body = {"keys": [{"k": k} for k in range(count)], "integers": integers}
    many = client.post(f"{PATH}/lookup", json=body).json()["rows"]
    page = client.post(f"{PATH}/scan", json={"integers": integers}).json()["rows"]
    streams = [
        client.get(f"{PATH}?k=0", headers=ARROW),
        client.post(f"{PATH}/lookup", json={"keys": body["keys"]}, headers=ARROW),
        client.post(f"{PATH}/scan", json={}, headers=ARROW),
    ]

    assert many == page
    assert many[0] == one
    assert repr(table_of(many, table.schema).to_pylist()) == repr(expected.to_pylist())
    for answer, rows in zip(streams, (expected.slice(0, 1), expected, expected), strict=True):
        with pa.ipc.open_stream(answer.content) as stream:
            found = stream.read_all()
        assert found.schema.types == expected.schema.types
        assert repr(found.to_pylist()) == repr(rows.to_pylist())


@pytest.mark.parametrize("domain", KEYS, ids=lambda domain: str(domain[0]))
def test_a_key_of_every_type_finds_its_row_and_the_pages_after_it(domain: Any) -> None:
    kind, values = domain
    client, table = given_table([("k", str(kind)), ("v", "INT")], ["k"])
    keys = to_arrow(values, arrow_type(kind))
    table.write_and_commit(pa.table({"k": keys, "v": pa.array(range(len(keys)), pa.int32())}))
    found: list[dict[str, Any]] = []
    body: dict[str, Any] = {"limit": 1}
    while body.get("page_token", "") is not None:
        page = client.post(f"{PATH}/scan", json=body).json()
        found += page["rows"]
        body = {"limit": 1, "page_token": page["next_page_token"]}

    assert sorted(row["v"] for row in found) == list(range(len(keys)))
    for number, row in enumerate(found):
        key = {"k": row["k"]}
        assert client.post(f"{PATH}/lookup", json={"keys": [key]}).json()["rows"] == [row]
        after = client.post(f"{PATH}/scan", json={"from_key": key}).json()["rows"]
        assert after == found[number:]
