"""The service as a process: uvicorn until SIGTERM or Ctrl-C."""

import logging
import sys

import uvicorn

from service.app import create_app
from service.settings import ServiceSettings

_LOG_FORMAT = "%(asctime)s %(levelname)s %(name)s %(message)s"


def serve(settings: ServiceSettings) -> None:
    """Serve until the process is asked to end; logs to standard error, a line per request."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format=_LOG_FORMAT)
    logging.getLogger("service").setLevel(logging.INFO)
    uvicorn.run(
        create_app(settings),
        host=settings.host,
        port=settings.port,
        log_level="info",
        access_log=False,  # `service.access_log` has the request's id as well
    )
