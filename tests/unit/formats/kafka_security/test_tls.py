"""TLS contexts: PEM in files and in texts, and what is no PEM."""

import ssl
from pathlib import Path
from typing import Any

import pytest

from braid.formats.kafka_security.tls import TlsSettings, build_tls_context
from braid.lake import InvalidRequest
from tests.support.doc_examples import ROOT

TLS = ROOT / "tests" / "support" / "kafka_tls"
AUTHORITY = (TLS / "authority.pem").read_text()
CLIENT = (TLS / "client.pem").read_text()
KEY = CLIENT[: CLIENT.index("-----BEGIN CERTIFICATE")]
CHAIN = CLIENT[len(KEY) :]
PASSWORD = 'key pass"word'


def handshake(client: ssl.SSLContext, *, host: str = "127.0.0.1") -> dict[str, Any] | None:
    """Shake hands with a server that asks for a certificate, in memory; return the client's certificate."""
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(TLS / "broker.pem")
    server.load_verify_locations(TLS / "authority.pem")
    server.verify_mode = ssl.CERT_REQUIRED
    up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        client.wrap_bio(down, up, server_hostname=host),
        server.wrap_bio(up, down, server_side=True),
    ]
    for _ in range(8):
        for end in ends:
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
    return ends[1].getpeercert()


@pytest.mark.parametrize(
    "settings",
    [
        TlsSettings(
            authorities_file=str(TLS / "authority.pem"),
            identity_file=str(TLS / "client.pem"),
            key_password=PASSWORD,
        ),
        TlsSettings(authorities=AUTHORITY, key=KEY, certificate_chain=CHAIN, key_password=PASSWORD),
        # Java reads PEM on one line as well.
        TlsSettings(
            authorities=AUTHORITY.replace("\n", " "),
            key=KEY.replace("\n", " "),
            certificate_chain=CHAIN.replace("\n", " "),
            key_password=PASSWORD,
            version_max="TLSv1.2",
        ),
    ],
    ids=["files", "texts", "one line"],
)
def test_a_client_shows_its_certificate_and_trusts_the_authority(settings: TlsSettings) -> None:
    found = handshake(build_tls_context(settings))

    assert found is not None
    assert found["subject"] == ((("commonName", "client"),),)
    assert PASSWORD not in repr(settings)


@pytest.mark.parametrize("checks_host", [True, False])
def test_a_host_that_the_certificate_does_not_name_is_refused_unless_declared(
    checks_host: bool,
) -> None:
    settings = TlsSettings(
        authorities=AUTHORITY,
        key=KEY,
        certificate_chain=CHAIN,
        key_password=PASSWORD,
        checks_host=checks_host,
    )
    context = build_tls_context(settings)

    if checks_host:
        with pytest.raises(ssl.SSLCertVerificationError, match="not valid for"):
            handshake(context, host="other.example")
    else:
        assert handshake(context, host="other.example")


def test_without_authorities_those_of_the_system_are_trusted() -> None:
    with pytest.raises(ssl.SSLCertVerificationError, match="certificate verify failed"):
        handshake(build_tls_context(TlsSettings()))


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        (TlsSettings(authorities_file="/nowhere.pem"), "ssl.truststore.location"),
        (TlsSettings(identity_file="/s3cret"), "ssl.keystore.location"),
        (TlsSettings(authorities_file="/dev/zero"), "ssl.truststore.location"),
        (TlsSettings(authorities="s3cret"), "ssl.truststore.certificates"),
        (TlsSettings(identity_file=str(TLS / "client.pem")), "ssl.keystore.location"),
        (
            TlsSettings(identity_file=str(TLS / "client.pem"), key_password="s3cret"),
            "ssl.keystore.location",
        ),
        (TlsSettings(identity_file=str(TLS / "authority.pem")), "ssl.keystore.location"),
        (TlsSettings(key="s3cret", certificate_chain=CHAIN), "ssl.keystore.key"),
    ],
)
def test_what_cannot_be_used_is_named_by_its_option(settings: TlsSettings, field: str) -> None:
    with pytest.raises(InvalidRequest, match="cannot be used") as caught:
        build_tls_context(settings, prefix="clusters.a.")

    (problem,) = caught.value.problems
    assert problem.field == f"clusters.a.{field}"
    assert "s3cret" not in str(caught.value)


def test_no_key_stays_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    build_tls_context(TlsSettings(key=KEY, certificate_chain=CHAIN, key_password=PASSWORD))

    assert list(tmp_path.iterdir()) == []
