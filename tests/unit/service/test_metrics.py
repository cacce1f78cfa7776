"""The service counts requests by route and state of the row, and shows streams and tables of the reports of runners."""

from collections.abc import Mapping

import pyarrow as pa
from prometheus_client.parser import text_string_to_metric_families

from braid.lake import Catalog, ManualClock, MemoryFileIO
from braid.registry.store.progress import ProgressStore
from braid.schemas import RunnerProgress, StreamProgress, StreamState, TableProgress
from tests.unit.service.http_client import HttpClient

TABLE = "/v1/tables/{database}/{table}"
REQUESTS = "braid_http_request_duration_seconds_count"


def samples(client: HttpClient, name: str) -> dict[tuple[str, ...], float]:
    """Return the samples of a name, by the values of their labels in the order of the labels' names."""
    answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return {
        tuple(sample.labels[label] for label in sorted(sample.labels)): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
        if sample.name == name
    }


def requests_of(client: HttpClient, route: str) -> Mapping[tuple[str, str, str], float]:
    """Return the numbers of requests of a route by method, state of the row and class of status."""
    counted = samples(client, REQUESTS)
    return {(m, row, status): n for (m, at, row, status), n in counted.items() if at == route}


def test_requests_for_rows_are_counted_by_the_state_of_the_row(
    shop: HttpClient, catalog: Catalog
) -> None:
    rows = pa.table({"id": pa.array([1], pa.int64()), "region": ["eu"]})
    catalog.table("shop.orders").write_and_commit(rows)
    path = "/v1/tables/shop/orders/rows"

    for key in (1, 1, 2):
        shop.get(f"{path}?id={key}&region=eu")
    shop.get(path)
    shop.get(f"{path}/status?id=1&region=eu")
    shop.post(f"{path}/lookup", json={"keys": [{"id": 1, "region": "eu"}]})

    assert requests_of(shop, f"{TABLE}/rows") == {
        ("GET", "found", "2xx"): 2,
        ("GET", "absent", "4xx"): 1,
        ("GET", "", "4xx"): 1,
    }
    assert requests_of(shop, f"{TABLE}/rows/status") == {("GET", "incomplete", "2xx"): 1}
    assert requests_of(shop, f"{TABLE}/rows/lookup") == {("POST", "", "2xx"): 1}
    # The first request for a row makes the copies.
    assert samples(shop, "braid_row_reads_without_copies_total") == {(): 1}


def test_other_requests_have_the_template_of_their_path_and_unknown_ones_share_a_series(
    shop: HttpClient,
) -> None:
    shop.get("/v1/tables/shop/orders")
    for path in ("/v1/nothing/1", "/v1/nothing/2"):
        shop.request("BREW", path)

    assert requests_of(shop, TABLE) == {("GET", "", "2xx"): 1, ("PUT", "", "2xx"): 1}
    assert requests_of(shop, "none") == {("other", "", "4xx"): 2}


def test_streams_and_tables_of_reports_are_shown_unless_the_table_is_dropped(
    shop: HttpClient, file_io: MemoryFileIO, clock: ManualClock
) -> None:
    running = StreamProgress(state=StreamState.RUNNING, lag_records=12)
    ProgressStore(file_io, "/w", clock).write(
        RunnerProgress(
            runner="r",
            started_ms=0,
            updated_ms=0,
            streams={"shop.orders/sales": running, "shop.dropped/sales": running},
            tables={"shop.orders": TableProgress(looks=1, files=3)},
        )
    )

    assert samples(shop, "braid_stream_lag_records") == {("sales", "shop.orders"): 12}
    assert samples(shop, "braid_table_files") == {("shop.orders",): 3}
    assert samples(shop, "braid_reports_readable") == {(): 1}


def test_open_metrics_are_answered_where_they_are_accepted(client: HttpClient) -> None:
    answer = client.get("/metrics", headers={"accept": "application/openmetrics-text"})

    assert answer.headers["content-type"].startswith("application/openmetrics-text")
    assert answer.text.endswith("# EOF\n")
