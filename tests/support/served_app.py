"""An app that answers at an address of this machine, from a thread of this process: commands and clients reach it over HTTP."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from fastapi import FastAPI

from braid.demo.ports import free_port
from tests.support.waiting import wait_until


@contextmanager
def served(app: FastAPI) -> Iterator[str]:
    """Serve an app; yield its address, such as `http://127.0.0.1:4711`."""
    port = free_port()
    server = uvicorn.Server(
        uvicorn.Config(app, host="127.0.0.1", port=port, log_level="error", ws="none")
    )
    thread = threading.Thread(target=server.run, name="served app")
    thread.start()
    try:
        wait_until(lambda: server.started)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()
