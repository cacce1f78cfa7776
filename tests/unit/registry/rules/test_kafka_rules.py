"""A stream cannot set an address, a login, a class or a file over HTTP."""

from dataclasses import replace
from typing import Any

import pytest

from braid.formats.clusters.kafka_clusters import KafkaClusters, NamedCluster
from braid.registry.rules.kafka_rules import check_kafka
from braid.registry.rules.stream_completion import complete_stream
from braid.schemas import FieldProblem
from tests.unit.registry.shop import definition, orders

SHOP = NamedCluster(
    name="shop", bootstrap_servers="a:1,b:2", read=("shop.*",), write=("shop.*.dead-letters",)
)
CLUSTERS = KafkaClusters(by_name={"shop": SHOP}, addresses=("*.lab:9092",))


def problems_of(
    kafka: dict[str, Any], *, clusters: KafkaClusters = CLUSTERS, **stream: Any
) -> list[FieldProblem]:
    fields = {"topic": "shop.sales", "kafka": kafka, **stream}
    spec = complete_stream(orders(), definition(**fields), name="sales")
    return list(check_kafka(spec, clusters))


@pytest.mark.parametrize(
    ("kafka", "clusters"),
    [
        ({"cluster": "shop", "options": {"max.poll.records": "500"}}, CLUSTERS),
        ({"bootstrap_servers": "x.lab:9092"}, CLUSTERS),
        ({}, KafkaClusters()),  # the runner's default
        ({"cluster": "default"}, KafkaClusters()),
    ],
)
def test_named_clusters_and_allowed_addresses_are_fine(
    kafka: dict[str, Any], clusters: KafkaClusters
) -> None:
    assert problems_of(kafka, clusters=clusters) == []


@pytest.mark.parametrize(
    ("kafka", "pointer", "hint"),
    [
        ({"cluster": "bank"}, "/kafka/cluster", "clusters: `shop`"),
        ({}, "/kafka/cluster", "clusters: `shop`"),
        ({"bootstrap_servers": "169.254.169.254:80"}, "/kafka/bootstrap_servers", "`shop`"),
        ({"bootstrap_servers": "b:2,a:1"}, "/kafka/bootstrap_servers", '{"cluster": "shop"}'),
        (
            {"cluster": "shop", "bootstrap_servers": "x.lab:9092"},
            "/kafka/bootstrap_servers",
            "leave the address out",
        ),
    ],
)
def test_addresses_and_unknown_clusters_are_refused_with_the_known_names(
    kafka: dict[str, Any], pointer: str, hint: str
) -> None:
    (problem,) = problems_of(kafka)

    assert problem.pointer == pointer
    assert hint in (problem.hint or "")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("client.id", "leak ${file:/etc/passwd} ${env:HOME}"),
        ("metric.reporters", "x.Y"),
        ("ssl.engine.factory.class", "x.Y"),
        ("sasl.oauthbearer.token.endpoint.url", "file:///etc/passwd"),
        ("sasl.jaas.config", "hunter2"),
        ("bootstrap.servers", "evil:1"),
        ("group.id", "mine"),
        (" ", "x"),
    ],
)
def test_an_option_that_is_not_on_the_list_is_refused_and_its_value_not_repeated(
    name: str, value: str
) -> None:
    (problem,) = problems_of({"cluster": "shop", "options": {name: value}})

    assert problem.pointer == f"/kafka/options/{name}"
    assert problem.value == name
    assert value not in problem.model_dump_json() or value == "x"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max.poll.records", "1"),
        ("fetch.max.bytes", "2147483647"),
        ("default.api.timeout.ms", "1"),
        ("fetch.min.bytes", "${env:HOME}"),
        ("fetch.min.bytes", "9" * 10_000),
        ("fetch.min.bytes", "\u0663"),
    ],
)
def test_an_option_that_is_on_the_list_keeps_its_bounds(name: str, value: str) -> None:
    (problem,) = problems_of({"cluster": "shop", "options": {name: value}})

    assert problem.message.startswith("expected a whole number from ")


def test_topics_that_the_cluster_does_not_allow_are_refused() -> None:
    found = problems_of({"cluster": "shop"}, topic="bank.x", dead_letter_topic="shop.sales2")

    assert [problem.pointer for problem in found] == ["/topic", "/dead_letter_topic"]


@pytest.mark.parametrize(
    ("kafka", "group", "is_fine"),
    [
        ({"cluster": "shop"}, "braid.sales", True),
        ({"cluster": "shop"}, "billing", False),
        ({"bootstrap_servers": "x.lab:9092"}, "braid.sales", True),
        ({"bootstrap_servers": "x.lab:9092"}, "billing", False),
    ],
)
def test_a_position_is_mirrored_only_in_groups_that_operators_allow(
    kafka: dict[str, Any], group: str, is_fine: bool
) -> None:
    found = problems_of(kafka, mirror_consumer_group=group)

    places = [(problem.pointer, problem.value) for problem in found]
    assert places == ([] if is_fine else [("/mirror_consumer_group", "billing")])


def test_groups_of_the_file_replace_those_of_the_default() -> None:
    cluster = replace(SHOP, mirror_groups=("billing",))
    clusters = KafkaClusters(by_name={"shop": cluster})
    of_shop = {"cluster": "shop"}

    assert problems_of(of_shop, clusters=clusters, mirror_consumer_group="billing") == []
    assert problems_of(of_shop, clusters=clusters, mirror_consumer_group="braid.sales") != []
    # Only the runners know this cluster.
    assert problems_of({}, clusters=KafkaClusters(), mirror_consumer_group="billing") == []
