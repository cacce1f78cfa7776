"""Tables as DataFrames that Spark can join without a shuffle, if they are small.

Spark sends one side of a join to all tasks instead of shuffling both, if it knows that the side is small. A data source in
Python cannot tell Spark its size, and Spark takes it as without bound. What is read is known here before Spark plans: the
bytes of the files that are left by the option `where`.
"""

from collections.abc import Mapping
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import broadcast

from braid.lake import parse_size
from braid.pipelines.batch_source.read_options import read_options
from braid.pipelines.batch_source.read_plan import bytes_to_read
from braid.pipelines.batch_source.source import FORMAT

BROADCAST_MAX: Final = "spark.sql.autoBroadcastJoinThreshold"
"""The setting of Spark for the bytes of a side that it sends to all tasks; -1: of none."""


def load_table(session: SparkSession, options: Mapping[str, str]) -> DataFrame:
    """Return a table as `session.read.format("braid").options(**options).load()` does; with the hint `broadcast` if it is small.

    Small are at most `BROADCAST_MAX` bytes of data files, as for the files that Spark reads by itself. The hint counts for
    the DataFrame and for what is made of it without a join. The process of the driver reads the table's metadata, so it
    needs the warehouse's settings and credentials, too.

    Args:
        session: A session in which the format is registered.
        options: The options of a batch read.

    Raises:
        InvalidRequest: The options are wrong, or there is no such table, state or column.
    """
    frame = session.read.format(FORMAT).options(**options).load()
    bytes_max = parse_size(session.conf.get(BROADCAST_MAX) or "")
    if bytes_max is None or bytes_to_read(read_options(options)) > bytes_max:
        return frame
    return broadcast(frame)
