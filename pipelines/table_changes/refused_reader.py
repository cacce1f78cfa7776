"""Reader of a streaming query that is refused: every call of Spark has the error."""

from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit


class RefusedReader(DataSourceStreamReader):
    """Stands for a reader that could not be made.

    Up to Spark 4.2, an error before there is a reader ends as an `UnboundLocalError` that says nothing.

    Args:
        error: Why.
    """

    def __init__(self, error: Exception) -> None:
        self._error = error

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Raise the error."""
        self._raise()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Raise the error."""
        self._raise()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Raise the error."""
        self._raise()

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        """Raise the error."""
        self._raise()

    def _raise(self) -> NoReturn:
        raise self._error
