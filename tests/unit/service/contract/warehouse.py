"""The warehouse that all requests are for: a table with rows, streams, a view, an index, a tag, a consumer, operations and a drained runner."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import pyarrow as pa

from braid.formats.clusters.clusters_file import parse_clusters
from braid.formats.clusters.kafka_clusters import KafkaClusters
from braid.lake import ManualClock, MemoryFileIO
from braid.registry.store.assignments import AssignmentStore
from braid.registry.store.operations import OperationStore
from braid.schemas import CompactionRequest, OperationDocument, OperationState
from braid.service.control.read_after import PushedPlace, ReadAfter, key_digest, to_token
from tests.support.fed_table import TABLE, FedTable, Message

# Nothing listens at port 1.
CLUSTERS: Final[KafkaClusters] = parse_clusters(
    """
    [clusters.shop]
    bootstrap_servers = "127.0.0.1:1"
    push = ["sales", "parcels"]

    [[clusters.shop.signatures]]
    topics = ["parcels"]
    header = "x-hub-signature-256"
    prefix = "sha256="
    secret = "${env:PARCELS_SECRET}"
    """,
    source="clusters.toml",
)
DECLARATION: Final[dict[str, Any]] = {
    "columns": [
        {"name": "id", "type": "BIGINT"},
        {"name": "total", "type": "DECIMAL(10, 2)"},
        {"name": "version", "type": "STRING"},
        {"name": "carrier", "type": "STRING"},
        {
            "name": "visits",
            "type": "TINYINT",
            "aggregate": {"function": "sum", "on_overflow": "fail"},
        },
    ],
    "primary_key": ["id"],
    "sequence_groups": [
        {"name": "sales", "ordering": ["version"], "columns": ["total"]},
        {"name": "parcels", "columns": ["carrier"]},
        {"name": "clicks", "columns": ["visits"]},
    ],
    "unordered": "allowed",
    "views": [{"name": "seen", "columns": [{"column": "carrier"}, {"column": "visits"}]}],
    "lookup_indexes": [{"name": "by_carrier", "columns": ["carrier"]}],
}
RETURNS: Final[dict[str, Any]] = {
    "columns": [{"name": "id", "type": "BIGINT"}, {"name": "reason", "type": "STRING"}],
    "primary_key": ["id"],
    "merge_engine": "deduplicate",
}
_KAFKA: Final = {"kafka": {"cluster": "shop"}, "partitioned_by_key": True}
STREAMS: Final[dict[str, dict[str, Any]]] = {
    name: {"topic": name, "sequence_group": name, **_KAFKA}
    for name in ("sales", "parcels", "clicks")
}
RUNNING, STOPPED = "sales", "parcels"
"""Streams: one that is to run, and one that is stopped."""

DRAINED: Final = "r1"
"""A runner that is drained."""

DOCUMENTS: Final = "/w/_braid/tables/shop.orders"
FILES: Final = "/w/shop.db/orders"
"""Directories of the table: that of the versions of its declaration, and that of its files."""

OPEN: Final = "shop.orders.00000000000000000000"
FINISHED: Final = "shop.orders.11111111111111111111"
"""Operations: one that has not ended, and one that has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Warehouse:
    """The files.

    Attributes:
        files: The storage, which stays as it is.
        read_after: By stream, the token of its record that the row 7 is of.
    """

    files: MemoryFileIO
    read_after: Mapping[str, str]


@cache
def warehouse() -> Warehouse:
    """Return the warehouse."""
    clock = ManualClock()
    bed = FedTable(declaration=DECLARATION, streams=STREAMS, clock=clock, clusters=CLUSTERS)
    bed.client.post(f"{TABLE}/streams/{STOPPED}/stop").raise_for_status()
    bed.feed(RUNNING, Message(value={"id": 7, "total": "12.50", "version": "a"}))
    bed.feed("parcels", Message(value={"id": 7, "carrier": "ACME"}))
    bed.feed("clicks", Message(value={"id": 7, "visits": 1}))
    bed.feed("clicks", Message(value={"id": 7, "visits": 2}), Message(value={"id": 8, "visits": 3}))
    # Of an older snapshot, so that the newest one can expire with its files.
    bed.client.put(f"{TABLE}/tags/kept", json={"snapshot_id": 4}).raise_for_status()
    position = {"next_snapshot_id": 2}
    bed.client.put(f"{TABLE}/consumers/reader", json=position).raise_for_status()
    _add_operations(bed.file_io, clock)
    # Without streams, so that it can be dropped and rolled back.
    bed.client.put("/v1/tables/shop/returns", json=RETURNS).raise_for_status()
    bed.catalog.table("shop.returns").write_and_commit(pa.table({"id": [7], "reason": ["broken"]}))
    bed.client.put("/v1/tables/shop/returns/tags/kept", json={}).raise_for_status()
    AssignmentStore(bed.file_io, "/w", clock).change(
        lambda one: one.with_drained(DRAINED, is_drained=True)
    )
    place = {PushedPlace(0, 0): key_digest(bed.table.schema, {"id": 7})}
    after = {
        name: ReadAfter(table="shop.orders", stream=name, topic_id=name, records=place)
        for name in (RUNNING, STOPPED)
    }
    return Warehouse(
        files=bed.file_io, read_after={name: to_token(one) for name, one in after.items()}
    )


def _add_operations(files: MemoryFileIO, clock: ManualClock) -> None:
    store = OperationStore(files, "/w", clock)
    operation = OperationDocument(
        id=OPEN,
        database="shop",
        table="orders",
        request=CompactionRequest(),
        created_ms=clock.now_ms(),
    )
    ended = {"id": FINISHED, "state": OperationState.CANCELED, "finished_ms": clock.now_ms()}
    store.create(operation, announce=lambda: None)
    store.finish(operation.model_copy(update=ended))
