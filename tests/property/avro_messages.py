"""Random Avro schemas with columns for them, and random messages: encoded by fastavro, in random blocks, damaged."""

import io
import itertools
import random
from collections.abc import Callable
from typing import Any

import fastavro

LOGICAL = {
    "date": "int",
    "time-millis": "int",
    "time-micros": "long",
    "timestamp-millis": "long",
    "timestamp-micros": "long",
    "timestamp-nanos": "long",
    "local-timestamp-millis": "long",
    "local-timestamp-micros": "long",
}
# Names of methods, of types, and in other scripts are names as well.
NAMES = ["a", "__class__", "keys", "int", "größe", "_", "items", "F0", "x" * 70]
COLUMNS_OF = {
    "null": ["INT", "STRING"],
    "boolean": ["BOOLEAN", "STRING"],
    "int": ["INT", "TINYINT", "BIGINT", "DOUBLE", "DECIMAL(6, 2)", "STRING"],
    "long": ["BIGINT", "INT", "FLOAT", "DECIMAL(20, 0)", "VARCHAR(3)"],
    "float": ["FLOAT", "DOUBLE", "DECIMAL(6, 2)", "STRING"],
    "double": ["DOUBLE", "FLOAT", "DECIMAL(30, 10)", "STRING", "INT"],
    "bytes": ["BYTES", "VARBINARY(2)", "STRING"],
    "string": ["STRING", "VARCHAR(2)", "DECIMAL(6, 2)", "DATE", "BYTES", "TIMESTAMP(3)"],
    "date": ["DATE", "STRING", "TIMESTAMP(3)"],
    "time-millis": ["TIME(3)", "STRING"],
    "time-micros": ["TIME(3)", "STRING"],
    **{
        name: ["TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP(9)", "STRING"]
        for name in LOGICAL
        if "timestamp" in name
    },
    "decimal": ["DECIMAL(20, 3)", "DECIMAL(4, 1)", "DECIMAL(38, 38)", "DOUBLE", "STRING"],
    "enum": ["STRING", "VARCHAR(1)"],
    "fixed": ["BYTES", "BINARY(1)"],
}


