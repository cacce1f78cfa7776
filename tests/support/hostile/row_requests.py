"""Kinds of hostile requests that are about rows and records: hypotheses, pushes, tokens, columns, and forms of the answer."""

import base64
import json
import random
from typing import Any, Final

from tests.support.hostile.hostile_request import (
    HostileRequest,
    RequestKind,
    drawn_table as _table,
    json_request as _json,
)

SIGNED_STREAM: Final = "payments"
"""Its topic needs signatures; that of `sales` does not."""

SIGNATURE: Final = "x-signature"

# None of them is a row of the table, so none is sent to Kafka.
_VALUES: Final = (
    "", "null", "x", "[]", "1" * 5_000, '{"id": 1e999}', '{"id": ' + "9" * 5_000 + "}", '{"id": NaN}', '{"id": "\\ud800"}',
    "[" * 50_000, '{"a":' * 20_000, '{"id": 1' + ', "id": 2' * 2_000, '{"id": [' + "1," * 5_000 + "1]}", "\ufeff{", "\x00",
)  # fmt: skip
_BYTES: Final = ("!", "A", "////", "AAAAAAE=", "/w==" * 500)  # base64, some of it wrong
_PUSHED_AS: Final = (
    "application/json", "application/x-ndjson", "application/cloudevents+json", "application/cloudevents-batch+json",
    "application/xml", "application/json; charset=utf-16",
)  # fmt: skip


def _record(chance: random.Random) -> dict[str, Any]:
    """Return a record that no stream takes."""
    if chance.random() < 0.2:
        return {"value_base64": chance.choice(_BYTES)}
    odd: dict[str, Any] = {
        "key": chance.choice([None, "", "1", {"id": []}, [[1]], "x" * 10_000]),
        "key_base64": chance.choice(_BYTES),
        "headers": chance.choice([{"": ""}, {f"h{n}": "x" for n in range(200)}, {"a": 1}, []]),
        "timestamp_ms": chance.choice([-1, 1 << 63, 1.5, "now"]),
        "value_base64": "e30=",
        "offset": -1,
        "x": {},
    }
    names = chance.sample(sorted(odd), chance.randint(0, 2))
    return {"value": chance.choice(_VALUES), **{name: odd[name] for name in names}}


def _what_ifs(chance: random.Random) -> HostileRequest:
    stream = chance.choice(["sales", "sales", SIGNED_STREAM, "x"])
    record = {**_record(chance), "offset": chance.choice([0, 7, (1 << 63) - 1, 1 << 63])}
    supposed: dict[str, Any] = chance.choice(
        [
            {"what_if": {"stream": stream, "record": record}},
            {"without": {"stream": stream, "from_offset": (1 << 63) - 1, "partition": 1 << 40}},
            {"what_if": record, "without": {"stream": stream}},
        ]
    )
    key = chance.choice([{"id": 1}, {"id": "1"}, {"id": 1 << 70}, {}, {"x": 1}])
    return _json(
        "what if", "POST", f"{_table(chance)}/rows/explain", {"key": key, **supposed, "columns": ["total"]}
    )  # fmt: skip


def _samples(chance: random.Random) -> HostileRequest:
    records = [_record(chance) for _ in range(chance.choice([1, 20, 101]))]
    if chance.random() < 0.5:
        case = {"name": "x", "given": [{"stream": "sales", **one} for one in records], "expect": {"rows": []}}  # fmt: skip
        return _json("samples", "POST", f"{_table(chance)}:test", {"cases": [case]})
    stream = {"topic": "sales", "samples": records, "partitioned_by_key": True}
    return _json("samples", "POST", f"{_table(chance)}/streams/sales/validate", stream)


def _pushes(chance: random.Random) -> HostileRequest:
    records = [_record(chance) for _ in range(chance.choice([1, 3, 20]))]
    if chance.random() < 0.1:
        records = [{"value": "x"}] * 1_001
    event = {"specversion": "1.0", "id": "1", "source": "x", "type": "y", "data": records[0]}
    data = chance.choice(
        [
            json.dumps(records).encode(),
            b"\n".join(json.dumps(record).encode() for record in records),
            json.dumps([event]).encode(),
            # More events than a push may have; larger ones would exceed what the service discards after a refusal.
            json.dumps([{**event, "data": 1}] * 1_001).encode(),
            json.dumps({**event, "data_base64": "!"}).encode(),
            b"\n" * 10_000,
        ]
    )
    headers = {"content-type": chance.choice(_PUSHED_AS)}
    if chance.random() < 0.5:
        headers[SIGNATURE] = chance.choice(
            ["", "sha256=", "sha256=" + "0" * 64, "0" * 64, "x" * 5_000, "sha256=zz"]
        )
    # A valid name of a request is looked for in Kafka before the records are read, so it is sent where the signature is wrong.
    stream = chance.choice(["sales", SIGNED_STREAM])
    if chance.random() < 0.5:
        odd = ["", "x" * 256, "x" * 10_000]
        headers["idempotency-key"] = chance.choice([*odd, "1"] if stream == SIGNED_STREAM else odd)
    body = "?body=x" if chance.random() < 0.1 else ""
    target = f"{_table(chance)}/streams/{stream}/records{body}"
    return _json("pushes", "POST", target, data, headers)


