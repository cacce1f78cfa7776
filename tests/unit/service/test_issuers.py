"""The operators' file of issuers."""

from pathlib import Path

import pytest

from braid.lake import InvalidRequest
from braid.service.issuers import load_issuers, parse_issuers
from tests.unit.service.access.issued import FILE


def test_a_file_declares_issuers(tmp_path: Path) -> None:
    path = tmp_path / "issuers.toml"
    path.write_text(FILE)

    (issuer,) = load_issuers(path)

    assert issuer.name == "login"
    assert issuer.jwks == str(tmp_path / "keys.json")
    assert issuer.algorithms == ("RS256", "ES256")
    assert [str(grant) for grant in issuer.grants] == [
        "read:shop.*",
        "admin:*",
        "write:shop.orders",
    ]


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ('"RS256"', '"HS256"', "algorithms"),
        ('"RS256"', '"none"', "algorithms"),
        ('"keys.json"', '"http://login.example/keys"', "https://"),
        ('"keys.json"', '"ftp://login.example/keys"', "https://"),
        ('audience = "braid"', "", "audience"),
        ('name = "login"', 'name = "a/b"', "name"),
        ('"read"', '"reed"', "scope"),
        ('"shop.*"', '"shop"', "database.table"),
        ("[[issuers]]", "[[issuers]]\nsecret = 7", "secret"),
        ("[[issuers]]", "[[issuers]]\nclock_skew_seconds = 301", "clock_skew_seconds"),
        ("[[issuers]]", "[[issuers", "issuers.toml"),
    ],
)
def test_another_file_is_refused(old: str, new: str, found: str) -> None:
    text = FILE.replace('jwks = "keys.json"', 'jwks = "keys.json"\nalgorithms = ["RS256"]')

    with pytest.raises(InvalidRequest, match=found):
        parse_issuers(text.replace(old, new, 1).encode(), source="issuers.toml")


@pytest.mark.parametrize("data", [b"", b"\xff", b"issuers = []", b"issuers = 7"])
def test_a_file_without_issuers_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidRequest):
        parse_issuers(data, source="issuers.toml")


def test_two_issuers_are_told_apart() -> None:
    with pytest.raises(InvalidRequest, match="the same `name`"):
        parse_issuers((FILE + FILE).encode(), source="issuers.toml")


def test_a_missing_or_huge_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="cannot be read"):
        load_issuers(tmp_path / "absent")
    (tmp_path / "huge").write_bytes(b" " * (1 << 21))
    with pytest.raises(InvalidRequest, match="at most"):
        load_issuers(tmp_path / "huge")
