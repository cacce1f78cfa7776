"""Program that fills topics with messages of the ingest benchmark, with Spark, which is fast.

    python -m benchmarks.ingest.filling SERVERS KEYS FIRST COUNT stream=topic …

The messages FIRST … FIRST + COUNT - 1 of each stream are written to its topic. All messages of a key are
in one partition.
"""

import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.ingest.shape import message_sql, partition_sql
from braid.pipelines.spark.session import build_session


def main(arguments: Sequence[str]) -> None:
    """Fill the topics that the command line names."""
    servers, keys, first, count, *pairs = arguments
    topics = dict(pair.split("=", 1) for pair in pairs)
    fill(servers, topics, keys=int(keys), first=int(first), count=int(count))


def fill(servers: str, topics: Mapping[str, str], *, keys: int, first: int, count: int) -> None:
    """Write messages of each stream to its topic, and return when the broker has them.

    Args:
        servers: Of the broker, `host:port`.
        topics: Topic by stream.
        keys: Number of keys.
        first: Number of the first message.
        count: Messages of each topic.
    """
    with tempfile.TemporaryDirectory(prefix="braid-bench-") as folder:
        session = build_session(app_name="braid-bench-filling", work_dir=Path(folder))
        for stream, topic in topics.items():
            numbers = session.range(first, first + count).withColumnRenamed("id", "number")
            numbers.selectExpr(
                f"{message_sql(stream, keys)} AS value",
                f"'{topic}' AS topic",
                f"{partition_sql(keys)} AS partition",
            ).write.format("kafka").options(
                **{
                    "kafka.bootstrap.servers": servers,
                    "kafka.linger.ms": "20",
                    "kafka.batch.size": str(512 << 10),
                }
            ).save()
        session.stop()


if __name__ == "__main__":
    main(sys.argv[1:])
