"""Streams of one runner that do not wait for each other's tasks."""

from pathlib import Path
from typing import Any, Final

import pytest
from pyspark.sql import SparkSession

from braid.demo.broker import KafkaBroker
from braid.formats.clusters.kafka_clusters import KafkaClusters
from braid.formats.schema_registry.named_registry import NamedSchemaRegistry
from braid.pipelines.settings import RunnerSettings
from braid.pipelines.spark.scheduler_pools import use_pool
from braid.schemas import StreamState, TableSpec
from tests.integration.ingest_bed import IngestBed
from tests.integration.runner_bed import Registry, has_read, is_state, running_settings
from tests.integration.test_schema_registry import framed
from tests.support.registry_server import registry_server
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.spark]

NAMES: Final = ("stuck_1", "stuck_2", "calm")
SPEC: Final = TableSpec.model_validate(
    {
        "columns": [
            {"name": "id", "type": "BIGINT"},
            *({"name": f"{name}_value", "type": "STRING"} for name in NAMES),
        ],
        "primary_key": ["id"],
        "buckets": 2,
        "sequence_groups": [
            {"name": name, "ordering": None, "columns": [f"{name}_value"]} for name in NAMES
        ],
    }
)
LONG_MS: Final = 600_000
SCHEMA: Final = '{"type": "object"}'


def test_streams_whose_tasks_are_stuck_do_not_stop_another(
    kafka: KafkaBroker, session: SparkSession, tmp_path: Path
) -> None:
    bed = IngestBed(broker=kafka, session=session, directory=tmp_path, spec=SPEC)
    with registry_server() as server:
        stuck = {name: number for number, name in enumerate(NAMES[:2], 1)}
        for schema_id in stuck.values():
            server.put_schema(schema_id, SCHEMA, schemaType="JSON")
            server.stuck.add(f"/schemas/ids/{schema_id}")
        shop = NamedSchemaRegistry(name="shop", urls=(server.url,), timeout_ms=LONG_MS)
        clusters = KafkaClusters(schema_registries={"shop": shop})
        settings = RunnerSettings(
            warehouse=bed.warehouse,
            name="inside",
            clusters=clusters.with_default(kafka.bootstrap_servers),
            poll_ms=50,
            progress_ms=100,
            maintains=False,
        )
        declared = Registry(bed)
        for name, schema_id in stuck.items():
            topic = bed.topic(name, partitions=1)
            bed.produce(topic, [framed(schema_id, _message(name, 1))])
            declared.register(
                name, topic=topic, format={"type": "json", "schema_registry": "shop"}, **_of(name)
            )
        with running_settings(settings, session, tmp_path):
            # Each holds a task slot from now on: the tasks are as many as the cores of the runner.
            wait_until(
                lambda: server.stuck <= set(server.paths), what=lambda: "both tasks ask for schemas"
            )
            topic = bed.topic("calm", partitions=1)
            declared.register("calm", topic=topic, **_of("calm"))
            for key in range(1, 4):
                bed.produce(topic, [_message("calm", key)])
                declared.wait_for("calm", has_read(key))

            assert bed.rows("stuck_1_value", "calm_value") == [
                {"id": key, "stuck_1_value": None, "calm_value": f"calm {key}"}
                for key in range(1, 4)
            ]
            for name in stuck:
                assert declared.wait_for(name, is_state(StreamState.RUNNING)).account.records == 0
            server.released.set()
            for name in stuck:
                declared.wait_for(name, has_read(1))
    (first, *_) = bed.rows()
    assert [first[f"{name}_value"] for name in NAMES] == [f"{name} 1" for name in NAMES]


def test_a_stream_has_a_pool_of_its_weight(session: SparkSession) -> None:
    context = session.sparkContext
    use_pool(context, "shop.orders/paid", weight=3)
    use_pool(context, "shop.orders/paid", weight=3)

    root = context._jsc.sc().taskScheduler().rootPool()
    assert root.getSchedulableByName("shop.orders/paid weight 3").weight() == 3


def _of(name: str) -> dict[str, Any]:
    return {
        "columns": [{"column": "id"}, {"column": f"{name}_value"}],
        "sequence_group": name,
    }


def _message(name: str, key: int) -> dict[str, Any]:
    return {"id": key, f"{name}_value": f"{name} {key}"}
