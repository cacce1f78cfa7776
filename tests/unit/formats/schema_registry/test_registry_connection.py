"""Secrets of a registry are resolved once, and shown nowhere."""

import base64
from pathlib import Path
from typing import Any

import pytest

from braid.formats.schema_registry.named_registry import NamedSchemaRegistry
from braid.formats.schema_registry.registry_connection import connect
from braid.lake import InvalidRequest
from tests.support.registry_server import CERTIFICATE

URLS = ("https://a:1",)


def registry(**fields: Any) -> NamedSchemaRegistry:
    return NamedSchemaRegistry(name="shop", urls=URLS, **fields)


def test_a_login_becomes_a_header(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secret").write_text("pässword:\n")
    monkeypatch.setenv("REGISTRY_USER", "me")

    found = connect(
        registry(username="${env:REGISTRY_USER}", password=f"${{file:{tmp_path / 'secret'}}}")
    )

    assert found.authorization is not None
    scheme, _, value = found.authorization.partition(" ")
    assert (scheme, base64.b64decode(value).decode()) == ("Basic", "me:pässword:")
    assert value not in repr(found)


def test_a_token_becomes_a_header_and_certificates_go_along(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("REGISTRY_TOKEN", "t0ken")

    found = connect(registry(token="${env:REGISTRY_TOKEN}", ca_file=str(CERTIFICATE)))

    assert found.authorization == "Bearer t0ken"
    assert found.certificates == CERTIFICATE.read_text()
    assert connect(registry()).authorization is None


@pytest.mark.parametrize("secret", ["", "two\nlines", "käse"])
def test_a_token_that_no_header_can_have_is_refused_unseen(
    monkeypatch: pytest.MonkeyPatch, secret: str
) -> None:
    monkeypatch.setenv("REGISTRY_TOKEN", secret)

    with pytest.raises(InvalidRequest, match="visible ASCII") as caught:
        connect(registry(token="${env:REGISTRY_TOKEN}"))

    (problem,) = caught.value.problems
    assert (problem.field, problem.value) == (
        "schema_registries.shop.token",
        "${env:REGISTRY_TOKEN}",
    )


def test_what_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BAD_USER", "a:b")
    monkeypatch.setenv("PASSWORD", "x")
    (tmp_path / "empty.pem").touch()
    (tmp_path / "binary.pem").write_bytes(b"\xff")
    (tmp_path / "key.pem").write_text("-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n")

    with pytest.raises(InvalidRequest, match="of the schema registry `shop` cannot be read"):
        connect(registry(token="${env:NOT_SET_ANYWHERE}"))
    with pytest.raises(InvalidRequest, match="a name without `:`"):
        connect(registry(username="${env:BAD_USER}", password="${env:PASSWORD}"))
    for name in ("none.pem", "empty.pem", "binary.pem", "key.pem"):
        with pytest.raises(InvalidRequest, match=f"PEM file.*{name}"):
            connect(registry(ca_file=str(tmp_path / name)))
