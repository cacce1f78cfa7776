"""A hostile connection to a port of this machine, and the answers that its client gets."""

import asyncio
import io
import socket
import struct
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPResponse
from typing import Final

from tests.support.hostile.connections import Ending, HostileConnection

_SECONDS: Final = 40.0
"""The longest time until the service closes a connection: longer than all of its bounds for one together."""

_UNREAD_SECONDS: Final = 1.0
_RESET: Final = struct.pack("ii", 1, 0)  # closing sends a reset, whatever has not been read


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer of the service.

    Attributes:
        status: Of HTTP.
        headers: By name in lower case.
        body: The body.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes


async def answers_to(port: int, connection: HostileConnection) -> list[Answer]:
    """Open a connection, send its bytes, and return the answers that its client reads.

    Raises:
        TimeoutError: The service has not closed the connection in time.
        HTTPException: It has sent what is not an answer.
    """
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        # The service may refuse what it has read, and close the connection, before all is sent.
        with suppress(ConnectionError):
            writer.write(connection.sent)
            async with asyncio.timeout(_SECONDS):
                return await _read(reader, writer, connection.ending)
        return []
    finally:
        if connection.ending is not Ending.READ:
            plain: socket.socket = writer.get_extra_info("socket")
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        writer.transport.abort()


async def _read(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, ending: Ending
) -> list[Answer]:
    match ending:
        case Ending.READ:
            received = await reader.read()
            return list(_answers_in(received))
        case Ending.READ_HEAD:
            await reader.readuntil(b"\r\n\r\n")
        case Ending.READ_NOTHING:
            transport = writer.transport
            assert isinstance(transport, asyncio.Transport)
            transport.pause_reading()
            await asyncio.sleep(_UNREAD_SECONDS)
        case Ending.GONE:
            await writer.drain()
    return []


class _Received(io.BytesIO):
    """Received bytes, in place of the socket that the parser of answers reads from, and that it closes after each."""

    def makefile(self, _mode: str) -> io.BytesIO:
        return self

    def close(self) -> None:
        pass


def _answers_in(data: bytes) -> Iterator[Answer]:
    received = _Received(data)
    while received.tell() < len(data):
        answer = HTTPResponse(received)  # type: ignore[arg-type]  # it only asks for a file
        answer.begin()
        headers = {name.lower(): value for name, value in answer.getheaders()}
        yield Answer(status=answer.status, headers=headers, body=answer.read())
        if answer.will_close:
            return
