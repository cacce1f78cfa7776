"""Tokens of OAUTHBEARER: shared in a process, from an endpoint or an installed provider."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from kafka.errors import SaslAuthenticationFailedError
from kafka.net.sasl.oauth import SaslMechanismOAuth

from braid.formats.kafka_security.token_endpoint import TokenEndpoint
from braid.formats.kafka_security.token_source import IssuedToken, TokenSource
from braid.lake import InvalidRequest, StorageUnavailable
from braid.pipelines.kafka.bearer_tokens import (
    GROUP,
    BearerTokens,
    endpoint_tokens,
    provided_tokens,
)
from braid.pipelines.kafka.cluster import KafkaCluster

PROVIDER = """\
count = 0
def token():
    global count
    count += 1
    return f"cloud-{count}", 900.0
def fails():
    raise OSError("no credentials")
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Install a package with providers; returns what names one of them."""

    def install(entry_point: str) -> None:
        metadata = tmp_path / "acme_tokens-1.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-tokens\nVersion: 1\n")
        (metadata / "entry_points.txt").write_text(f"[{GROUP}]\n{entry_point}\n")
        (tmp_path / "acme_tokens.py").write_text(PROVIDER)
        monkeypatch.syspath_prepend(tmp_path)

    yield install
    provided_tokens.cache_clear()


def test_the_client_sends_token_and_extensions() -> None:
    tokens = BearerTokens(TokenSource(lambda: IssuedToken(text="abc")), {"logicalCluster": "lkc-1"})

    sent = SaslMechanismOAuth(sasl_oauth_token_provider=tokens).auth_bytes()

    assert sent == b"n,,\x01auth=Bearer abc\x01logicalCluster=lkc-1\x01\x01"


def test_an_endpoint_that_gives_no_token_is_a_refused_login_to_the_client() -> None:
    def fail() -> IssuedToken:
        message = "the endpoint answers 500"
        raise StorageUnavailable(message)

    with pytest.raises(SaslAuthenticationFailedError, match="answers 500"):
        BearerTokens(TokenSource(fail), {}).token()


def test_clients_with_one_login_share_a_token_and_others_do_not() -> None:
    one, same, other = (
        endpoint_tokens(TokenEndpoint(url="https://a/t", client_id="me", client_secret=secret))
        for secret in ("s", "s", "rotated")
    )

    assert one is same
    assert one is not other


def test_an_installed_provider_gives_tokens(install: Callable[[str], None]) -> None:
    install("acme = acme_tokens:token")
    cluster = KafkaCluster(
        bootstrap_servers="a:1",
        options={
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.jaas.config": "x.OAuthBearerLoginModule required;",
            "sasl.login.callback.handler.class": "com.cloud.Handler",
        },
        token_provider="acme",
    )

    cluster.check_security(prefix="")
    found = cluster.client_options["sasl_oauth_token_provider"]

    assert (found.token(), found.token()) == ("cloud-1", "cloud-1")


@pytest.mark.parametrize(
    ("entry_point", "expected"),
    [("other = acme_tokens:token", "no installed package"), ("acme = acme_tokens:x", "loaded")],
)
def test_a_provider_that_is_not_there_is_refused(
    install: Callable[[str], None], entry_point: str, expected: str
) -> None:
    install(entry_point)

    with pytest.raises(InvalidRequest, match=expected):
        provided_tokens("acme")


def test_a_provider_without_credentials_is_waited_for(install: Callable[[str], None]) -> None:
    install("acme = acme_tokens:fails")

    with pytest.raises(StorageUnavailable, match="`acme` failed: no credentials"):
        provided_tokens("acme").token()
