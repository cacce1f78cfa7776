"""The operators' file of Kafka clusters: its fields, and the location of every mistake."""

import re
from pathlib import Path

import pytest

from braid.formats.clusters.clusters_file import SIZE_MAX, load_clusters, parse_clusters
from braid.lake import InvalidRequest
from tests.support.doc_examples import ROOT

GUIDE = ROOT / "docs" / "guides" / "kafka-clusters.md"


def problems_of(text: str) -> list[tuple[str, str | None]]:
    with pytest.raises(InvalidRequest) as caught:
        parse_clusters(text, source="clusters.toml")
    return [(problem.field, problem.value) for problem in caught.value.problems]


def test_a_cluster_has_an_address_and_the_permissions_of_streams() -> None:
    clusters = parse_clusters(
        """
        addresses = ["*.lab:9092"]
        [clusters.shop]
        bootstrap_servers = "a:1,b:2"
        read = ["shop.*"]
        write = ["shop.*.dead"]
        push = ["shop.orders"]
        show_records = ["shop.parcels"]
        mirror_groups = ["lag-*"]
        stream_options = ["max.poll.records"]
        [clusters.shop.options]
        "security.protocol" = "SASL_SSL"
        "sasl.mechanism" = "PLAIN"
        "sasl.jaas.config" = 'x.PlainLoginModule required username="${env:USER}" password="p";'
        """,
        source="clusters.toml",
    )

    shop = clusters.by_name["shop"]
    assert (shop.bootstrap_servers, shop.stream_options) == ("a:1,b:2", ("max.poll.records",))
    assert (shop.may_read("shop.orders"), shop.may_read("bank.orders")) == (True, False)
    assert (shop.may_write("shop.orders.dead"), shop.may_write("shop.orders")) == (True, False)
    assert (shop.may_push("shop.orders"), shop.may_push("shop.parcels")) == (True, False)
    assert clusters.allow_pushes
    assert (shop.may_show("shop.orders"), shop.may_show("shop.parcels")) == (False, True)
    assert clusters.show_records
    assert (shop.may_mirror("lag-orders"), shop.may_mirror("braid.orders")) == (True, False)
    # Not resolved: services read the file as well, and need no secret.
    assert '"${env:USER}"' in shop.options["sasl.jaas.config"]
    assert "USER" not in repr(clusters)
    assert clusters.allows_address("x.lab:9092")


def test_dead_letters_go_to_topics_of_that_name_by_default() -> None:
    clusters = parse_clusters('[clusters.a]\nbootstrap_servers = "a:1"', source="x")
    cluster = clusters.by_name["a"]

    assert cluster.may_write("orders.dead-letters")
    assert not cluster.may_write("orders")
    assert cluster.may_read("orders")
    assert not cluster.may_read("__consumer_offsets")
    assert (cluster.may_mirror("braid.orders"), cluster.may_mirror("orders")) == (True, False)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[clusters.a]\nbootstrap_servers = "a"', [("clusters.a.bootstrap_servers", "a")]),
        ("[clusters.a]", [("clusters.a.bootstrap_servers", None)]),
        ("clusters = 7", [("clusters", "7")]),
        ("[cluster.a]", [("cluster", None)]),
        ("addresses = [7]", [("addresses", "[7]")]),
        ('clusters = {"a b" = 7}', [("clusters.a b", "a b")]),
        ("clusters = {a = 7}", [("clusters.a", "7")]),
    ],
)
def test_an_invalid_cluster_is_reported_with_its_location(
    text: str, expected: list[tuple[str, str | None]]
) -> None:
    assert problems_of(text) == expected


def test_all_mistakes_of_a_cluster_are_reported_at_once_without_secrets() -> None:
    found = problems_of(
        """
        [clusters.a]
        bootstrap_servers = "a:1"
        reed = ["*"]
        write = "x"
        stream_options = ["ssl.engine.factory.class"]
        [clusters.a.options]
        "kafka.client.id" = "x"
        "group.id" = "x"
        "fetch.min.bytes" = 7
        "ssl.key.password" = "hunter2 ${vault:x}"
        """
    )

    assert found == [
        ("clusters.a.reed", None),
        ("clusters.a.write", "x"),
        ("clusters.a.stream_options", "ssl.engine.factory.class"),
        ("clusters.a.options.kafka.client.id", "kafka.client.id"),
        ("clusters.a.options.group.id", "group.id"),
        ("clusters.a.options.fetch.min.bytes", "int"),
        ("clusters.a.options.ssl.key.password", "${vault:x}"),
    ]


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    broken, large = tmp_path / "broken.toml", tmp_path / "large.toml"
    broken.write_bytes(b"\xff")
    large.write_bytes(b"#" * (SIZE_MAX + 1))

    for path, reason in (
        (tmp_path / "none.toml", "No such file"),
        (broken, "not UTF-8"),
        (large, "at most"),
    ):
        with pytest.raises(InvalidRequest, match=f"{path.name}.*{reason}"):
            load_clusters(path)
    with pytest.raises(InvalidRequest, match=r"x: .*line 1, column 1"):
        parse_clusters("=", source="x")


def test_the_files_of_the_guide_can_be_read() -> None:
    texts = re.findall(r"```toml\n(.*?)```", GUIDE.read_text(), re.DOTALL)

    clusters = [parse_clusters(text, source="guide") for text in texts]
    assert [list(found.by_name) for found in clusters] == [
        ["shop"],
        ["plain"],
        ["scram"],
        ["oauth"],
        ["mutual", "texts"],
        ["msk"],
        ["cloud"],
        [],
    ]
    assert [list(found.schema_registries) for found in clusters] == [*[[]] * 7, ["shop", "lab"]]


def test_a_cluster_names_archives_and_a_provider_of_tokens() -> None:
    text = """
        [clusters.cloud]
        bootstrap_servers = "a:1"
        jars = ["/opt/login.jar"]
        token_provider = "cloud"
        [clusters.cloud.options]
        "security.protocol" = "SASL_SSL"
        "sasl.mechanism" = "OAUTHBEARER"
        "sasl.login.callback.handler.class" = "com.cloud.Handler"
        "sasl.jaas.config" = "x.OAuthBearerLoginModule required;"
        [clusters.same]
        bootstrap_servers = "b:1"
        jars = ["/opt/login.jar", "/opt/other.jar"]
        """
    clusters = parse_clusters(text, source="x")

    assert clusters.by_name["cloud"].token_provider == "cloud"
    assert clusters.jars == ("/opt/login.jar", "/opt/other.jar")
    wrong = text.replace('"/opt/other.jar"', '"other.jar"').replace('= "cloud"', '= "a b"')
    assert problems_of(wrong) == [
        ("clusters.cloud.token_provider", "a b"),
        ("clusters.same.jars", "other.jar"),
    ]


def test_an_option_of_security_that_would_be_ignored_is_a_mistake_of_the_file() -> None:
    found = problems_of(
        """
        [clusters.a]
        bootstrap_servers = "a:1"
        [clusters.a.options]
        "security.protocol" = "SSL"
        "ssl.truststore.location" = "/etc/braid/store.jks"
        "ssl.truststore.password" = "s3cret"
        """
    )

    assert found == [
        ("clusters.a.options.ssl.truststore.password", None),
        ("clusters.a.options.ssl.truststore.type", None),
    ]
