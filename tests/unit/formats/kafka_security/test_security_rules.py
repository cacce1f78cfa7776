"""Options of security: what would be ignored or mean something else is refused, with its name and without secrets."""

from collections.abc import Mapping

import pytest

from braid.formats.kafka_security.security_rules import declared_problems, resolved_problems

SECURITY = "org.apache.kafka.common.security"
HANDLER = f"{SECURITY}.oauthbearer.OAuthBearerLoginCallbackHandler"
SECRET = "s3cret"
PASSWORD_LOGIN = f'username="me" password="{SECRET}";'
PLAIN = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "PLAIN",
    "sasl.jaas.config": f"{SECURITY}.plain.PlainLoginModule required {PASSWORD_LOGIN}",
}
SCRAM = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "SCRAM-SHA-512",
    "sasl.jaas.config": f"{SECURITY}.scram.ScramLoginModule required {PASSWORD_LOGIN}",
}
OAUTH = {
    "security.protocol": "sasl_ssl",
    "sasl.mechanism": "OAUTHBEARER",
    "sasl.login.callback.handler.class": HANDLER,
    "sasl.oauthbearer.token.endpoint.url": "https://login.example/token",
    "sasl.jaas.config": f"{SECURITY}.oauthbearer.OAuthBearerLoginModule required "
    f'clientId="me" clientSecret="{SECRET}" scope="kafka" extension_logicalCluster="lkc-1";',
}
MSK = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "AWS_MSK_IAM",
    "sasl.client.callback.handler.class": "software.amazon.msk.auth.iam.IAMClientCallbackHandler",
    "sasl.jaas.config": "software.amazon.msk.auth.iam.IAMLoginModule required;",
}
MUTUAL = {
    "security.protocol": "SSL",
    "ssl.truststore.type": "PEM",
    "ssl.truststore.location": "/authority.pem",
    "ssl.keystore.type": "PEM",
    "ssl.keystore.key": SECRET,
    "ssl.keystore.certificate.chain": "chain",
    "ssl.key.password": SECRET,
    "ssl.endpoint.identification.algorithm": "",
    "ssl.enabled.protocols": "TLSv1.3,TLSv1.2",
}


def problems_of(options: Mapping[str, str], token_provider: str | None = None) -> list[str]:
    """Return the fields of the problems; checked that none has the secret."""
    found = list(resolved_problems(options, prefix="", token_provider=token_provider))
    assert SECRET not in str(found)
    return [problem.field for problem in found]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"client.id": "braid", "fetch.max.bytes": "1000000"},
        PLAIN,
        SCRAM,
        OAUTH,
        OAUTH | {"sasl.login.read.timeout.ms": "2000", "sasl.login.refresh.window.factor": "0.5"},
        MSK,
        MUTUAL,
        PLAIN | {"ssl.truststore.type": "pem", "ssl.truststore.certificates": "text"},
    ],
)
def test_what_every_client_can_apply_is_accepted(options: dict[str, str]) -> None:
    assert problems_of(options) == []
    assert list(declared_problems(options, prefix="")) == []


