"""A server that sends the same bytes whatever it is asked."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def sending(answer: bytes) -> Iterator[str]:
    """Run a server that sends these bytes to the first client; yield its address."""

    def send() -> None:
        accepted, _ = listener.accept()
        with accepted, suppress(ConnectionError):  # of a client that does not wait
            accepted.sendall(answer)
            accepted.shutdown(socket.SHUT_WR)
            while accepted.recv(1 << 16):
                pass

    with socket.create_server(("127.0.0.1", 0)) as listener:
        sender = threading.Thread(target=send)
        sender.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            sender.join()
