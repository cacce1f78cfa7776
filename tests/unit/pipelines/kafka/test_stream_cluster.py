"""The cluster and the login of a stream, from the operators' file at its start."""

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from braid.formats.clusters.kafka_clusters import KafkaClusters, NamedCluster
from braid.lake import InvalidRequest
from braid.pipelines.kafka.stream_cluster import resolve_cluster
from braid.schemas import StreamSpec

SHOP = NamedCluster(
    name="shop", bootstrap_servers="a:1,b:2", options={"client.id": "braid"}, read=("shop.*",)
)
CLUSTERS = KafkaClusters(by_name={"shop": SHOP}, addresses=("*.lab:9092",))


def stream(**fields: Any) -> StreamSpec:
    return StreamSpec.model_validate(
        {
            "name": "sales",
            "topic": "shop.sales",
            "dead_letter_topic": "shop.sales.dead-letters",
            "columns": [{"column": "id"}],
            **fields,
        }
    )


def test_a_named_cluster_gives_address_and_login_and_the_stream_its_own_options() -> None:
    options = {"max.poll.records": "500"}

    found = resolve_cluster(stream(kafka={"cluster": "shop", "options": options}), CLUSTERS)

    assert found.bootstrap_servers == "a:1,b:2"
    assert found.options == {"client.id": "braid", "max.poll.records": "500"}


def test_a_stored_address_that_the_file_lists_runs_on_with_the_login_of_the_file(
    caplog: pytest.LogCaptureFixture,
) -> None:
    kafka = {"bootstrap_servers": "b:2,a:1", "options": {"client.id": "${file:/etc/passwd}"}}

    with caplog.at_level(logging.WARNING):
        found = resolve_cluster(stream(kafka=kafka), CLUSTERS)

    assert found.options == {"client.id": "braid"}
    assert "option='client.id'" in caplog.text


def test_an_allowed_address_gets_no_login() -> None:
    kafka = {"bootstrap_servers": "x.lab:9092", "options": {"client.id": "${env:HOME}"}}

    found = resolve_cluster(stream(kafka=kafka), CLUSTERS)

    assert (found.bootstrap_servers, found.options) == ("x.lab:9092", {})


@pytest.mark.parametrize(
    ("fields", "field", "hint"),
    [
        ({"kafka": {"bootstrap_servers": "evil:1"}}, "kafka.bootstrap_servers", '"evil:1"'),
        ({"kafka": {"cluster": "bank"}}, "kafka.cluster", "[clusters.bank]"),
        ({}, "kafka.cluster", "--kafka host:port"),
        (
            {"kafka": {"cluster": "shop"}, "mirror_consumer_group": "billing"},
            "mirror_consumer_group",
            "`mirror_groups` of [clusters.shop]",
        ),
        (
            {"kafka": {"bootstrap_servers": "x.lab:9092"}, "mirror_consumer_group": "billing"},
            "mirror_consumer_group",
            "`mirror_groups`",
        ),
        ({"kafka": {"cluster": "shop"}, "topic": "bank.x"}, "topic", "`read`"),
        (
            {"kafka": {"cluster": "shop"}, "dead_letter_topic": "shop.x"},
            "dead_letter_topic",
            "`write`",
        ),
    ],
)
def test_an_entry_that_the_file_lacks_stops_the_stream_and_is_named(
    fields: dict[str, Any], field: str, hint: str
) -> None:
    with pytest.raises(InvalidRequest, match="cannot read from Kafka") as caught:
        resolve_cluster(stream(**fields), CLUSTERS)

    (problem,) = caught.value.problems
    assert problem.field == field
    assert hint in (problem.hint or "")


def test_a_secret_in_a_login_may_have_any_characters(tmp_path: Path) -> None:
    (tmp_path / "password").write_text('a"b\\c;\n')
    shop = replace(
        SHOP,
        options={
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": "x.PlainLoginModule required username=me "
            f'password="${{file:{tmp_path}/password}}";',
        },
    )

    found = resolve_cluster(
        stream(kafka={"cluster": "shop"}), KafkaClusters(by_name={"shop": shop})
    )

    assert found.client_options["sasl_plain_password"] == 'a"b\\c;'
    assert found.spark_options["kafka.sasl.jaas.config"] == (
        'x.PlainLoginModule required username="me" password="a\\"b\\\\c;";'
    )


def test_a_login_may_be_one_secret_as_a_whole(tmp_path: Path) -> None:
    login = 'x.PlainLoginModule required username="me" password="p\\"q";'
    (tmp_path / "login").write_text(login)
    shop = replace(
        SHOP,
        options={
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": f"${{file:{tmp_path}/login}}",
        },
    )
    clusters = KafkaClusters(by_name={"shop": shop})

    found = resolve_cluster(stream(kafka={"cluster": "shop"}), clusters)

    assert found.client_options["sasl_plain_password"] == 'p"q'
    (tmp_path / "login").write_text("s3cret without a module")
    with pytest.raises(
        InvalidRequest, match=r"clusters\.shop\.options\.sasl\.jaas\.config"
    ) as caught:
        resolve_cluster(stream(kafka={"cluster": "shop"}), clusters)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    "login", ["${file:/not/there}", 'x.PlainLoginModule required password="${file:/not/there}";']
)
def test_the_cluster_of_a_secret_that_cannot_be_read_is_named(login: str) -> None:
    shop = replace(SHOP, options={"sasl.jaas.config": login})
    clusters = KafkaClusters(by_name={"shop": shop})

    with pytest.raises(InvalidRequest, match="a secret of the Kafka cluster `shop` cannot be read"):
        resolve_cluster(stream(kafka={"cluster": "shop"}), clusters)
