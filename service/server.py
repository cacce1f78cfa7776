"""Processes of the service: each sets up log, interpreter and allocator, then runs uvicorn until SIGTERM or Ctrl-C."""

import contextlib
import gc
import logging
import os
import socket
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import uvicorn

from braid.records.outgoing_records import RecordProducer
from braid.records.topic_records import TopicRecordReader
from braid.service.app import create_app
from braid.service.braid_app import BraidApp
from braid.service.console.page_files import page_files
from braid.service.http.arrow_without_pandas import keep_pandas_out_of_arrow
from braid.service.http.listening_sockets import address_of, listening_sockets
from braid.service.http.process_memory import bound_memory, glibc_mallopt
from braid.service.http.protocol import protocol_with
from braid.service.http.worker_processes import run_workers
from braid.service.settings import ServiceSettings

_SWITCH_SECONDS = 0.001
_DIGITS_MAX = 640  # digits of an integer: the time of parsing grows with the square of the length
_LOG_FORMAT = "%(asctime)s %(levelname)s %(name)s %(message)s"

logger = logging.getLogger(__name__)


def serve(
    settings: ServiceSettings,
    *,
    workers: int = 1,
    make_producer: Callable[[], RecordProducer] | None = None,
    make_topic_records: Callable[[], TopicRecordReader] | None = None,
) -> None:
    """Serve until SIGTERM or Ctrl-C; logs to standard error, one line per request.

    Args:
        settings: The settings; bounds of memory and of requests are those of one process, except that of copies in memory,
            which the workers share out.
        workers: Processes that serve; with more than one, this process starts them and ends with them.
        make_producer: Returns the producer of pushed records of one process; can be pickled. None: pushes are refused.
        make_topic_records: Likewise, the reader of the records that explanations show. None: none is shown.

    Raises:
        InvalidRequest: The server cannot listen at the address, or the settings name no warehouse.
    """
    sockets = listening_sockets(settings.host, settings.port)
    _log_requests()
    # Any name can be made to resolve to this address (DNS rebinding): only known hosts are served.
    settings = replace(
        settings,
        hosts=settings.hosts or (),
        lookups=replace(
            settings.lookups,
            max_memory_bytes=settings.lookups.max_memory_bytes // workers,
            are_shared=True,
        ),
    )
    for address in map(address_of, sockets):
        logger.info("listening at http://%s (Ctrl-C ends it)", address)
    if workers == 1:
        _serve(settings, sockets, make_producer, make_topic_records)
        return
    run_workers(partial(_serve, settings, sockets, make_producer, make_topic_records), workers)


def _serve(
    settings: ServiceSettings,
    sockets: Sequence[socket.socket],
    make_producer: Callable[[], RecordProducer] | None,
    make_topic_records: Callable[[], TopicRecordReader] | None,
) -> None:
    _log_requests()  # also in a worker, which is a new process
    keep_pandas_out_of_arrow()
    app = create_app(
        settings,
        producer=make_producer and make_producer(),
        topic_records=make_topic_records and make_topic_records(),
    )
    # Both are cached, and done now, so that no request waits for them: the first takes half a second.
    app.openapi()
    page_files()
    # Threads switch more often than by default (5 ms): /health waits for one interval of each thread.
    sys.setswitchinterval(_SWITCH_SECONDS)
    sys.set_int_max_str_digits(_DIGITS_MAX)
    # The objects created so far stay for good, and collections need not traverse them: each collection
    # stops all threads (some 50 ms without this).
    gc.collect()
    gc.freeze()
    bound_memory(os.environ, glibc_mallopt())
    config = uvicorn.Config(
        app,
        http=protocol_with(settings.limits),
        ws="none",  # a connection must not leave the protocol with its bounds
        log_level="info",
        proxy_headers=False,  # nothing depends on the client's address
        access_log=False,  # `braid.service.http.access_log` has the request's id as well
    )
    with contextlib.suppress(KeyboardInterrupt):
        _Server(config, app).run(sockets=list(sockets))


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, app: BraidApp) -> None:
        super().__init__(config)
        self._app = app

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the subscriptions first: the server waits until all requests are answered."""
        self._app.state.components.subscriptions.close()
        await super().shutdown(sockets)


def _log_requests() -> None:
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format=_LOG_FORMAT)
    logging.getLogger("braid.service").setLevel(logging.INFO)
