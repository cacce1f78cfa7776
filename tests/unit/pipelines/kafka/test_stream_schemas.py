"""The schema registry of a stream, from the operators' file at its start."""

from typing import Any

import pytest

from braid.formats.clusters.kafka_clusters import KafkaClusters
from braid.formats.schema_registry.named_registry import NamedSchemaRegistry
from braid.formats.schema_registry.registry_schemas import RegistrySchemas
from braid.lake import InvalidRequest
from braid.pipelines.kafka.stream_schemas import resolve_schemas
from braid.schemas import StreamSpec

SHOP = NamedSchemaRegistry(
    name="shop", urls=("http://a",), token="${env:REGISTRY_TOKEN}", topics=("shop.*",)
)
CLUSTERS = KafkaClusters(schema_registries={"shop": SHOP})


def stream(registry: str | None, *, topic: str = "shop.sales") -> StreamSpec:
    fields: dict[str, Any] = {
        "name": "sales",
        "topic": topic,
        "dead_letter_topic": f"{topic}.dead-letters",
        "columns": [{"column": "id"}],
        "format": {"type": "json", "schema_registry": registry},
    }
    return StreamSpec.model_validate(fields)


def test_the_registry_of_the_file_comes_with_its_login(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGISTRY_TOKEN", "s3cret")

    found = resolve_schemas(stream("shop"), CLUSTERS)

    assert isinstance(found, RegistrySchemas)
    assert found.connection.authorization == "Bearer s3cret"
    assert resolve_schemas(stream(None), KafkaClusters()) is None


@pytest.mark.parametrize(
    ("spec", "hint"),
    [
        (stream("bank"), "[schema_registries.bank]"),
        (stream("shop", topic="bank.x"), "`topics` of [schema_registries.shop]"),
    ],
)
def test_an_entry_that_the_file_lacks_stops_the_stream_and_is_named(
    spec: StreamSpec, hint: str
) -> None:
    with pytest.raises(InvalidRequest, match="cannot read its schemas") as caught:
        resolve_schemas(spec, CLUSTERS)

    (problem,) = caught.value.problems
    assert problem.field == "format.schema_registry"
    assert hint in (problem.hint or "")


def test_a_secret_that_is_not_there_stops_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REGISTRY_TOKEN", raising=False)

    with pytest.raises(InvalidRequest, match="schema registry `shop` cannot be read"):
        resolve_schemas(stream("shop"), CLUSTERS)
