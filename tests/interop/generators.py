"""Random tables as conformance case objects: one description that both implementations can carry out.

Values are JSON of the conformance format, so Java gets them through its own codec and we through ours.
Everything follows from the seed.
"""

import base64
import datetime as dt
import json
import random
import string
from collections.abc import Callable, Sequence
from typing import Any

from braid.lake.format.variant.from_json import variant_of_json
from tests.conformance.values import Json

ATOMIC_TYPES = (
    "BOOLEAN",
    "TINYINT",
    "SMALLINT",
    "INT",
    "BIGINT",
    "FLOAT",
    "DOUBLE",
    "DECIMAL(9, 2)",
    "DECIMAL(18, 4)",
    "DECIMAL(38, 10)",
    "CHAR(3)",
    "VARCHAR(20)",
    "STRING",
    "BINARY(4)",
    "VARBINARY(20)",
    "BYTES",
    "DATE",
    "TIME(3)",
    "TIMESTAMP(3)",
    "TIMESTAMP(6)",
    "TIMESTAMP(9)",
    "TIMESTAMP(3) WITH LOCAL TIME ZONE",
    "TIMESTAMP(6) WITH LOCAL TIME ZONE",
)
"""Every atomic type that tables of this version can have."""

NESTED_TYPES: tuple[Any, ...] = (
    {"type": "ARRAY", "element": "INT"},
    {"type": "MAP", "key": "STRING", "value": "BIGINT"},
    {"type": "ROW", "fields": [{"name": "x", "type": "INT"}, {"name": "y", "type": "STRING"}]},
    {"type": "ARRAY", "element": {"type": "ROW", "fields": [{"name": "z", "type": "DATE"}]}},
)
"""One of each nested kind, and one nested twice."""

_TEXTS = ("", "a", "ab", "B", "é", "zz", "日本", "\U0001f600", "￿", "a b", "0")
_FLOATS = (0.0, -0.0, 1.5, -2.25, 0.1, 3.4e38, "NaN", "Infinity", "-Infinity")
_JSON_NAMES = ("a", "b", "aa", "A", "", "é", "\U0001f600", "\uffff", "z" * 70, 'q"\n')
"""Names whose order in UTF-16 is not that of their code points are among them."""
_JSON_NUMBERS = (
    "0", "-0", "127", "128", "-129", "32768", "2147483648", "9007199254740993", "9223372036854775808",
    "-9223372036854775809", "1.50", "0.000", "-0.0", "123456789.1", "1234567890123456789.5", "1e5", "1E-7",
    "0.1234567890123456789", "1e400", "4.9e-320", "99999999999999999999999999999999999999",
    "999999999999999999999999999999999999999", "0.00000000000000000000000000000000000001",
    "0.000000000000000000000000000000000000001",
)  # fmt: skip
_BITS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}


def deduplicate_case(
    case_id: str, seed: int, *, types: Sequence[Any] = (*ATOMIC_TYPES, *NESTED_TYPES)
) -> dict[str, Any]:
    """Return a table with a composite string/int key and a value of every type, nested ones too."""
    chance = random.Random(seed)
    columns = [_column("k1", "STRING NOT NULL"), _column("k2", "INT NOT NULL")]
    columns += [_column(f"v{index}", value) for index, value in enumerate(types)]
    return _case(case_id, chance, columns, ["k1", "k2"], {"bucket": "3"})


def partial_update_case(
    case_id: str, seed: int, *, types: Sequence[Any] = ATOMIC_TYPES
) -> dict[str, Any]:
    """Return a partial-update table without groups: integer key, every atomic type."""
    chance = random.Random(seed)
    columns = [_column("k", "BIGINT NOT NULL")]
    columns += [_column(f"v{index}", value) for index, value in enumerate(types)]
    options = {"bucket": "2", "merge-engine": "partial-update"}
    return _case(case_id, chance, columns, ["k"], options)


