"""Clusters by name and by address."""

import pytest

from braid.formats.clusters.kafka_clusters import KafkaClusters, NamedCluster
from braid.lake import InvalidRequest

CLUSTERS = KafkaClusters(
    by_name={"shop": NamedCluster(name="shop", bootstrap_servers="a:1,b:2")},
    addresses=("*.lab:9092",),
)


def test_a_cluster_is_found_by_its_servers_in_any_order() -> None:
    found = CLUSTERS.at("b:2,a:1")

    assert found is not None
    assert found.name == "shop"
    assert CLUSTERS.at("a:1") is None


def test_an_address_is_allowed_when_each_of_its_servers_is() -> None:
    assert CLUSTERS.allows_address("x.lab:9092,y.lab:9092")
    assert not CLUSTERS.allows_address("x.lab:9092,evil:9092")
    assert not KafkaClusters().allows_address("x.lab:9092")


def test_the_default_cluster_is_given_once() -> None:
    clusters = CLUSTERS.with_default("c:3")

    assert clusters.by_name["default"].bootstrap_servers == "c:3"
    with pytest.raises(InvalidRequest, match="`default` already"):
        clusters.with_default("d:4")
