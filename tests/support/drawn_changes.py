"""Changes of a few tables over HTTP, drawn from a seed: every kind of change that people and programs make."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

HOT: Final = "hot"
"""The table of every second change."""

SHORT: Final = "short"
"""The table that is dropped and created again."""

TABLES: Final = (HOT, "cold_1", "cold_2", SHORT)
STREAMS: Final = {
    "sales": "sales",
    "rival": "sales",
    "payments": "payments",
    "shipping": "shipping",
}
"""Streams and the groups that they own; two of them want the same one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnChange:
    """A request that changes something.

    Attributes:
        method: The HTTP method.
        path: Its path and query.
        body: JSON values.
        tables: Tables, `<database>.<table>`, that it may change.
        is_conditional: Whether it is sent with `if-match`, and the tag that a GET of the path has just returned.
        has_key: Whether it is sent with an idempotency key, and after a success once more.
        tells: Statuses of answers that say that something has changed; others leave it open whether there was something to do.
    """

    method: str
    path: str
    body: Any
    tables: frozenset[str]
    is_conditional: bool = False
    has_key: bool = False
    tells: frozenset[int] = frozenset({201, 204})


def drawn_change(
    draw: random.Random, name: str, spec: Mapping[str, Any], *, with_operations: bool
) -> DrawnChange:
    """Return a change.

    Args:
        draw: The source.
        name: Unique to the change.
        spec: The declaration of every table.
        with_operations: Whether operations, which take a process each, are among the changes.
    """
    table = HOT if draw.random() < 0.5 else draw.choice(TABLES)
    stream = draw.choice([*STREAMS])
    of_table = f"/v1/tables/shop/{table}"
    of_stream = f"{of_table}/streams/{stream}"
    tables = frozenset({f"shop.{table}"})
    # With a table that is dropped, the keys of requests go and operations fail; the tag of a snapshot that goes may be 410.
    lasting = f"/v1/tables/shop/{HOT if table == SHORT else table}"
    column = f"x{name.replace('-', '_')}"
    kinds = [
        "put",
        "put",
        "patch",
        "owner",
        "column",
        "delete",
        "verb",
        "verb",
        "many",
        "tag",
        "table",
    ]
    match draw.choice([*kinds, "compact", "untag"] if with_operations else kinds):
        case "put":
            definition = {"topic": stream, "sequence_group": STREAMS[stream]}
            # Streams of the table that is dropped are stopped, without which it is not.
            query = "?initial_state=STOPPED" if table == SHORT else ""
            body = {**definition, "trigger_ms": draw.randrange(100, 200)}
            return DrawnChange(method="PUT", path=f"{of_stream}{query}", body=body, tables=tables)
        case "patch":
            return DrawnChange(
                method="PATCH",
                path=of_stream,
                body={"labels": {"changed": name}, "max_records_per_batch": draw.randrange(1, 99)},
                tables=tables,
                is_conditional=True,
                tells=frozenset({200}),
            )
        case "owner":
            return DrawnChange(
                method="PATCH",
                path=of_table,
                body={"owner": name},
                tables=tables,
                is_conditional=draw.random() < 0.5,
                tells=frozenset({200}),
            )
        case "column":
            add = {"change": "add_column", "column": column, "type": "INT"}
            return DrawnChange(
                method="POST",
                path=f"{of_table}/schema-changes",
                body={"changes": [{**add, "sequence_group": STREAMS[stream]}]},
                tables=tables,
                has_key=table != SHORT and draw.random() < 0.5,
                tells=frozenset({200}),
            )
        case "delete":
            return DrawnChange(method="DELETE", path=of_stream, body={}, tables=tables)
        case "verb":
            verb = draw.choice(["pause", "resume", "stop", "stop"])
            return DrawnChange(
                method="POST",
                path=f"{of_stream}/{verb}",
                body={},
                tables=tables,
                has_key=table != SHORT and draw.random() < 0.3,
            )
        case "many":
            verb = draw.choice(["pause", "stop"])
            return DrawnChange(
                method="POST",
                path=f"/v1/streams:{verb}",
                body={"tables": ["shop.cold_*"]},
                tables=frozenset(f"shop.{one}" for one in TABLES if one.startswith("cold_")),
            )
        case "tag":
            path = f"{lasting}/tags/{column}"
            return DrawnChange(
                method="PUT", path=path, body={}, tables=frozenset({_table_of(path)})
            )
        case "untag":
            path = f"{lasting}/tags/always"
            return DrawnChange(
                method="DELETE",
                path=path,
                body={},
                tables=frozenset({_table_of(path)}),
                tells=frozenset({202}),
            )
        case "compact":
            path = f"{lasting}/compactions"
            return DrawnChange(
                method="POST",
                path=path,
                body={},
                tables=frozenset({_table_of(path)}),
                has_key=True,
                tells=frozenset({202}),
            )
        case _:
            short = f"/v1/tables/shop/{SHORT}"
            tables = frozenset({f"shop.{SHORT}"})
            if draw.random() < 0.5:
                return DrawnChange(method="PUT", path=short, body=spec, tables=tables)
            path = f"{short}?confirm=shop.{SHORT}"
            return DrawnChange(method="DELETE", path=path, body={}, tables=tables)


def _table_of(path: str) -> str:
    """Return the table in an address, `<database>.<table>`."""
    return ".".join(path.split("/")[3:5])