def sequence_group_case(case_id: str, seed: int) -> dict[str, Any]:
    """Return a partitioned partial-update table with two groups, one ordered by two columns.

    The types of keys, partitions, ordering and protected columns are drawn anew for every seed.
    """
    chance = random.Random(seed)
    orderable = ["INT", "BIGINT", "DATE", "TIMESTAMP(3)", "TIMESTAMP(6)", "DECIMAL(9, 2)", "STRING"]
    keys = ["STRING", "INT", "BIGINT", "DATE", "TIMESTAMP(6)", "SMALLINT", "DECIMAL(18, 4)"]
    partition = chance.choice(["STRING", "INT", "DATE", "BOOLEAN"])
    columns = [
        _column("p", f"{partition} NOT NULL"),
        _column("k1", f"{chance.choice(keys)} NOT NULL"),
        _column("g1", chance.choice(orderable)),
        _column("k2", "STRING NOT NULL"),
        _column("a1", chance.choice(ATOMIC_TYPES)),
        _column("a2", chance.choice(ATOMIC_TYPES)),
        _column("b1", chance.choice(ATOMIC_TYPES)),
        _column("g2", chance.choice(orderable)),
        _column("b2", chance.choice((*NESTED_TYPES, "VARIANT"))),
        _column("g3", chance.choice(orderable)),
        _column("free", chance.choice(ATOMIC_TYPES)),
    ]
    options = {
        "bucket": str(chance.randint(1, 3)),
        "merge-engine": "partial-update",
        "fields.g1.sequence-group": "a1,a2",
        "fields.g2,g3.sequence-group": "b1,b2",
    }
    return _case(case_id, chance, columns, ["p", "k1", "k2"], options, partition=["p"])


def with_retracts(case: dict[str, Any], seed: int) -> dict[str, Any]:
    """Return a case in which about a quarter of the rows are -U or -D, as its engine allows them.

    A partial-update table without groups gets `remove-record-on-delete`, one with groups removes
    rows by its first group under every second seed.
    """
    chance = random.Random(seed)
    options = dict(case["options"])
    if options.get("merge-engine") == "partial-update":
        if "fields.g1.sequence-group" not in options:
            options["partial-update.remove-record-on-delete"] = "true"
        elif seed % 2:
            options["partial-update.remove-record-on-sequence-group"] = "g1"
    kinds = ["+I", "+I", "+U", "-U", "-D", "+I", "+I", "+I"]
    steps = [
        {"write": [[chance.choice(kinds), *row[1:]] for row in step["write"]]}
        for step in case["steps"]
    ]
    return {**case, "options": options, "steps": steps}


def more_rows(case: dict[str, Any], *, seed: int, row_count: int) -> list[list[Json]]:
    """Return rows `[kind, values…]` for the table of a case; half of them have keys of the case."""
    schema, chance = case["schema"], random.Random(seed)
    keys = [name for name in schema["primary_key"] if name not in schema["partition"]]
    rows = _rows(schema["columns"], keys, chance, row_count, key_pool=row_count)
    written = [row for step in case["steps"] for row in step["write"]]
    for number, row in enumerate(rows):
        known = chance.choice(written)
        # New partitions would mean files of a row or two.
        copied = schema["partition"] if number % 2 else schema["primary_key"]
        for position, column in enumerate(schema["columns"], start=1):
            if column["name"] in copied:
                row[position] = known[position]
    return rows


def _case(
    case_id: str,
    chance: random.Random,
    columns: list[dict[str, Any]],
    primary_key: list[str],
    options: dict[str, str],
    *,
    partition: Sequence[str] = (),
) -> dict[str, Any]:
    commits = [
        _rows(columns, primary_key, chance, chance.randint(20, 60), partition=partition)
        for _ in range(4)
    ]
    return {
        "id": case_id,
        "schema": {"columns": columns, "primary_key": primary_key, "partition": list(partition)},
        "options": {**options, "write-only": "true"},
        "steps": [{"write": rows} for rows in commits],
        "expect": {},
    }


def _column(name: str, column_type: Any) -> dict[str, Any]:
    return {"name": name, "type": column_type}


def _rows(
    columns: Sequence[dict[str, Any]],
    primary_key: Sequence[str],
    chance: random.Random,
    row_count: int,
    *,
    key_pool: int = 20,
    partition: Sequence[str] = (),
) -> list[list[Json]]:
    makers = {column["name"]: value_maker(column["type"], chance) for column in columns}
    # Few values per key column, so that most keys are written by several commits.
    pool = key_pool // len(primary_key)
    pools = {name: [makers[name]() for _ in range(pool)] for name in primary_key}
    for name in partition:
        pools[name] = pools[name][:3]
    return [
        [
            "+I",
            *(
                chance.choice(pools[name])
                if name in pools
                else (None if chance.random() < 0.35 else make())
                for name, make in makers.items()
            ),
        ]
        for _ in range(row_count)
    ]


