"""Training run of the class archive: a short streaming query in a JVM that archives its classes when it ends.

    python -m braid.pipelines.spark.class_training WORK_DIR ARCHIVE [JAR ...]

The query does what a stream's query does (`sink`): a micro-batch crosses to Python as Arrow data, is shuffled, and crosses
again. There is no broker: the records come from Spark's own `rate` source, and Kafka's clients are made for an address
at which nobody listens.
"""

import os
import sys
from contextlib import suppress
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession, functions as fn

from braid.pipelines.spark.class_archive import training_options
from braid.pipelines.spark.session import build_session

_NOBODY = "127.0.0.1:1"
_KAFKA = {
    "kafka.bootstrap.servers": _NOBODY,
    "subscribe": "topic",
    "kafka.default.api.timeout.ms": "500",
    "kafka.request.timeout.ms": "400",
    "fetchOffset.numRetries": "1",
    "fetchOffset.retryIntervalMs": "1",
}
_BYTES = "org.apache.kafka.common.serialization.ByteArrayDeserializer"


def main(work_dir: Path, archive: Path, extra_jars: list[str]) -> int:
    """Run the query and end the JVM, which then writes the archive; return the JVM's exit status."""
    session = build_session(
        app_name="classes",
        work_dir=work_dir,
        conf={
            "spark.sql.caseSensitive": "true",
            "spark.scheduler.mode": "FAIR",
            "spark.driver.extraClassPath": os.pathsep.join(extra_jars),
            "spark.driver.extraJavaOptions": training_options(archive),
        },
    )
    _run_query(session, work_dir / "checkpoint")
    _use_kafka(session)
    gateway = session.sparkContext._gateway
    assert gateway is not None, "the session has a JVM of its own"
    session.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    return int(gateway.proc.wait())


def _run_query(session: SparkSession, checkpoint: Path) -> None:
    rates = session.readStream.format("rate").option("rowsPerSecond", 20).load()
    query = rates.writeStream.foreachBatch(_read).option("checkpointLocation", str(checkpoint))
    running = query.trigger(processingTime="100 milliseconds").start()
    while not any(progress["numInputRows"] for progress in running.recentProgress):
        running.awaitTermination(1)
    running.stop()


def _read(batch: DataFrame, _number: int) -> None:
    text = fn.col("value").cast("string")
    header = fn.struct(fn.lit("name").alias("key"), text.cast("binary").alias("value"))
    records = batch.select(
        text.cast("binary").alias("key"),
        text.cast("binary").alias("value"),
        fn.lit(0).alias("partition"),
        fn.col("value").alias("offset"),
        "timestamp",
        fn.array(header).alias("headers"),
    )
    chunks = records.mapInArrow(lambda batches: batches, records.schema)
    routed = chunks.repartitionByRange(2, "offset").repartition(2, "partition")
    routed.mapInArrow(lambda batches: batches, records.schema).collect()


def _use_kafka(session: SparkSession) -> None:
    """Load the classes of Spark's Kafka source and of Kafka's clients; that nobody answers is expected."""
    with suppress(PySparkException, Py4JError):
        session.read.format("kafka").options(**_KAFKA).load().collect()
    jvm = session.sparkContext._jvm
    assert jvm is not None, "the session has a JVM"
    options = jvm.java.util.HashMap()
    for name, value in _KAFKA.items():
        if name.startswith("kafka."):
            options[name.removeprefix("kafka.")] = value
    options["key.deserializer"] = options["value.deserializer"] = _BYTES
    consumer = jvm.org.apache.kafka.clients.consumer.KafkaConsumer(options)
    topic = jvm.org.apache.kafka.common.TopicPartition("topic", 0)
    consumer.assign(jvm.java.util.Collections.singletonList(topic))
    consumer.seek(topic, 0)
    consumer.poll(jvm.java.time.Duration.ofMillis(200))
    consumer.close(jvm.java.time.Duration.ZERO)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]))
