"""TLS of a server: its certificate and key, read again when their files change.

Certificates are valid for some weeks, and a server runs for longer.
"""

import asyncio
import logging
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from braid.lake import InvalidRequest

LOOK_SECONDS: Final = 60.0
"""Pause between two looks at the files."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateFiles:
    """The files of a server's certificate, PEM.

    Attributes:
        certificate: The certificate, and those between it and the authority's.
        key: Its private key, without a password.
    """

    certificate: Path
    key: Path


_Content = tuple[bytes, bytes]


class Certificates:
    """The TLS context of a server, for TLS 1.2 and newer."""

    def __init__(self, files: CertificateFiles) -> None:
        """Read the files.

        Raises:
            InvalidRequest: They cannot be read, or are not a certificate with its key.
        """
        self._files = files
        self._content = _content_of(files)
        self.context: Final = _loaded(files)

    async def follow(self, pause_s: float = LOOK_SECONDS) -> None:
        """Read the files again whenever they have changed, until this coroutine is cancelled."""
        while True:
            await asyncio.sleep(pause_s)
            self.renew(await asyncio.to_thread(_content_of, self._files))

    def renew(self, content: _Content | None) -> None:
        """Use the files for new connections if their content has changed; files that are not valid change nothing.

        Args:
            content: Their content; None: they cannot be read.

        Requires:
            The thread is that of the server, in which no connection begins meanwhile.
        """
        if content in (None, self._content):
            return
        self._content = content
        try:
            _loaded(
                self._files
            )  # in a context of its own: one half of the new files must not be in use
            self.context.load_cert_chain(self._files.certificate, self._files.key)
        except (InvalidRequest, OSError) as error:
            logger.warning("the new certificate is not used: %s", str(error).splitlines()[0])
            return
        logger.info("the certificate has changed and is used from now on")


def _content_of(files: CertificateFiles) -> _Content | None:
    """Return the content of the files; None if they cannot be read, as while they are replaced."""
    try:
        return files.certificate.read_bytes(), files.key.read_bytes()
    except OSError:
        return None


def _loaded(files: CertificateFiles) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        # The password is a text, so that no terminal is asked for one.
        context.load_cert_chain(files.certificate, files.key, password="")
    except (OSError, ValueError) as error:  # an `SSLError` is an `OSError`
        message = (
            f"{files.certificate} and {files.key} are not a certificate and its key: {error}\n"
            "hint: both are PEM files; the key has no password"
        )
        raise InvalidRequest(message) from error
    return context
