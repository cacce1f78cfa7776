"""The status of a table's maintenance over HTTP."""

import pyarrow as pa

from braid.lake import Catalog, ManualClock, MemoryFileIO
from braid.registry.store.progress import ProgressStore
from braid.schemas import RunnerProgress, TableProgress
from tests.unit.service.http_client import HttpClient


def test_runs_are_counted_and_the_living_runners_report_is_included(
    shop: HttpClient, catalog: Catalog, file_io: MemoryFileIO, clock: ManualClock
) -> None:
    table = catalog.table("shop.orders")
    for _ in range(3):
        table.write_and_commit(pa.table({"id": pa.array([1], pa.int64()), "region": ["eu"]}))
    store = ProgressStore(file_io, "/w", clock)
    for name, silent_ms in (("gone", 3_600_000), ("alive", 0)):
        store.write(
            RunnerProgress(
                runner=name,
                started_ms=0,
                updated_ms=clock.now_ms(),
                tables={"shop.orders": TableProgress(looks=9, compactions=2, dropped=1)},
            )
        )
        clock.advance(ms=silent_ms)

    found = shop.get("/v1/tables/shop/orders/maintenance").json()

    assert (found["snapshot_id"], found["buckets"], found["most_runs"]) == (3, 1, 3)
    assert (found["compaction_trigger"], found["stop_trigger"]) == (5, 8)
    (upkeep,) = found["upkeep"]
    assert upkeep["worker_id"] == "alive"
    assert (upkeep["looks"], upkeep["compactions"], upkeep["dropped"]) == (9, 2, 1)
    assert upkeep["error"] is None


def test_a_table_without_rows_has_no_runs(shop: HttpClient) -> None:
    found = shop.get("/v1/tables/shop/orders/maintenance").json()

    assert (found["snapshot_id"], found["most_runs"], found["upkeep"]) == (None, 0, [])


def test_a_table_that_is_not_there_is_not_found(client: HttpClient) -> None:
    assert client.get("/v1/tables/shop/orders/maintenance").status_code == 404


def test_deletes_that_compactions_keep_are_counted(client: HttpClient, catalog: Catalog) -> None:
    spec = {
        "columns": [{"name": "id", "type": "INT"}, {"name": "at", "type": "TIMESTAMP(3)"}],
        "primary_key": ["id"],
        "merge_engine": "deduplicate",
        "delete_retention": {"seconds": 3600, "columns": ["at"]},
    }
    client.put("/v1/tables/shop/kept", json=spec).raise_for_status()
    table = catalog.table("shop.kept")
    moment = pa.array([2**41] * 2, pa.timestamp("ms"))  # later than any clock
    rows = pa.table({"id": pa.array([1, 2], pa.int32()), "at": moment})
    table.write_and_commit(rows)
    table.write_and_commit(rows, kinds=pa.array([3, 0], pa.int8()))
    table.compact(full=True)

    found = client.get("/v1/tables/shop/kept/maintenance").json()

    assert (found["most_runs"], found["tombstones"]) == (1, 1)
