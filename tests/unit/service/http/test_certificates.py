"""TLS of a server: versions, wrong files, and renewal while it runs."""

import asyncio
import datetime as dt
import ipaddress
import logging
import ssl
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from braid.lake import InvalidRequest
from braid.service.http.certificates import CertificateFiles, Certificates, _content_of


def write_pair(files: CertificateFiles, serial: int, *, password: bytes | None = None) -> None:
    """Write a new certificate of 127.0.0.1 and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(serial)
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False
        )
        .sign(key, hashes.SHA256())
    )
    protection: serialization.KeySerializationEncryption = serialization.NoEncryption()
    if password is not None:
        protection = serialization.BestAvailableEncryption(password)
    files.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    files.key.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, protection)
    )


@pytest.fixture
def files(tmp_path: Path) -> CertificateFiles:
    found = CertificateFiles(certificate=tmp_path / "tls.pem", key=tmp_path / "tls.key")
    write_pair(found, 7)
    return found


def shaken_hands(context: ssl.SSLContext, version: ssl.TLSVersion | None = None) -> int:
    """Return the serial number of the certificate that a client gets, which speaks no newer version."""
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    if version is not None:
        client.minimum_version = client.maximum_version = version
    sent, answered = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = (
        client.wrap_bio(answered, sent),
        context.wrap_bio(sent, answered, server_side=True),
    )
    for _ in range(5):
        for end in ends:
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
    der = ends[0].getpeercert(binary_form=True)
    assert der is not None
    return x509.load_der_x509_certificate(der).serial_number


def test_connections_get_the_certificate(files: CertificateFiles) -> None:
    assert shaken_hands(Certificates(files).context) == 7
    assert shaken_hands(Certificates(files).context, ssl.TLSVersion.TLSv1_2) == 7


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion:DeprecationWarning")
def test_versions_before_1_2_are_refused(files: CertificateFiles) -> None:
    context = Certificates(files).context

    assert context.minimum_version is ssl.TLSVersion.TLSv1_2
    with pytest.raises(ssl.SSLError):
        shaken_hands(context, ssl.TLSVersion.TLSv1_1)


def test_files_that_are_no_certificate_and_its_key_are_refused(
    files: CertificateFiles, tmp_path: Path
) -> None:
    other = CertificateFiles(certificate=tmp_path / "other.pem", key=tmp_path / "other.key")
    write_pair(other, 8)
    mixed = CertificateFiles(certificate=files.certificate, key=other.key)
    absent = CertificateFiles(certificate=files.certificate, key=tmp_path / "absent")
    write_pair(files, 9, password=b"secret")

    for wrong in (mixed, absent, files):
        with pytest.raises(InvalidRequest, match="are not a certificate and its key"):
            Certificates(wrong)


def test_a_renewed_certificate_is_used_for_new_connections(files: CertificateFiles) -> None:
    certificates = Certificates(files)
    write_pair(files, 8)
    assert shaken_hands(certificates.context) == 7

    certificates.renew(_content_of(files))

    assert shaken_hands(certificates.context) == 8


def test_a_half_of_a_renewal_changes_nothing(
    files: CertificateFiles, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    certificates = Certificates(files)
    other = CertificateFiles(certificate=tmp_path / "other.pem", key=tmp_path / "other.key")
    write_pair(other, 8)
    files.certificate.write_bytes(other.certificate.read_bytes())

    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            certificates.renew(_content_of(files))

    assert shaken_hands(certificates.context) == 7
    assert len(caplog.messages) == 1  # told once, not at each look
    files.key.write_bytes(other.key.read_bytes())
    certificates.renew(_content_of(files))
    assert shaken_hands(certificates.context) == 8


def test_files_that_are_absent_for_a_moment_change_nothing(files: CertificateFiles) -> None:
    certificates = Certificates(files)
    files.key.unlink()

    certificates.renew(_content_of(files))

    assert shaken_hands(certificates.context) == 7


def test_changes_are_followed(files: CertificateFiles) -> None:
    certificates = Certificates(files)
    write_pair(files, 8)

    async def follow() -> None:
        task = asyncio.create_task(certificates.follow(pause_s=0))
        # In this thread, as a server: another one could see a certificate without its key.
        serial = 7
        while serial != 8:
            await asyncio.sleep(0)
            serial = shaken_hands(certificates.context)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(follow())
