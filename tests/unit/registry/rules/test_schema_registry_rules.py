"""A stream names a schema registry that operators have declared, and that its topic may use."""

from typing import Any

import pytest

from braid.formats.clusters.kafka_clusters import KafkaClusters
from braid.formats.schema_registry.named_registry import NamedSchemaRegistry
from braid.registry.rules.schema_registry_rules import check_schema_registry
from braid.registry.rules.stream_completion import complete_stream
from braid.schemas import FieldProblem
from tests.unit.registry.shop import definition, orders

SHOP = NamedSchemaRegistry(name="shop", urls=("http://a",), topics=("shop.*",))
CLUSTERS = KafkaClusters(schema_registries={"shop": SHOP})


def problems_of(
    format_: Any, *, topic: str = "shop.sales", clusters: KafkaClusters = CLUSTERS
) -> list[FieldProblem]:
    spec = complete_stream(orders(), definition(topic=topic, format=format_), name="sales")
    return list(check_schema_registry(spec, clusters))


@pytest.mark.parametrize("format_", ["json", {"type": "json", "schema_registry": "shop"}])
def test_a_declared_registry_and_none_are_fine(format_: Any) -> None:
    assert problems_of(format_) == []


def test_an_unknown_registry_is_refused_with_the_known_names() -> None:
    unknown = {"type": "json", "schema_registry": "bank"}

    (problem,) = problems_of(unknown)
    (alone,) = problems_of(unknown, clusters=KafkaClusters())

    assert (problem.pointer, problem.value) == ("/format/schema_registry", "bank")
    assert "schema registries: `shop`" in (problem.hint or "")
    assert "--clusters" in (alone.hint or "")


def test_the_registry_of_keys_has_the_same_rules() -> None:
    columns = [{"column": name, "source": "key"} for name in ("id", "region")]
    key_format = {"type": "json", "schema_registry": "bank"}
    given = definition(topic="shop.sales", columns=columns, key_format=key_format)
    spec = complete_stream(orders(), given, name="sales")

    (problem,) = check_schema_registry(spec, CLUSTERS)

    assert (problem.pointer, problem.value) == ("/key_format/schema_registry", "bank")


def test_a_registry_of_other_topics_is_refused() -> None:
    (problem,) = problems_of({"type": "json", "schema_registry": "shop"}, topic="bank.x")

    assert problem.pointer == "/format/schema_registry"
    assert "`shop.*`" in (problem.hint or "")