def _tokens(chance: random.Random) -> HostileRequest:
    token = _token(chance)
    table = _table(chance)
    if chance.random() < 0.3:
        body = {"prefix": {}, "page_token": token}
        return _json("tokens", "POST", f"{table}/rows/scan", body)
    tail = chance.choice(
        [
            "rows?id=1&read_after=", "rows/status?id=1&read_after=", "rows/explain?id=1&read_after=", "changes?page_token=",
            "rows?id=1&timestamp=", "indexes/x/rows?page_token=",
        ]
    )  # fmt: skip
    headers = {"if-none-match": chance.choice(["*", 'W/"1"', '"1-x",' * 500, '"' + token[:5_000]])}
    return HostileRequest(
        kind="tokens", method="GET", target=f"{table}/{tail}{token}", headers=headers
    )


def _token(chance: random.Random) -> str:
    content = chance.choice(
        [
            b"[" * 6_000, b"1" * 6_000, b'{"a":' * 1_000, b'["shop.orders"]', b"null", b"\xff\xfe", b'"\\ud800"',
            b'["shop.orders",9223372036854775808,null,null]', b'["shop.orders",-1,"x",-1]', b'{"table":"shop.orders"}',
            b'["shop.orders","sales",null,{"0":1e400}]', b'["shop.orders","sales","x",{"-1":-1}]',
        ]
    )  # fmt: skip
    return base64.urlsafe_b64encode(content).decode().rstrip("=") + chance.choice(["", "=", "A"])


def _columns(chance: random.Random) -> HostileRequest:
    count = chance.choice([1, 2_000])
    names = [chance.choice(["total", f"c{number}", "", "total,total"]) for number in range(count)]
    if chance.random() < 0.5:
        path = chance.choice(["rows", "changes", "rows/status", "rows/explain", "rows/events"])
        text = ",".join(names)[:14_000]
        target = f"{_table(chance)}/{path}?columns={text}&id=x&after_snapshot_id=0"
        return HostileRequest(kind="columns", method="GET", target=target)
    body: dict[str, Any] = {"columns": names * 10}
    body |= chance.choice(
        [{"keys": [{"id": 1}] * 1_000}, {"keys": [{f"c{n}": n for n in range(2_000)}]}, {"prefix": {"id": 1}}]
    )  # fmt: skip
    path = chance.choice(["rows/lookup", "rows/scan", "views/risk/lookup"])
    return _json("columns", "POST", f"{_table(chance)}/{path}", body)


def _forms_of_answers(chance: random.Random) -> HostileRequest:
    accept = chance.choice(
        [
            "application/vnd.apache.arrow.stream;q=x", "*/*;q=-1", ",,,", "text/*", "a/b/c", "x" * 300, "application/json;" * 800,
            "application/vnd.apache.arrow.stream",
        ]
    )  # fmt: skip
    headers = {"accept": accept, "accept-encoding": chance.choice(["x", "gzip;q=nan", "*;q=0"])}
    table = _table(chance)
    if chance.random() < 0.5:
        tail = chance.choice(["rows?id=1", "changes?after_snapshot_id=0", "inspect/files", "rows/events?id=x"])  # fmt: skip
        return HostileRequest(
            kind="forms of answers", method="GET", target=f"{table}/{tail}", headers=headers
        )
    body = {"keys": [{"id": number} for number in range(1_000)], "bigint": "x"}
    return _json("forms of answers", "POST", f"{table}/rows/lookup", body, headers)


KINDS: Final[tuple[RequestKind, ...]] = (
    *(_what_ifs,) * 8, *(_samples,) * 3, *(_pushes,) * 6, *(_tokens,) * 8, *(_columns,) * 3, *(_forms_of_answers,) * 4,
)  # fmt: skip
"""Each as often as it is to be drawn."""
