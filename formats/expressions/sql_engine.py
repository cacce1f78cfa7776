"""SQL engine: DuckDB in memory, which parses and evaluates scalar expressions over Arrow columns.

It has one thread, a memory limit, and no access to files, networks, extensions or the settings of the process. It evaluates
only SQL that `syntax` wrote from checked parts. Times without a zone are in UTC, whatever the machine's zone is.
"""

import os
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from threading import RLock
from typing import TYPE_CHECKING, Final

import pyarrow as pa

if TYPE_CHECKING:
    import duckdb
    from duckdb.sqltypes import DuckDBPyType

_SETTINGS: Final[dict[str, str | bool | int]] = {
    "threads": 1,
    "enable_external_access": False,
    "autoload_known_extensions": False,
    "autoinstall_known_extensions": False,
}
_MESSAGE_MAX: Final = 200
# Where a message ceases to be about the record: the expression as the engine has planned it, and settings.
_ADVICE: Final = (" in expression (", " Use TRY(")


class SqlError(Exception):
    """The engine refused an expression, or could not evaluate it; the text is one line without the engine's hints."""


class SqlEngine:
    """One database in memory; used by one thread at a time."""

    def __init__(self, *, memory: str = "256MB") -> None:
        """Open the database.

        Args:
            memory: The bound on its memory.
        """
        self._settings = _SETTINGS | {"memory_limit": memory}
        # Imported here, because most processes never evaluate an expression and the import takes long.
        self._duckdb = import_module("duckdb")
        self._lock = RLock()
        self._connection = self._connected()

    def _connected(self) -> "duckdb.DuckDBPyConnection":
        connection: duckdb.DuckDBPyConnection = self._duckdb.connect(
            ":memory:", config=self._settings
        )
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute("SET lock_configuration = true")
        return connection

    def syntax_tree(self, text: str) -> str:
        """Return the syntax tree of `SELECT <text>`, as the engine's JSON."""
        with self._lock:
            found = self._connection.execute("SELECT json_serialize_sql(?)", [f"SELECT {text}"])
            return str(found.fetchall()[0][0])

    def result_type(self, sql: str, fields: pa.Schema) -> "DuckDBPyType":
        """Return the type of an expression's result.

        Args:
            sql: The expression.
            fields: The columns that it can use.

        Raises:
            SqlError: It cannot be evaluated over columns of these types.
        """
        with self._lock:
            try:
                return self._connection.from_arrow(fields.empty_table()).project(sql).types[0]
            except self._duckdb.Error as error:
                raise self._failed(error) from error

    def evaluate(self, expressions: Sequence[str], fields: pa.Table) -> list[pa.StructArray]:
        """Return the results of expressions.

        Args:
            expressions: The expressions.
            fields: The columns that they use, at least one.

        Returns:
            One array per expression, of structs with the result as their only field; a struct is null where the
            expression fails.

        Raises:
            SqlError: They need more memory than there is, or the engine is at fault.
        """
        results = ", ".join(
            f"TRY(struct_pack(result := {sql})) AS c{place}"
            for place, sql in enumerate(expressions)
        )
        with self._lock:
            try:
                found = self._connection.from_arrow(fields).project(results).to_arrow_table()
            except self._duckdb.Error as error:
                raise self._failed(error) from error
        assert found.num_rows == fields.num_rows, "each row has its results"
        return [_combined(column) for column in found.columns]

    def why_failed(self, sql: str, fields: pa.Table) -> str:
        """Return why an expression fails for a row, which is all that `fields` holds."""
        with self._lock:
            try:
                self._connection.from_arrow(fields).project(sql).fetchall()
            except self._duckdb.Error as error:
                return str(self._failed(error))
        return (
            "it succeeds when the record is evaluated alone, but failed together with other records"
        )

    def functions(self) -> list[tuple[str, str | None]]:
        """Return the names of all functions, each with the stability that the engine declares for it."""
        with self._lock:
            return self._connection.execute(
                "SELECT function_name, stability FROM duckdb_functions()"
            ).fetchall()

    def _failed(self, error: Exception) -> SqlError:
        """Return an error of the engine as ours; after some the database cannot be used any more."""
        if isinstance(error, self._duckdb.FatalException | self._duckdb.InternalException):
            self._connection = self._connected()
        kind, _, message = str(error).partition(": ")
        line = (message or kind).split("\n", 1)[0]
        for advice in _ADVICE:
            line = line.split(advice, 1)[0]
        return SqlError(line.strip()[:_MESSAGE_MAX])


def sql_engine() -> SqlEngine:
    """Return the engine of this process."""
    return _engine_of(os.getpid())


@cache
def _engine_of(_process: int) -> SqlEngine:
    # By process: a forked one cannot use the threads and locks of its parent's.
    return SqlEngine()


def _combined(column: pa.ChunkedArray) -> pa.StructArray:
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.nulls(0, column.type)
