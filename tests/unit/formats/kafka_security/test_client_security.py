"""What a cluster's options mean to any client."""

import pytest

from braid.formats.kafka_security.client_security import (
    ClientSecurity,
    PasswordLogin,
    TokenLogin,
    plan_security,
)
from braid.formats.kafka_security.tls import TlsSettings
from braid.formats.kafka_security.token_endpoint import TokenEndpoint
from braid.lake import InvalidRequest
from tests.unit.formats.kafka_security.test_security_rules import MSK, MUTUAL, OAUTH, PLAIN, SCRAM


def test_no_options_are_no_security() -> None:
    assert plan_security({}) == ClientSecurity(protocol="PLAINTEXT")


def test_a_password_is_of_plain_and_scram() -> None:
    login = PasswordLogin(username="me", password="s3cret")

    assert plan_security(PLAIN) == ClientSecurity(
        protocol="SASL_SSL", mechanism="PLAIN", login=login, tls=TlsSettings()
    )
    assert plan_security(SCRAM) == ClientSecurity(
        protocol="SASL_PLAINTEXT", mechanism="SCRAM-SHA-512", login=login
    )
    assert "s3cret" not in repr(plan_security(PLAIN))


def test_a_token_comes_from_the_endpoint_with_its_extensions() -> None:
    found = plan_security(OAUTH | {"sasl.login.read.timeout.ms": "5000"})

    endpoint = TokenEndpoint(
        url="https://login.example/token",
        client_id="me",
        client_secret="s3cret",
        scope="kafka",
        timeout_ms=5_000,
    )
    assert found.login == TokenLogin(endpoint=endpoint, extensions={"logicalCluster": "lkc-1"})
    assert (found.name, found.tls) == ("SASL_SSL with OAUTHBEARER", TlsSettings())
    assert "s3cret" not in repr(found)


def test_a_login_of_oauth_is_url_encoded_where_declared() -> None:
    jaas = OAUTH["sasl.jaas.config"].replace("s3cret", "a+b c")
    options = OAUTH | {"sasl.jaas.config": jaas, "sasl.oauthbearer.header.urlencode": "true"}

    login = plan_security(options).login

    assert isinstance(login, TokenLogin)
    assert login.endpoint is not None
    assert login.endpoint.client_secret == "a%2Bb+c"


def test_a_login_of_the_machine_has_no_secret() -> None:
    assert plan_security(MSK).login is None


def test_certificates_and_versions_are_of_tls() -> None:
    assert plan_security(MUTUAL).tls == TlsSettings(
        authorities_file="/authority.pem",
        key="s3cret",
        certificate_chain="chain",
        key_password="s3cret",
        checks_host=False,
    )
    tls = plan_security(MUTUAL | {"ssl.enabled.protocols": "TLSv1.3"}).tls
    assert tls is not None
    assert (tls.version_min, tls.version_max) == ("TLSv1.3", "TLSv1.3")


def test_options_with_problems_have_no_meaning() -> None:
    with pytest.raises(InvalidRequest, match="cannot be applied") as caught:
        plan_security({"sasl.mechanism": "PLAIN"}, prefix="clusters.a.options.")

    assert caught.value.problems[0].field == "clusters.a.options.sasl.mechanism"