def value_maker(column_type: Any, chance: random.Random) -> Callable[[], Json]:
    """Return a function that draws a non-null value of a type; extremes come up often."""
    if isinstance(column_type, dict):
        return _nested_maker(column_type, chance)
    name, _, rest = column_type.removesuffix(" NOT NULL").partition("(")
    parameters = [int(part) for part in rest.partition(")")[0].split(",") if part.strip()]
    if name in _BITS:
        return lambda: _integer(_BITS[name], chance)
    if name in ("FLOAT", "DOUBLE"):
        return lambda: chance.choice([*_FLOATS, float(chance.randint(-1000, 1000)) / 8])
    if name == "DECIMAL":
        return lambda: _decimal(parameters[0], parameters[1], chance)
    if name in ("CHAR", "VARCHAR", "STRING"):
        return lambda: _text(parameters[0] if parameters else 40, chance)
    if name in ("BINARY", "VARBINARY", "BYTES"):
        return lambda: _binary(parameters[0] if parameters else 40, chance)
    if name == "TIMESTAMP":
        return lambda: _timestamp(parameters[0], "Z" if "ZONE" in rest else "", chance)
    return {
        "BOOLEAN": lambda: chance.random() < 0.5,
        "DATE": lambda: _date(chance),
        "VARIANT": lambda: _variant(chance),
        "TIME": lambda: _time(chance, 3),
    }[name]


def _nested_maker(column_type: dict[str, Any], chance: random.Random) -> Callable[[], Json]:
    def sometimes_null(make: Callable[[], Json]) -> Json:
        return None if chance.random() < 0.2 else make()

    if column_type["type"] == "ARRAY":
        element = value_maker(column_type["element"], chance)
        return lambda: [sometimes_null(element) for _ in range(chance.randint(0, 3))]
    if column_type["type"] == "ROW":
        fields = [value_maker(field["type"], chance) for field in column_type["fields"]]
        return lambda: [sometimes_null(field) for field in fields]
    key = value_maker(column_type["key"], chance)
    value = value_maker(column_type["value"], chance)
    return lambda: sorted(
        [name, sometimes_null(value)] for name in {key() for _ in range(chance.randint(0, 3))}
    )


def _variant(chance: random.Random) -> list[str]:
    return [base64.b64encode(part).decode() for part in variant_of_json(json_text(chance))]


def json_text(chance: random.Random, *, depth: int = 3) -> str:
    """Draw a JSON text; numbers of every width, names that repeat, characters that are escaped."""
    kind = chance.randrange(6 if depth else 4)
    if kind == 0:
        return (
            chance.choice(_JSON_NUMBERS)
            if chance.random() < 0.5
            else str(chance.randint(-(10**6), 10**6))
        )
    if kind == 1:
        return json.dumps(_text(100, chance), ensure_ascii=chance.random() < 0.5)
    if kind == 2:
        return chance.choice(["true", "false", "null"])
    if kind == 3:
        return f"{chance.uniform(-1e9, 1e9):.{chance.randint(0, 12)}f}"
    parts = [json_text(chance, depth=depth - 1) for _ in range(chance.randint(0, 5))]
    if kind == 4:
        return f"[{', '.join(parts)}]"
    names = chance.sample(_JSON_NAMES, len(parts))
    return f"{{{','.join(f'{json.dumps(name)}:{part}' for name, part in zip(names, parts, strict=True))}}}"


def _integer(bits: int, chance: random.Random) -> int:
    limit = 1 << (bits - 1)
    return chance.choice([-limit, limit - 1, 0, -1, 1, chance.randint(-100, 100)])


def _decimal(precision: int, scale: int, chance: random.Random) -> str:
    limit = 10**precision - 1
    unscaled = chance.choice([-limit, limit, 0, 1, -1, chance.randint(-limit, limit)])
    digits = str(abs(unscaled)).rjust(scale + 1, "0")
    point = len(digits) - scale
    fraction = f".{digits[point:]}" if scale else ""
    return ("-" if unscaled < 0 else "") + digits[:point] + fraction


def _text(length_max: int, chance: random.Random) -> str:
    free = "".join(chance.choices(string.ascii_letters, k=chance.randint(0, length_max)))
    return chance.choice([*(text for text in _TEXTS if len(text) <= length_max), free])


def _binary(length_max: int, chance: random.Random) -> str:
    data = chance.choice([b"", b"\x00", b"\xff\x00", chance.randbytes(length_max)])
    return base64.b64encode(data).decode("ascii")


def _date(chance: random.Random) -> str:
    first, last = dt.date(1900, 1, 1).toordinal(), dt.date(2100, 1, 1).toordinal()
    drawn = dt.date.fromordinal(chance.randint(first, last)).isoformat()
    return chance.choice(["1970-01-01", "1969-12-31", drawn])


def _time(chance: random.Random, digits: int) -> str:
    seconds = chance.choice([0, 86_399, chance.randrange(86_400)])
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{clock}.{chance.randrange(10**digits):0{digits}}"


def _timestamp(precision: int, zone: str, chance: random.Random) -> str:
    return f"{_date(chance)}T{_time(chance, precision)}{zone}"
