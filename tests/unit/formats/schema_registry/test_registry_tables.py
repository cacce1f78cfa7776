"""Tables of schema registries in the operators' file, and the location of every mistake."""

import pytest

from braid.formats.clusters.clusters_file import parse_clusters
from braid.formats.schema_registry.named_registry import NamedSchemaRegistry
from braid.lake import InvalidRequest


def problems_of(fields: str) -> list[tuple[str, str | None]]:
    with pytest.raises(InvalidRequest) as caught:
        parse_clusters(f"[schema_registries.a]\n{fields}", source="clusters.toml")
    assert "hunter2" not in str(caught.value)
    return [
        (problem.field.removeprefix("schema_registries.a."), problem.value)
        for problem in caught.value.problems
    ]


def test_a_registry_has_addresses_a_login_and_topics() -> None:
    found = parse_clusters(
        """
        [schema_registries.shop]
        url = ["https://r-1:8081/", "http://[::1]:8081/apis/ccompat/v7"]
        username = "braid"
        password = "${file:/run/secrets/registry}"
        ca_file = "/etc/ca.pem"
        timeout_ms = 500
        topics = ["shop.*"]
        [schema_registries.lab]
        url = "http://lab"
        token = "${env:TOKEN}"
        """,
        source="x",
    ).schema_registries

    assert found["shop"] == NamedSchemaRegistry(
        name="shop",
        urls=("https://r-1:8081", "http://[::1]:8081/apis/ccompat/v7"),
        username="braid",
        # Not resolved: services read the file as well, and need no secret.
        password="${file:/run/secrets/registry}",
        ca_file="/etc/ca.pem",
        timeout_ms=500,
        topics=("shop.*",),
    )
    assert found["lab"].urls == ("http://lab",)
    assert (found["shop"].may_serve("shop.x"), found["shop"].may_serve("bank.x")) == (True, False)
    assert found["lab"].may_serve("anything")
    assert "secrets" not in repr(found)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ("", [("url", None)]),
        ("url = []", [("url", None)]),
        ('url = "a:8081"', [("url", "a:8081")]),
        ('url = "ftp://a"', [("url", "ftp://a")]),
        ('url = ["http://a?x=1", "http://"]', [("url", "http://a..."), ("url", "http://")]),
        ('url = "http://a#hunter2"', [("url", "http://a...")]),
        ('url = "http://a%40hunter2"', [("url", "http://a...")]),
        ('url = [{ url = "http://me:hunter2@a" }]', [("url", "dict")]),
        ('url = "http://a:99999"', [("url", "http://a:99999")]),
        ('url = "http://a:0"', [("url", "http://a:0")]),
        ('url = "http://a b"', [("url", "http://a b")]),
        ('url = "http://me:hunter2@a"', [("url", None)]),
        ("url = 7", [("url", "int")]),
    ],
)
def test_an_address_is_one_of_http(fields: str, expected: list[tuple[str, str | None]]) -> None:
    assert problems_of(fields) == expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ('username = "me"\npassword = "hunter2"', [("password", None)]),
        ('token = "hunter2"', [("token", None)]),
        ("token = 7", [("token", None)]),
        ('token = "x${env:A}"', [("token", None)]),
        ('username = "me"', [("password", None)]),
        ('password = "${env:A}"', [("username", None)]),
        ('username = 7\npassword = "${env:A}"', [("username", "int")]),
        ('username = "${vault:x}"\npassword = "${env:A}"', [("username", "${vault:x}")]),
        ('username = "a"\npassword = "${env:A}"\ntoken = "${env:B}"', [("token", None)]),
        ('ca_file = "ca.pem"', [("ca_file", "ca.pem")]),
        ("timeout_ms = 5", [("timeout_ms", "5")]),
        ("timeout_ms = true", [("timeout_ms", "True")]),
        ('topics = "shop.*"', [("topics", "shop.*")]),
        ("pasword = 1", [("pasword", None)]),
    ],
)
def test_secrets_are_references_and_mistakes_do_not_show_them(
    fields: str, expected: list[tuple[str, str | None]]
) -> None:
    assert problems_of(f'url = "http://a"\n{fields}') == expected
