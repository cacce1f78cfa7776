"""TLS contexts of clients, from PEM certificates and keys in files or texts."""

import re
import ssl
import tempfile
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from braid.lake import InvalidRequest, Problem

_VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_BLOCK: Final = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----([^-]*)-----END \1-----")
_BYTES_MAX: Final = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsSettings:
    """How a client encrypts, whom it trusts, and who it is.

    Attributes:
        authorities_file: Certificates that sign the brokers', a PEM file; None: see `authorities`.
        authorities: The same certificates as a text; None together with no file: those of the system.
        identity_file: Key and certificates of the client, a PEM file; None: see `key`.
        key: The client's key as a text; None together with no file: the client shows no certificate.
        certificate_chain: The client's certificates as a text, with `key`.
        key_password: Password of the client's key; None: the key is not encrypted.
        checks_host: Whether a broker's certificate has to have the broker's host name.
        version_min: Lowest version, `TLSv1.2` or `TLSv1.3`.
        version_max: Highest version, the same.
    """

    authorities_file: str | None = None
    authorities: str | None = field(default=None, repr=False)
    identity_file: str | None = None
    key: str | None = field(default=None, repr=False)
    certificate_chain: str | None = field(default=None, repr=False)
    key_password: str | None = field(default=None, repr=False)
    checks_host: bool = True
    version_min: str = "TLSv1.2"
    version_max: str = "TLSv1.3"


def build_tls_context(settings: TlsSettings, *, prefix: str = "") -> ssl.SSLContext:
    """Return the context of a client.

    Args:
        settings: Its files are read now.
        prefix: What stands before an option's name in the problems' fields.

    Raises:
        InvalidRequest: A file cannot be read, or is no PEM of the kind, or the password is another one; the
            message names the option, without any secret.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = settings.checks_host
    context.minimum_version = _VERSIONS[settings.version_min]
    context.maximum_version = _VERSIONS[settings.version_max]
    _trust(context, settings, prefix)
    if settings.identity_file is not None:
        found = _read(settings.identity_file, f"{prefix}ssl.keystore.location")
        _identify(context, found, settings, f"{prefix}ssl.keystore.location")
    elif settings.key is not None:
        found = f"{settings.key}\n{settings.certificate_chain}"
        _identify(context, found, settings, f"{prefix}ssl.keystore.key")
    return context


def _trust(context: ssl.SSLContext, settings: TlsSettings, prefix: str) -> None:
    field_name, found = f"{prefix}ssl.truststore.certificates", settings.authorities
    if settings.authorities_file is not None:
        field_name = f"{prefix}ssl.truststore.location"
        found = _read(settings.authorities_file, field_name)
    if found is None:
        context.load_default_certs()
        return
    certificates = _blocks(found, lambda kind: kind == "CERTIFICATE")
    try:
        context.load_verify_locations(cadata=certificates)
    except (OSError, ValueError) as error:  # an empty text is a ValueError
        raise _unusable(field_name, "certificates as PEM") from error


def _identify(context: ssl.SSLContext, text: str, settings: TlsSettings, field_name: str) -> None:
    password = settings.key_password
    # Python reads keys from files only. This one is readable for this process's user alone, and gone at once.
    with tempfile.NamedTemporaryFile("w", encoding="ascii", prefix="braid-", suffix=".pem") as file:
        try:
            file.write(_blocks(text, lambda _: True))
            file.flush()
            # Without a password OpenSSL would ask for one at the terminal.
            context.load_cert_chain(file.name, password="" if password is None else password)
        except (OSError, ValueError) as error:
            expected = "a key (PKCS #8) and its certificate as PEM, and the key's password"
            raise _unusable(field_name, expected) from error


def _read(path: str, field_name: str) -> str:
    try:
        with Path(path).open("rb") as file:
            data = file.read(_BYTES_MAX + 1)
    except OSError as error:
        raise _unusable(field_name, f"a readable file: {error.strerror}") from error
    if len(data) > _BYTES_MAX:
        raise _unusable(field_name, f"a file of at most {_BYTES_MAX} bytes")
    return data.decode("ascii", errors="replace")


def _blocks(text: str, wanted: Callable[[str], bool]) -> str:
    """Return the PEM blocks of a text, with the lines that OpenSSL expects; Java reads one line as well."""
    found = []
    for kind, body in _BLOCK.findall(text):
        if wanted(kind):
            lines = textwrap.fill("".join(body.split()), 64)
            found.append(f"-----BEGIN {kind}-----\n{lines}\n-----END {kind}-----\n")
    return "".join(found)


def _unusable(field_name: str, expected: str) -> InvalidRequest:
    problem = Problem(
        field=field_name,
        value=None,  # even the name of a file may have been a reference
        message=f"expected {expected}",
        hint="correct the option, or the file that it names",
    )
    message = "a certificate or key of the Kafka cluster cannot be used"
    return InvalidRequest(message, problems=[problem])
