"""Recordings of change events of a real PostgreSQL server: `python -m tests.support.captured_postgres.record`.

Writes `tests/support/recorded_changes/<name>.jsonl`, one event per line as `CapturedEvents.java` writes it, for tests
that read real events without a server. Positions and times differ from run to run, and nothing else.
"""

import json
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import Final

from tests.support.captured_postgres.captured_events import (
    SIGNALS,
    CapturedEvent,
    ChangeCapture,
)
from tests.support.captured_postgres.server import PostgresServer
from tests.support.captured_postgres.session import Session

FOLDER: Final = Path(__file__).parents[1] / "recorded_changes"

_WITHOUT_SCHEMAS: Final = {
    "header.converter.schemas.enable": "false",
    "decimal.handling.mode": "string",
    "skipped.operations": "none",
}
_UNWRAP: Final = {
    "transforms": "unwrap",
    "transforms.unwrap.type": "io.debezium.transforms.ExtractNewRecordState",
    "transforms.unwrap.add.fields": "op,source.sequence,source.lsn,source.ts_ms,source.snapshot,source.table",
}
RECORDINGS: Final = MappingProxyType(
    {
        "postgresql": _WITHOUT_SCHEMAS,
        "postgresql_base64": {**_WITHOUT_SCHEMAS, "decimal.handling.mode": "precise"},
        "postgresql_with_schemas": {
            "key.converter.schemas.enable": "true",
            "value.converter.schemas.enable": "true",
            "skipped.operations": "none",
        },
        "postgresql_unwrapped": {
            **_WITHOUT_SCHEMAS,
            **_UNWRAP,
            "transforms.unwrap.delete.tombstone.handling.mode": "rewrite",
            "skipped.operations": "t",
        },
        "postgresql_unwrapped_tombstones": {
            **_WITHOUT_SCHEMAS,
            **_UNWRAP,
            "transforms.unwrap.delete.tombstone.handling.mode": "tombstone",
            "skipped.operations": "t",
        },
    }
)
"""The connector's properties by the name of the recording."""

_TYPES: Final = (
    "id bigint PRIMARY KEY, small smallint, whole int, price numeric(12,2), real_ real, double_ double precision, "
    "is_open boolean, name varchar(40), day date, clock time, moment timestamp, moment_ms timestamp(3), "
    "instant timestamptz, code uuid"
)
_ROW: Final = (
    "7, -2147483648, 12345.67, 1.5, 0.1, true, 'Zoë \"x\"', DATE '2026-03-01', TIME '12:34:56.789012', "
    "TIMESTAMP '2026-03-01 12:34:56.789012', TIMESTAMP '2026-03-01 12:34:56.789', "
    "TIMESTAMPTZ '2026-03-01 12:34:56.789012+02', '11111111-2222-3333-4444-555555555555'"
)
_NULLS: Final = ", ".join(["NULL"] * 13)
# Stored apart from their row (TOAST), because all of them together have two kilobytes.
_LARGE: Final = "body text, data bytea, tags text[], details jsonb"
_LARGE_ROW: Final = (
    "repeat('large ', 110), convert_to(repeat('bytes ', 110), 'UTF8'), "
    "ARRAY[repeat('tag ', 160)], jsonb_build_object('a', repeat('json ', 130))"
)


def record(server: PostgresServer, name: str) -> list[CapturedEvent]:
    """Return the events of one connector while rows are created, changed and deleted."""
    with server.session() as session:
        _create(session)
        tables = "public.kinds,public.parts,public.wholes"
        with ChangeCapture(server, tables=tables, settings=RECORDINGS[name]) as capture:
            capture.wait_for(lambda events: len(events) >= 4)
            _change(session)
            ask = '{"data-collections": ["public.parts"], "type": "incremental"}'
            session.run(f"INSERT INTO {SIGNALS} VALUES ('again', 'execute-snapshot', '{ask}')")
            capture.wait_for(lambda events: any(_is_chunk(event) for event in events))
            session.run("TRUNCATE wholes", "INSERT INTO kinds (id) VALUES (99)")
            events = capture.wait_for(lambda events: any(_has_key(event, 99) for event in events))
            capture.kill()
        session.run(
            f"DROP TABLE kinds, parts, wholes, {SIGNALS}",
            "SELECT pg_drop_replication_slot('debezium')",
            "DROP PUBLICATION dbz_publication",
        )
    return [event for event in events if not event.topic.endswith(SIGNALS)]


def write(name: str, events: list[CapturedEvent]) -> None:
    """Write a recording."""
    lines = [json.dumps(asdict(event), ensure_ascii=False) for event in events]
    (FOLDER / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def read(name: str) -> list[CapturedEvent]:
    """Return a recording."""
    text = (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8")
    return [CapturedEvent(**json.loads(line)) for line in text.splitlines()]


def _create(session: Session) -> None:
    session.run(
        f"CREATE TABLE kinds ({_TYPES})",
        f"CREATE TABLE parts (id bigint PRIMARY KEY, number int, {_LARGE})",
        f"CREATE TABLE wholes (id bigint PRIMARY KEY, number int, {_LARGE})",
        f"CREATE TABLE {SIGNALS} (id varchar(64) PRIMARY KEY, type varchar(32), data varchar(2048))",
        "ALTER TABLE wholes REPLICA IDENTITY FULL",
    )
    for table in ("parts", "wholes"):
        session.run(f"ALTER TABLE {table} SET (toast_tuple_target = 128)")
        for column in ("body", "data", "tags", "details"):
            session.run(f"ALTER TABLE {table} ALTER {column} SET STORAGE EXTERNAL")
    session.run(
        f"INSERT INTO kinds VALUES (1, {_ROW}), (2, {_NULLS})",
        f"INSERT INTO parts VALUES (1, 10, {_LARGE_ROW})",
        f"INSERT INTO wholes VALUES (1, 10, {_LARGE_ROW})",
    )


def _change(session: Session) -> None:
    session.run("UPDATE kinds SET small = 8, price = -0.01 WHERE id = 1")
    for table in ("parts", "wholes"):
        session.run(
            f"UPDATE {table} SET number = 11 WHERE id = 1",
            f"UPDATE {table} SET id = 2 WHERE id = 1",
            f"UPDATE {table} SET body = 'small', tags = NULL WHERE id = 2",
            f"INSERT INTO {table} (id, number) VALUES (3, 30)",
            f"DELETE FROM {table} WHERE id = 3",
        )
    session.run("DELETE FROM kinds WHERE id = 2")


def _is_chunk(event: CapturedEvent) -> bool:
    return event.value is not None and '"incremental"' in event.value


def _has_key(event: CapturedEvent, key: int) -> bool:
    found = json.loads(event.key or "{}")
    return bool(found.get("payload", found).get("id") == key)


def main() -> None:
    """Record everything."""
    FOLDER.mkdir(exist_ok=True)
    with PostgresServer() as server:
        for name in RECORDINGS:
            write(name, record(server, name))


if __name__ == "__main__":
    main()
