"""Kinds of hostile requests that are about declarations, or that any address can get."""

import gzip
import json
import random
from copy import deepcopy
from functools import lru_cache
from typing import Any, Final

from tests.support.hostile.hostile_request import (
    HostileRequest,
    RequestKind,
    drawn_table as _table,
    json_request as _json,
)

_ORDERS: Final[dict[str, Any]] = {
    "columns": [
        {"name": "id", "type": "BIGINT"},
        {"name": "total", "type": "DECIMAL(10, 2)"},
        {"name": "version", "type": "INT"},
        {"name": "carrier", "type": "STRING"},
    ],
    "primary_key": ["id"],
    "buckets": 1,
    "sequence_groups": [
        {"name": "sales", "ordering": ["version"], "columns": ["total"]},
        {"name": "shipping", "columns": ["carrier"]},
    ],
    "staleness": {"default_seconds": 60},
    "options": {"target-file-size": "64 MB"},
}
_STREAM: Final[dict[str, Any]] = {
    "topic": "orders",
    "columns": [{"column": "id"}, {"column": "total", "path": "a.b"}, {"column": "version"}],
    "kafka": {"cluster": "default", "options": {"max.poll.records": "500"}},
    "trigger_ms": 1000,
}
_CHANGES: Final[dict[str, Any]] = {
    "changes": [
        {"change": "add_column", "column": "x", "type": "INT", "sequence_group": "sales"},
        {"change": "rename_column", "column": "carrier", "to": "ship"},
        {"change": "set_option", "key": "target-file-size", "value": "1 b"},
    ]
}
_KEYS: Final[dict[str, Any]] = {"keys": [{"id": 1}, {"id": "2"}], "timestamp": 0}
_TESTS: Final[dict[str, Any]] = {
    "cases": [
        {
            "name": "one",
            "given": [{"stream": "sales", "value": '{"id": 1}'}],
            "expect": {"rows": [{"key": {"id": 1}}], "row_count": 1},
        }
    ]
}
_CONSUMER: Final[dict[str, Any]] = {"next_snapshot_id": 2}

_NAMES: Final = (
    "", " ", ".", "..", "a" * 300, "a\x00b", "\ud800", "é", "a.b", "a/b", "rowkind", "_x", "${env:HOME}",
    "${file:/etc/passwd}", "file:///etc/passwd", "java.lang.Runtime", "x.y", "' OR 1=1", "%00", "../..",
)  # fmt: skip
_ODD: Final[tuple[Any, ...]] = (
    None, True, 0, -1, 1 << 31, 1 << 70, 10**400, 1.5, -0.0, 1e308, [], {}, [[]], {"a": {}}, "9" * 5_000,
    *_NAMES,
)  # fmt: skip
_OPTIONS: Final = (
    ("data-file.external-paths", "s3://evil/x"), ("path", "/etc"), ("target-file-size", "1 b"),
    ("snapshot.time-retained", "1 ms"), ("metric.reporters", "x.Y"), ("sequence.field", "version"),
    ("commit.callbacks", "java.lang.Runtime"), ("bootstrap.servers", "169.254.169.254:80"),
    ("sasl.jaas.config", "${file:/etc/passwd}"), ("client.id", "${env:HOME}"),
)  # fmt: skip


def _places(chance: random.Random) -> tuple[str, str, dict[str, Any]]:
    """Return a method, an address and a body that would be fine."""
    table = _table(chance)
    return chance.choice(
        [
            ("PUT", table, _ORDERS),
            ("POST", f"{table}/validate", _ORDERS),
            ("PUT", f"{table}/streams/sales", _STREAM),
            ("POST", f"{table}/streams/sales/validate", _STREAM),
            ("POST", f"{table}/schema-changes/validate", _CHANGES),
            ("POST", f"{table}/schema-changes", _CHANGES),
            ("POST", f"{table}/rows/lookup", _KEYS),
            ("PUT", f"{table}/consumers/billing", _CONSUMER),
            ("POST", f"{table}/views/risk/lookup", _KEYS),
            ("POST", f"{table}:test", _TESTS),
            ("POST", f"{table}/rows/explain", {"key": {"id": 1}, "without": {"stream": "sales"}}),
            ("POST", f"{table}/rows/scan", {"prefix": {"id": 1}, "limit": 10}),
        ]
    )


def _wrong_types(chance: random.Random) -> HostileRequest:
    method, target, body = _places(chance)
    changed = deepcopy(body)
    for _ in range(chance.randint(1, 4)):
        _bend(chance, changed)
    return _json("wrong types", method, target, changed)


