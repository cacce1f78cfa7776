"""Requests and micro-batches become spans while a process traces, and nothing is loaded while it does not."""

import logging
import subprocess
import sys
from collections.abc import Iterator

import pyarrow as pa
import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from braid.lake import Catalog, InvalidRequest, LocalFileIO
from braid.pipelines.metrics import RunnerMetrics
from braid.service.app import create_app
from braid.service.settings import ServiceSettings
from braid.telemetry.tracing import (
    is_tracing,
    is_tracing_wanted,
    span,
    start_tracing,
    trace_with,
    traced_storage,
)
from tests.unit.service.http_client import HttpClient

TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = "00f067aa0ba902b7"


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    """What this process traces."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    end = trace_with(provider)
    yield exporter
    end()


def by_name(spans: InMemorySpanExporter) -> dict[str, ReadableSpan]:
    return {one.name: one for one in spans.get_finished_spans()}


def test_a_request_is_traced_from_its_client_to_the_storage(
    spans: InMemorySpanExporter, tmp_path_factory: pytest.TempPathFactory
) -> None:
    warehouse = str(tmp_path_factory.mktemp("traced"))
    table = Catalog(warehouse).create_table(
        "shop.parcels", columns=[("id", "INT"), ("city", "STRING")], primary_key=["id"]
    )
    table.write_and_commit(pa.table({"id": pa.array([7], pa.int32()), "city": ["Ulm"]}))
    client = HttpClient(create_app(ServiceSettings(warehouse=warehouse)))

    answer = client.get(
        "/v1/tables/shop/parcels/rows?id=7",
        headers={"traceparent": f"00-{TRACE_ID}-{PARENT}-01", "x-request-id": "r-1"},
    )

    assert answer.is_success
    found = by_name(spans)
    request = found["GET /v1/tables/{database}/{table}/rows"]
    assert request.parent is not None
    assert f"{request.context.trace_id:032x}" == TRACE_ID
    assert f"{request.parent.span_id:016x}" == PARENT
    assert request.attributes == {
        "http.request.method": "GET",
        "http.route": "/v1/tables/{database}/{table}/rows",
        "http.response.status_code": 200,
        "braid.request_id": "r-1",
    }
    storage = found["storage read_bytes"]
    assert storage.context.trace_id == request.context.trace_id
    lookups = [name for name in found if name.startswith("lookup")]
    assert lookups
    assert found[lookups[0]].parent is not None
    assert "Ulm" not in "".join(one.to_json() for one in spans.get_finished_spans())


def test_stages_of_a_micro_batch_are_parts_of_one_trace(spans: InMemorySpanExporter) -> None:
    metrics = RunnerMetrics()

    with metrics.stage("total", "a.t/s"), metrics.stage("write", "a.t/s"):
        pass

    found = by_name(spans)
    total, write = found["micro-batch total"], found["micro-batch write"]
    assert write.parent is not None
    assert write.parent.span_id == total.context.span_id
    assert total.attributes == {"stream": "a.t/s"}


def test_the_duration_of_spans_is_logged_at_debug(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "braid.telemetry.tracing"):
        with span("lookup", table="a.t"):
            pass
        shown = [record.getMessage() for record in caplog.records]
    with span("lookup", table="a.t"):
        pass

    assert len(caplog.records) == 1
    assert shown[0].startswith("lookup table=a.t duration_ms=")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "package"),
    [
        ("braid.pipelines.metrics", "opentelemetry"),
        (
            "braid.service.server",
            "opentelemetry.sdk",
        ),  # the framework loads the interface by itself
    ],
)
def test_nothing_is_loaded_by_a_process_that_does_not_trace(module: str, package: str) -> None:
    program = (
        f"import sys, {module}; "
        "from braid.telemetry.tracing import span, start_tracing; "
        "start_tracing('x', {'OTEL_SDK_DISABLED': 'true', 'OTEL_EXPORTER_OTLP_ENDPOINT': 'http://x'})\n"
        "with span('a'): pass\n"
        f"print([name for name in sys.modules if name.startswith({package!r})])"
    )

    loaded = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    ).stdout

    assert loaded.strip() == "[]"


def test_an_address_begins_traces_and_without_the_packages_it_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    address = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
    end = start_tracing("braid-service", address)
    assert is_tracing()
    end()
    assert not is_tracing()
    assert not is_tracing_wanted({})
    monkeypatch.setattr("braid.telemetry.tracing.find_spec", lambda _: None)
    with pytest.raises(InvalidRequest, match=r"braid-lake\[tracing\]"):
        is_tracing_wanted(address)


def test_storage_is_passed_on_as_it_is(spans: InMemorySpanExporter) -> None:
    traced = traced_storage(LocalFileIO())

    assert traced.parallel_reads == LocalFileIO().parallel_reads
    with pytest.raises(FileNotFoundError):
        traced.read_bytes("/nothing/there")
    assert not by_name(spans)["storage read_bytes"].status.is_ok
