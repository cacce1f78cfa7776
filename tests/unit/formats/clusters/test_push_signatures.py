"""Signatures of pushes: digests that other programs compute, and what is refused in the operators' file."""

import base64
import hashlib
import hmac

import pytest

from braid.formats.clusters.clusters_file import parse_clusters
from braid.formats.clusters.push_signatures import PushSignature
from braid.lake import InvalidRequest

# The example in GitHub's documentation of webhooks.
BODY, SECRET = b"Hello, World!", "It's a Secret to Everybody"
SIGNED = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK", SECRET)


def signature(**fields: str) -> PushSignature:
    return PushSignature(topics=("*",), header="x-sign", secret="${env:HOOK}", **fields)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (SIGNED, True),
        (f" {SIGNED} ", True),
        (SIGNED[7:], False),
        (SIGNED[:-1], False),
        ("", False),
        (None, False),
        ("ü", False),
    ],
)
def test_a_documented_signature_is_known(given: str | None, expected: bool) -> None:
    assert signature(prefix="sha256=").is_valid(given, BODY, owner="c") is expected


def test_base64_is_known_too() -> None:
    digest = base64.b64encode(hmac.new(SECRET.encode(), BODY, hashlib.sha256).digest()).decode()

    assert signature(encoding="base64").is_valid(digest, BODY, owner="c")
    assert not signature(encoding="base64").is_valid(digest.lower(), BODY, owner="c")


TABLE = '[clusters.c]\nbootstrap_servers = "k:1"\n[[clusters.c.signatures]]\n'


def test_the_first_signature_for_a_topic_counts() -> None:
    text = TABLE + 'topics = ["a.*"]\nheader = "one"\nsecret = "${env:HOOK}"\n'
    cluster = parse_clusters(text, source="f").by_name["c"]

    assert cluster.signature_of("b") is None
    found = cluster.signature_of("a.b")
    assert found is not None
    assert (found.header, found.prefix, found.encoding) == ("one", "", "hex")


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ('header = "h"\nsecret = "${env:A}"', "topics"),
        ('topics = []\nheader = "h"\nsecret = "${env:A}"', "topics"),
        ('topics = ["t"]\nheader = "X-H"\nsecret = "${env:A}"', "header"),
        ('topics = ["t"]\nheader = "h"\nsecret = "plain"', "secret"),
        ('topics = ["t"]\nheader = "h"\nsecret = "${env:A}"\nencoding = "md5"', "encoding"),
        ('topics = ["t"]\nheader = "h"\nsecret = "${env:A}"\nprefix = 1', "prefix"),
        ('topics = ["t"]\nheader = "h"\nsecret = "${env:A}"\nother = 1', "other"),
    ],
)
def test_what_is_wrong_is_told_without_secrets(fields: str, field: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        parse_clusters(TABLE + fields, source="f")

    [problem] = refused.value.problems
    assert problem.field == f"clusters.c.signatures.0.{field}"
    assert "plain" not in str(refused.value)
