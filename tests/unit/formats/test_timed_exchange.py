"""One exchange has one deadline: what is sent counts as what is received."""

import socket
import ssl
import threading

import pytest

from braid.formats.timed_exchange import Deadline, TimedExchange


class SteppingClock:
    """A clock that is a second later at each look."""

    def __init__(self) -> None:
        self._seconds = 0

    def now_s(self) -> float:
        """Return the time in seconds."""
        self._seconds += 1
        return self._seconds


def test_a_deadline_that_is_over_behind_the_head_leaves_the_body_unsent() -> None:
    received = bytearray()

    def receive() -> None:
        accepted, _ = listener.accept()
        with accepted:
            while piece := accepted.recv(1 << 16):
                received.extend(piece)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        receiver = threading.Thread(target=receive)
        receiver.start()
        # Looks at 2 for the connection, 3 for the head, 4 for the body.
        deadline = Deadline(2.5, SteppingClock().now_s)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with (
            TimedExchange(url, deadline, tls=ssl.create_default_context) as exchange,
            pytest.raises(TimeoutError),
        ):
            exchange.post("/token", {}, b"secret")
        receiver.join()

    assert received.startswith(b"POST /token HTTP/1.1")
    assert received.endswith(b"\r\n\r\n")
