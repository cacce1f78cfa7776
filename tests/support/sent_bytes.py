"""Server for tests that sends given bytes, whatever it is asked."""

import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress


class LookedAtClock:
    """A clock that is a second later at each look, and tells a server that sends bit by bit of each look."""

    def __init__(self) -> None:
        self._seconds = 0
        self.looks = threading.Semaphore(0)
        """One for each look that the server has not answered with a piece yet."""

    def now_s(self) -> float:
        """Return the time in seconds."""
        self._seconds += 1
        self.looks.release()
        return self._seconds


@contextmanager
def sending(*pieces: bytes, clock: LookedAtClock | None = None) -> Iterator[str]:
    """Run a server that sends these bytes to the first client; yield its address.

    Args:
        pieces: The bytes.
        clock: Each piece is sent after another look at this clock, so that the client, which looks before it
            receives, cannot receive more than a few pieces at once; None: all are sent at once.
    """

    def send() -> None:
        accepted, _ = listener.accept()
        with accepted, suppress(ConnectionError):  # of a client that does not wait
            _send(accepted, pieces, clock)
            accepted.shutdown(socket.SHUT_WR)
            while accepted.recv(1 << 16):
                pass

    with socket.create_server(("127.0.0.1", 0)) as listener:
        sender = threading.Thread(target=send)
        sender.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            if clock is not None:
                clock.looks.release(len(pieces))
            sender.join()


def _send(client: socket.socket, pieces: Sequence[bytes], clock: LookedAtClock | None) -> None:
    for piece in pieces:
        if clock is not None:
            clock.looks.acquire()
        client.sendall(piece)
