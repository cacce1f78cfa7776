"""Free ports of this machine, for servers that are about to start."""

import socket


def free_port() -> int:
    """Return a port of this machine that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    assert isinstance(port, int)
    return port
