"""The README's example runs as it is printed there."""

import os
import re
import subprocess
from pathlib import Path

import orjson
import pytest
from kafka import KafkaProducer

from demo.flights_data import STREAMS, load_flights, stream_history
from demo.flights_run import FlightsRun

pytestmark = [pytest.mark.integration, pytest.mark.spark]

README = Path(__file__).parents[2] / "README.md"
SCALE = 0.002


@pytest.mark.timeout(300)
def test_readme_example_registers_a_table_and_a_stream_and_reads_a_row(tmp_path: Path) -> None:
    flights = load_flights(SCALE)
    expected = {stream.name: stream_history(flights, stream).num_rows for stream in STREAMS}
    with FlightsRun(tmp_path, scale=SCALE, trigger_ms=500) as run:
        run.start_broker()
        run.broker.create_topics({"payments": 1})
        run.start_service()
        run.register()
        run.start_runner("runner-1")
        run.start_producers()
        run.wait_until_ingested(expected, timeout_s=120)
        answers = run_example(run)
        produce(run, "payments", {"id": 7, "paid": 12.5, "payment_version": 1})
        path = "/v1/tables/demo/parcels/rows"
        run.wait_until(lambda: run.http.get(path, params={"id": 7}).is_success, timeout_s=60)
        parcel = run.http.get(path, params={"id": 7}).json()

    assert '"dep_time":517' in answers.replace(" ", "")
    assert '"complete":true' in answers.replace(" ", "")
    assert parcel["row"]["paid"] == "12.50"


def run_example(run: FlightsRun) -> str:
    """Run the README's example with bash and return what it printed; any failing line fails it."""
    example = re.search(r"<!-- example: curl -->\n```bash\n(.*?)```", README.read_text(), re.DOTALL)
    assert example is not None, "the README has no example marked `curl`"
    environment = {**os.environ, "API": run.api, "KAFKA": run.broker.bootstrap_servers}
    done = subprocess.run(
        ["bash", "-e", "-c", example.group(1)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def produce(run: FlightsRun, topic: str, message: dict[str, object]) -> None:
    producer = KafkaProducer(bootstrap_servers=run.broker.bootstrap_servers)
    producer.send(topic, orjson.dumps(message))
    producer.flush()
    producer.close()