@pytest.mark.parametrize(
    ("options", "fields"),
    [
        ({"security.protocol": "TLS"}, ["security.protocol"]),
        ({"sasl.mechanism": "PLAIN"}, ["sasl.mechanism"]),
        ({"ssl.truststore.type": "PEM"}, ["ssl.truststore.type"]),
        ({"sasl.mechansim": "PLAIN"}, ["sasl.mechansim"]),
        (PLAIN | {"sasl.mechanism": "GSSAPI"}, ["sasl.mechanism"]),
        (PLAIN | {"sasl.kerberos.service.name": "kafka"}, ["sasl.kerberos.service.name"]),
        (PLAIN | {"ssl.cipher.suites": "A"}, ["ssl.cipher.suites"]),
        (
            PLAIN | {"sasl.jaas.config": f"x.PlainLoginModule required {SECRET}"},
            ["sasl.jaas.config"],
        ),
        (PLAIN | {"sasl.jaas.config": SCRAM["sasl.jaas.config"]}, ["sasl.jaas.config"]),
        (
            PLAIN | {"sasl.jaas.config": 'x.PlainLoginModule required username="me";'},
            ["sasl.jaas.config"],
        ),
        (
            SCRAM
            | {
                "sasl.jaas.config": f'x.ScramLoginModule required tokenauth="true" {PASSWORD_LOGIN}'
            },
            ["sasl.jaas.config"],
        ),
        (
            {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"},
            ["sasl.jaas.config"],
        ),
        (
            PLAIN | {"sasl.login.callback.handler.class": "a.B"},
            ["sasl.login.callback.handler.class"],
        ),
        (
            OAUTH | {"sasl.login.callback.handler.class": "a.B"},
            ["sasl.login.callback.handler.class"],
        ),
        (
            OAUTH | {"sasl.oauthbearer.token.endpoint.url": "file:///run/token"},
            ["sasl.oauthbearer.token.endpoint.url"],
        ),
        (
            OAUTH | {"sasl.oauthbearer.token.endpoint.url": f"https://me:{SECRET}@login/token"},
            ["sasl.oauthbearer.token.endpoint.url"],
        ),
        (OAUTH | {"sasl.login.read.timeout.ms": "60000"}, ["sasl.login.read.timeout.ms"]),
        (
            OAUTH | {"sasl.oauthbearer.header.urlencode": "yes"},
            ["sasl.oauthbearer.header.urlencode"],
        ),
        (MSK | {"security.protocol": "SASL_PLAINTEXT"}, ["security.protocol"]),
        (
            MSK | {"sasl.jaas.config": 'x.IAMLoginModule required awsProfileName="a";'},
            ["sasl.jaas.config"],
        ),
        (MUTUAL | {"ssl.truststore.type": "JKS"}, ["ssl.truststore.type"]),
        (MUTUAL | {"ssl.truststore.password": SECRET}, ["ssl.truststore.password"]),
        (MUTUAL | {"ssl.keystore.location": "/client.pem"}, ["ssl.keystore.location"]),
        (MUTUAL | {"ssl.enabled.protocols": "TLSv1.1"}, ["ssl.enabled.protocols"]),
        (MUTUAL | {"ssl.protocol": "SSLv3"}, ["ssl.protocol"]),
        (
            MUTUAL | {"ssl.endpoint.identification.algorithm": "LDAPS"},
            ["ssl.endpoint.identification.algorithm"],
        ),
        ({"security.protocol": "SSL", "ssl.key.password": SECRET}, ["ssl.key.password"]),
    ],
)
def test_what_a_client_could_not_apply_is_refused_by_name(
    options: dict[str, str], fields: list[str]
) -> None:
    assert problems_of(options) == fields


def test_a_missing_protocol_is_told_with_each_option_that_it_makes_useless() -> None:
    options = {name: value for name, value in PLAIN.items() if name != "security.protocol"}

    assert problems_of(options) == ["sasl.mechanism", "sasl.jaas.config"]


def test_what_depends_on_a_secret_is_checked_when_the_secret_is_known() -> None:
    whole = PLAIN | {"sasl.jaas.config": "${file:/run/secrets/login}"}
    protocol = PLAIN | {"security.protocol": "${env:PROTOCOL}"}

    assert list(declared_problems(whole, prefix="")) == []
    assert list(declared_problems(protocol, prefix="")) == []
    assert problems_of(whole) == ["sasl.jaas.config"]
    assert problems_of(protocol) == ["security.protocol"]


@pytest.mark.parametrize("name", sorted({*PLAIN, *OAUTH, *MSK, *MUTUAL}))
@pytest.mark.parametrize("options", [PLAIN, OAUTH, MSK, MUTUAL])
def test_no_value_that_may_have_been_a_reference_is_shown(
    options: dict[str, str], name: str
) -> None:
    found = list(resolved_problems(options | {name: f"x-{SECRET}"}, prefix=""))

    assert SECRET not in str(found)


def test_a_value_of_the_operators_file_is_shown() -> None:
    (problem,) = declared_problems({"security.protocol": "TLS"}, prefix="")

    assert problem.value == "TLS"


def test_a_provider_of_tokens_takes_the_place_of_the_endpoint() -> None:
    options = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.jaas.config": "x.OAuthBearerLoginModule required;",
        "sasl.login.callback.handler.class": "com.cloud.Handler",
    }

    assert problems_of(options, "cloud") == []
    assert problems_of(PLAIN, "cloud") == ["sasl.mechanism"]
    assert problems_of({}, "cloud") == ["security.protocol"]
    del options["sasl.login.callback.handler.class"]
    assert problems_of(options, "cloud") == ["sasl.login.callback.handler.class"]
