"""Program: a service whose calls to storage are counted."""

import sys
import threading
import time

import uvicorn

from benchmarks.many_streams.counted_storage import counted
from benchmarks.many_streams.measured_process import answer_questions
from braid.demo.ports import free_port
from braid.lake import LocalFileIO
from braid.service.app import create_app
from braid.service.settings import ServiceSettings


def main(warehouse: str) -> None:
    """Serve until standard input ends."""
    file_io, storage = counted(LocalFileIO())
    app = create_app(ServiceSettings(warehouse=warehouse), file_io=file_io)
    port = free_port()
    config = uvicorn.Config(app, host="127.0.0.1", port=port, log_level="error", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    answer_questions(storage, port=port)
    server.should_exit = True
    thread.join()


if __name__ == "__main__":
    main(sys.argv[1])