def _bend(chance: random.Random, value: Any) -> None:
    """Put something odd somewhere into an object."""
    while isinstance(value, dict | list) and value:
        keys: list[Any] = list(value) if isinstance(value, dict) else list(range(len(value)))
        key = chance.choice(keys)
        inner = value[key]
        if isinstance(inner, dict | list) and inner and chance.random() < 0.7:
            value = inner
            continue
        if isinstance(value, dict) and chance.random() < 0.2:
            key = str(chance.choice(_NAMES))
        value[key] = deepcopy(chance.choice(_ODD))  # a later turn may bend it, too
        return


def _large(chance: random.Random) -> HostileRequest:
    method, target, body = _places(chance)
    size = chance.choice([100_000, 900_000, 1_100_000, 3_000_000])
    padded = {**body, "comment": "x" * size}
    return _json("large", method, target, padded)


def _deep(chance: random.Random) -> HostileRequest:
    method, target, _ = _places(chance)
    depth = chance.choice([20, 40, 1_000, 100_000])
    opened, closed = chance.choice([(b"[", b"]"), (b'{"a":', b"}"), (b'{"columns":[', b"]}")])
    return _json("deep", method, target, opened * depth + b"1" + closed * depth)


def _wide(chance: random.Random) -> HostileRequest:
    count = chance.choice([500, 2_000, 6_000, 20_000])
    names = [f"c{number}" for number in range(count)]
    columns = [{"name": "id", "type": "BIGINT"}, *({"name": n, "type": "INT"} for n in names)]
    groups: list[dict[str, Any]] = [{"name": "g", "columns": names}]
    if chance.random() < 0.3:
        groups = [{"name": f"g{name}", "columns": [name]} for name in names[:500]]
    body = {**_ORDERS, "columns": columns, "sequence_groups": groups}
    return _json("wide", "POST", f"{_table(chance)}/validate", body)


def _many(chance: random.Random) -> HostileRequest:
    count = chance.choice([1_001, 5_000, 30_000])
    method, target, body = chance.choice(
        [
            ("POST", "rows/lookup", {"keys": [{"id": number} for number in range(count)]}),
            ("POST", "schema-changes/validate", {"changes": [{"change": "x"}] * count}),
            ("PUT", "streams/sales", {"topic": "x", "columns": [1] * count}),
            ("POST", "validate", {**_ORDERS, "options": {f"o{n}": n for n in range(count)}}),
        ]
    )
    return _json("many", method, f"{_table(chance)}/{target}", body)


def _functions(chance: random.Random) -> HostileRequest:
    body = deepcopy(_ORDERS)
    name = f"x.{chance.random()}" + "y" * chance.choice([0, 100, 100_000])
    body["columns"][1]["aggregate"] = {"function": name}
    return _json("names of functions", "POST", f"{_table(chance)}/validate", body)


def _references(chance: random.Random) -> HostileRequest:
    key, value = chance.choice(_OPTIONS)
    kafka: dict[str, Any] = {"options": {key: value}}
    if chance.random() < 0.5:
        kafka["bootstrap_servers"] = chance.choice(["169.254.169.254:80", "evil:9092", "[::1]:1"])
    if chance.random() < 0.5:
        stream = {"topic": chance.choice(["orders", "__consumer_offsets"]), "kafka": kafka}
        return _json("references", "PUT", f"{_table(chance)}/streams/sales", stream)
    body = {**_ORDERS, "options": {key: value}}
    return _json("references", "PUT", _table(chance), body)


def _paths(chance: random.Random) -> HostileRequest:
    part = chance.choice(
        ["..", "%2e%2e", "a%00b", "%2F", "a" * 5_000, "%ff", "é".encode().hex(), "a.b", "%20", "$%7Benv:X%7D"]
    )  # fmt: skip
    tail = chance.choice(
        ["", "/rows?id=1", "/streams", "/streams/x/status", "/inspect/files", "/changes"]
    )
    place = chance.choice(
        [f"/v1/tables/shop/{part}{tail}", f"/v1/tables/{part}/x{tail}", f"/{part}"]
    )
    method = chance.choice(["GET", "GET", "PUT", "DELETE", "POST"])
    return _json("paths", method, place, _ORDERS if method == "PUT" else b"")