class RandomSchema:
    """A schema of a record, and types of columns that are read from its fields."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._names = 0
        self.schema, fields = self._record(0)
        self.columns = dict(fields)

    def _record(self, depth: int) -> tuple[dict[str, Any], list[tuple[str, str]]]:
        fields, columns = [], []
        for name in self._chance.sample(NAMES, self._chance.randint(1, 5)):
            schema, sql = self._type(depth + 1)
            fields.append({"name": name, "type": schema})
            if self._chance.random() < 0.8:
                columns.append((name, sql))
        if self._chance.random() < 0.2:
            columns.append(("absent", "INT"))
        return self._named({"type": "record", "fields": fields}), columns or [("absent", "INT")]

    def _named(self, schema: dict[str, Any]) -> dict[str, Any]:
        self._names += 1
        return {**schema, "name": f"n{self._names}"}

    def _type(self, depth: int) -> tuple[Any, str]:
        chance = self._chance
        kind = chance.random()
        if kind < 0.3:
            schema, sql = self._type_in_union(depth)
            if isinstance(schema, list) or schema == "null":
                return schema, sql
            return (["null", schema] if chance.random() < 0.7 else [schema, "null"]), sql
        return self._type_in_union(depth)

    def _type_in_union(self, depth: int) -> tuple[Any, str]:
        chance = self._chance
        kind = chance.choice(["leaf"] * 6 + (["array", "map", "record", "union"] * (depth < 4)))
        if kind == "leaf":
            return self._leaf()
        if kind == "union":
            return ["null", chance.choice(["int", "long", "double"]), "string"], chance.choice(
                ["STRING", "BIGINT", "DOUBLE"]
            )
        if kind == "record":
            schema, columns = self._record(depth)
            inner = ", ".join(f"`{name}` {sql}" for name, sql in columns)
            return schema, chance.choice([f"ROW<{inner}>"] * 5 + ["STRING"])
        inner_schema, sql = self._type(depth + 1)
        not_null = chance.choice(["", "", " NOT NULL"])
        if kind == "array":
            return {"type": "array", "items": inner_schema}, f"ARRAY<{sql}{not_null}>"
        return {"type": "map", "values": inner_schema}, f"MAP<STRING, {sql}{not_null}>"

    def _leaf(self) -> tuple[Any, str]:
        chance = self._chance
        name = chance.choice([*COLUMNS_OF])
        sql = chance.choice(COLUMNS_OF[name])
        if name in LOGICAL:
            return {"type": LOGICAL[name], "logicalType": name}, sql
        match name:
            case "decimal":
                precision = chance.choice([5, 40, 300])
                scale = chance.choice([0, chance.randint(1, 5), precision])
                decimal = {"logicalType": "decimal", "precision": precision, "scale": scale}
                if chance.random() < 0.5:
                    return {"type": "bytes", **decimal}, sql
                # Of fewer bytes the digits would not fit, and the value would be the bytes (fastavro disagrees).
                fitting = [n for n in (8, 15, 16, 17, 130) if 10**precision <= 1 << (8 * n - 1)]
                size = chance.choice(fitting)
                return self._named({"type": "fixed", "size": size, **decimal}), sql
            case "enum":
                symbols = [["a"], ["a", "bc", "d"], ["Z", "_", "null", "__class__", "x" * 70]]
                return self._named({"type": "enum", "symbols": chance.choice(symbols)}), sql
            case "fixed":
                return self._named({"type": "fixed", "size": chance.randint(0, 3)}), sql
            case _:
                return name, sql


def random_value(schema: Any, chance: random.Random) -> Any:
    """Return a value for fastavro, logical types as the numbers and bytes that they are stored as."""
    if isinstance(schema, list):
        return random_value(chance.choice(schema), chance)
    kind = schema if isinstance(schema, str) else schema["type"]
    match kind:
        case "null":
            return None
        case "boolean":
            return chance.random() < 0.5
        case "int":
            return chance.choice(
                [0, -1, 5, 86_399_999, -(2**31), 2**31 - 1, chance.randint(-200, 200)]
            )
        case "long":
            numbers = [0, -1, 1_700_000_000_123, -62_135_596_800_001, -(2**63), 2**63 - 1]
            return chance.choice([*numbers, *(chance.randint(-(10**n), 10**n) for n in (6, 18))])
        case "float":
            return chance.choice([0.0, -1.5, 0.10000000149011612, float("inf"), 3.0e38])
        case "double":
            return chance.choice([0.0, -1.25, 0.1, float("nan"), float("-inf"), 1e300, 12345.675])
        case "bytes":
            size = chance.choice([0, 1, 2, 8, 15, 16, 17])
            return bytes(chance.choice([0, 1, 0x7F, 0x80, 0xFF]) for _ in range(size))
        case "string":
            return chance.choice(
                [
                    "",
                    "ä",
                    "abc",
                    "1.005",
                    "2026-01-02",
                    "2026-01-02T03:04:05.678Z",
                    "x" * 70,
                    "aGk=",
                ]
            )
        case "enum":
            return chance.choice(schema["symbols"])
        case "fixed":
            return bytes(chance.randrange(256) for _ in range(schema["size"]))
        case "array":
            return [
                random_value(schema["items"], chance) for _ in range(chance.choice([0, 1, 2, 5]))
            ]
        case "map":
            return {
                f"k{index}": random_value(schema["values"], chance)
                for index in range(chance.choice([0, 1, 3]))
            }
        case _:
            return {
                field["name"]: random_value(field["type"], chance) for field in schema["fields"]
            }


def stored(schema: Any) -> Any:
    """Return a schema without logical types: fastavro then writes and reads what is stored."""
    if isinstance(schema, list):
        return [stored(branch) for branch in schema]
    if isinstance(schema, dict):
        return {key: stored(part) for key, part in schema.items() if key != "logicalType"}
    return schema


def encoded(schema: Any, value: Any) -> bytes:
    """Return a message that fastavro writes."""
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(stored(schema)), value)
    return out.getvalue()


def random_message(schema: Any, chance: random.Random, *, has_faults: bool = False) -> bytes:
    """Return a message whose lists and maps are in blocks of any number, with and without their sizes.

    Args:
        schema: The schema.
        chance: Decides.
        has_faults: Whether some blocks have negative sizes, or more items without a byte than are read.
    """

    def part(inner: Any) -> bytes:
        return random_message(inner, chance, has_faults=has_faults)

    if isinstance(schema, list):
        index = chance.randrange(len(schema))
        return encoded("long", index) + part(schema[index])
    match schema if isinstance(schema, str) else schema["type"]:
        case "record":
            return b"".join(part(field["type"]) for field in schema["fields"])
        case "array":
            return _blocks(lambda: part(schema["items"]), chance, has_faults)
        case "map":
            keys = (encoded("string", f"k{number}") for number in itertools.count())
            return _blocks(lambda: next(keys) + part(schema["values"]), chance, has_faults)
        case _:
            return encoded(schema, random_value(schema, chance))


def _blocks(item: Callable[[], bytes], chance: random.Random, has_faults: bool) -> bytes:
    found = b""
    for _ in range(chance.choice([0, 1, 1, 2])):
        items = [item() for _ in range(chance.choice([1, 2, 5]))]
        count, data = len(items), b"".join(items)
        if has_faults and not data and chance.random() < 0.2:
            count = chance.choice([3_000, 10_001, 2**62])
        if chance.random() < 0.5:
            found += encoded("long", count) + data
            continue
        size = -1 if has_faults and chance.random() < 0.1 else len(data)
        found += encoded("long", -count) + encoded("long", size) + data
    return found + encoded("long", 0)


def damaged(message: bytes, chance: random.Random) -> bytes:
    """Return a message with some of its bytes changed, removed or added."""
    at = chance.randrange(len(message) + 1)
    noise = bytes(
        chance.choice([0, 1, 2, 3, 0x7F, 0x80, 0xFF]) for _ in range(chance.randint(0, 11))
    )
    return message[:at] + noise + message[at + chance.choice([0, 0, 1, 2, 5]) :]
