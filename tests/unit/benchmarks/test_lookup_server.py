"""The service that the benchmark of lookups starts."""

import http.client
from pathlib import Path

from benchmarks.lookup.wide import served


def test_the_service_answers_on_the_port_that_is_told(tmp_path: Path) -> None:
    with served(str(tmp_path)) as (port, processor_s):
        connection = http.client.HTTPConnection("127.0.0.1", port)
        connection.request("GET", "/health")

        assert connection.getresponse().status == 200
        assert processor_s() > 0
        connection.close()