def _queries(chance: random.Random) -> HostileRequest:
    value = chance.choice(
        [
            "",
            "-1",
            "9" * 400,
            "1e9",
            "true",
            "%00",
            "%ff",
            "${env:HOME}",
            "x" * 3_000,
            "1&id=2",
            "0",
        ]
    )
    tail = chance.choice(
        [
            "rows?id=", "rows?id=1&snapshot_id=", "rows?id=1&tag=", "rows?id=1&timestamp=", "rows?",
            "rows/status?id=", "views/risk/rows?id=", "rows/explain?id=", "rows/certificate?id=", "completeness?snapshot_id=",
            "rows/events?cursor=", "rows/events?keys=", "rows/events?id=1&from=x", "changes?after_snapshot_id=", "changes?page_token=", "changes?page_size=",
            "changes?consumer=", "changes?after_snapshot_id=0&columns=", "inspect/files?limit=",
            "inspect/snapshots?offset=", "inspect/x?last=", "changes?mode=",
        ]
    )  # fmt: skip
    target = chance.choice([f"{_table(chance)}/{tail}{value}", f"/v1/tables?page_token={value}"])
    return HostileRequest(kind="queries", method="GET", target=target)


def _foreign(chance: random.Random) -> HostileRequest:
    method, target, body = _places(chance)
    origin = chance.choice(
        ["http://evil.example", "null", "https://localhost.evil.example", "x" * 900]
    )
    if chance.random() < 0.3:
        return _json("foreign host", method, target, body, {"host": "evil.example"})
    return _json("foreign origin", method, target, body, {"origin": origin})


def _forms(chance: random.Random) -> HostileRequest:
    verb = chance.choice(["start", "pause", "resume", "stop"])
    kind = chance.choice(
        ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]
    )
    target = f"{_table(chance)}/streams/sales/{verb}"
    return HostileRequest(
        kind="forms", method="POST", target=target, headers={"content-type": kind}, body=b"a=b"
    )


def _unnamed(chance: random.Random) -> HostileRequest:
    tail = chance.choice(
        [
            "",
            "?confirm=",
            "?confirm=x",
            "/consumers/billing",
            "/consumers/braid-lease-1?confirm=braid-lease-1",
        ]
    )
    return _json("not asked for by name", "DELETE", f"{_table(chance)}{tail}", b"")


def _headers(chance: random.Random) -> HostileRequest:
    method, target, body = _places(chance)
    name = chance.choice(
        [
            "if-match",
            "if-none-match",
            "idempotency-key",
            "x-request-id",
            "accept",
            "content-length-x",
        ]
    )
    value = chance.choice(["", '"x"', "*", "x" * 300, "x" * 20_000, "\t", '"' + "a," * 2_000])
    return _json("headers", method, target, body, {name: value.strip()})


def _broken(chance: random.Random) -> HostileRequest:
    method, target, body = _places(chance)
    text = json.dumps(body)
    data = chance.choice(
        [
            text.encode()[: chance.randrange(len(text))],
            text.encode("utf-16"),
            text.encode() * 2,
            b"\xff\xfe" + text.encode(),
            b'{"a": NaN, "b": Infinity}',
            b'"' + b"\\ud800" * 10_000 + b'"',
            b"1" * 50_000,
            b"",
            b"null",
        ]
    )
    return _json("broken", method, target, data)


def _methods(chance: random.Random) -> HostileRequest:
    method = chance.choice(["PATCH", "OPTIONS", "TRACE", "HEAD", "BREW", "PUT", "DELETE"])
    target = chance.choice(["/v1/tables", "/health", "/ready", "/v1/openapi.json", _table(chance)])
    return _json("methods", method, target, b"")


def _compressed(chance: random.Random) -> HostileRequest:
    method, target, _ = _places(chance)
    encoding = chance.choice(["gzip", "deflate", "br", "gzip, gzip", "identity", "x" * 300])
    data = _bomb(chance.choice([10, 10_000_000]))
    return _json("compressed", method, target, data, {"content-encoding": encoding})


@lru_cache
def _bomb(size: int) -> bytes:
    return gzip.compress(json.dumps({"comment": "x" * size}).encode(), mtime=0)


# Kinds that take long are rarer, as they are where somebody sends them on purpose.
KINDS: Final[tuple[RequestKind, ...]] = (
    *(_wrong_types,) * 24, *(_queries,) * 14, *(_paths,) * 10, *(_references,) * 10, *(_broken,) * 10,
    *(_foreign,) * 6, *(_forms,) * 6, *(_headers,) * 8, *(_methods,) * 6, *(_unnamed,) * 4,
    *(_functions,) * 4, *(_deep,) * 3, *(_compressed,) * 3, *(_large,) * 2, *(_many,) * 2, _wide,
)  # fmt: skip
"""Each as often as it is to be drawn."""
