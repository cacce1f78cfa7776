"""Catalog of the tables of a warehouse: creates, opens, lists and drops them; opened tables share its caches."""

import random as random_module
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from braid.lake.declaration.validation import validate_schema
from braid.lake.errors import (
    CorruptData,
    InvalidRequest,
    Problem,
    TableExists,
    TableNotFound,
    UnsupportedFeature,
    table_error_context,
)
from braid.lake.files.clock import Clock, SystemClock
from braid.lake.files.paths import SCHEMA_PREFIX, TablePaths, numbered
from braid.lake.files.storage.file_io import FileIO
from braid.lake.files.storage.open import file_io_for, path_for
from braid.lake.format.data_types import (
    DataField,
    DataType,
    assign_field_ids,
    highest_field_id,
)
from braid.lake.format.schema import TableSchema, check_supported
from braid.lake.format.type_codec import parse_type
from braid.lake.iceberg.metadata_directory import directory_of, is_published
from braid.lake.read.lookup.copy_store import CopyStore
from braid.lake.read.lookup.copy_usage import CopyUsage
from braid.lake.read.lookup.lookup_settings import LookupSettings
from braid.lake.snapshots.metadata_cache import metadata_cache_for
from braid.lake.snapshots.schema_store import SchemaStore
from braid.lake.table.arguments import check_columns, check_names, check_options
from braid.lake.table.table import Table
from braid.lake.write.writable import check_writable

_DATABASE_SUFFIX = ".db"
_NAME_BYTES_MAX = 200
"""A name becomes a directory, and file systems limit names to 255 bytes."""


class Catalog:
    """Creates, opens, lists and drops the tables of a warehouse (`<warehouse>/<database>.db/<table>`)."""

    def __init__(
        self,
        warehouse: str,
        *,
        file_io: FileIO | None = None,
        clock: Clock | None = None,
        random: random_module.Random | None = None,
        lookups: LookupSettings | None = None,
    ) -> None:
        """Choose the storage; nothing is read yet.

        Args:
            warehouse: Absolute path, or a URI when no `file_io` is given.
            file_io: Storage; chosen by the address when None.
            clock: The time of commits; the machine's clock when None.
            random: Source of names and waiting times; the system's when None.
            lookups: Directory and bounds of the copies that lookups make; None: the directory for
                temporary files, and half of the free space there.
        """
        if file_io is None:
            file_io, warehouse = file_io_for(warehouse), path_for(warehouse)
        self._file_io = file_io
        self._warehouse = warehouse.rstrip("/")
        self._clock = clock or SystemClock()
        self._random = random
        self._metadata_cache = metadata_cache_for(file_io)
        self._copies = CopyStore(lookups)

    @property
    def copy_usage(self) -> CopyUsage:
        """Number and size of the copies that lookups of all tables keep."""
        return self._copies.usage

    def database_path(self, database: str) -> str:
        """Return the directory of a database.

        Raises:
            InvalidRequest: The name is invalid.
        """
        _check_name("database", database)
        return self._database_dir(database)

    def create_table(
        self,
        identifier: str,
        *,
        columns: Sequence[DataField | tuple[str, str | DataType]],
        primary_key: Sequence[str],
        partition_keys: Sequence[str] = (),
        options: Mapping[str, str] | None = None,
        comment: str | None = None,
        if_not_exists: bool = False,
    ) -> Table:
        """Create a table and return it.

        Args:
            identifier: `db.table`.
            columns: In order; a pair is (name, type). Key columns become NOT NULL. Field ids are
                assigned anew.
            primary_key: Column names, partition columns included.
            partition_keys: Column names, in the order of the directories.
            options: The table's options; without `bucket`, buckets are created as they are needed
                (-1).
            comment: Free text.
            if_not_exists: Return an existing table of the name, whatever its columns.

        Raises:
            InvalidRequest: `problems` names all types that are wrong; where there are none, all key columns
                that do not exist; else everything else that is wrong with the declaration.
            UnsupportedFeature: This version could not read or write the table, or the storage
                does not honour exclusive creation.
            TableExists: There is a table of that name.
        """
        path = self._table_path(identifier)
        with table_error_context(identifier):
            check_columns(columns)
            check_names("primary_key", primary_key)
            check_names("partition_keys", partition_keys)
            check_options(options or {})
            schema = self._declared_schema(
                columns=columns,
                primary_key=primary_key,
                partition_keys=partition_keys,
                options=options or {},
                comment=comment,
            )
            # The format's rules are checked first: what no version accepts is worse than what this
            # one lacks.
            validate_schema(schema)
            check_supported(schema)
            check_writable(schema)
        assert schema.id == 0, "a table begins with schema 0"
        store = SchemaStore(self._file_io, TablePaths(path))
        if store.latest_id() is None:
            # Left without a schema by an interrupted drop: a new table would show them as its own.
            left = self._first_left(path, _is_found_by_name)
            if left is not None:
                message = (
                    f"table {identifier} cannot be created: {left} is left from a table whose drop was "
                    "interrupted\nhint: drop the table again, then create it"
                )
                raise TableExists(message)
            self._file_io.probe_exclusive_create(self._warehouse)
            # Created exclusively: of two processes that create the table one wins.
            if store.create(schema):
                return self.table(identifier)
        if if_not_exists:
            return self.table(identifier)
        message = f"table {identifier} exists at {path}"
        raise TableExists(message)

    def table(self, identifier: str) -> Table:
        """Open a table.

        Raises:
            TableNotFound: There is no table of that name.
            UnsupportedFeature: The table needs what this version does not have.
        """
        return Table.open(
            self._table_path(identifier),
            file_io=self._file_io,
            clock=self._clock,
            random=self._random,
            identifier=identifier,
            copies=self._copies,
            metadata_cache=self._metadata_cache,
        )

    def list_tables(self, database: str | None = None) -> list[str]:
        """Return the identifiers `db.table` in alphabetical order.

        Args:
            database: Only its tables; None means all databases.
        """
        if database is not None:
            _check_name("database", database)
        databases = [database] if database is not None else self._databases()
        return sorted(
            f"{name}.{status.name}"
            for name in databases
            for status in self._file_io.list(self._database_dir(name))
            if status.is_directory and self._is_table(status.path)
        )

    def creation_mark(self, identifier: str) -> bytes | None:
        """Return what distinguishes a table from others that are created under its name; None: there is none.

        It is the content of schema 0, which has the millisecond of its creation.
        """
        try:
            return self._file_io.read_bytes(TablePaths(self._table_path(identifier)).schema(0))
        except FileNotFoundError:
            return None

    def drop_table(self, identifier: str, *, is_meant: Callable[[], bool] = lambda: True) -> bool:
        """Delete a table and all its files, and return whether that was done.

        Its schemas are deleted first: without them it is no table any more. If the deletion is interrupted
        while snapshots, changelogs, tags, branches or consumers are left, no table of the name can be created
        until it is dropped again. That deletes the rest, also where only other files are left, unless all of
        these are below `data-file.path-directory`.

        Args:
            identifier: `db.table`.
            is_meant: Called right before each deletion of a schema, and before that of the rest, each of which is one
                call of storage. On False nothing more is deleted: another process has dropped the table, and
                one of the same name may have been created since. No storage deletes on a condition,
                so a process that stalls between this answer and the call can still delete files of
                that table.

        Raises:
            TableNotFound: There is no table of that name.
        """
        path = self._table_path(identifier)
        paths = TablePaths(path)
        if not self._is_table(path) and self._first_left(path, _is_of_table) is None:
            message = f"no table {identifier} at {path}"
            raise TableNotFound(message)
        iceberg_directory = self._iceberg_directory(paths)
        # Deleted durably before any other file, schema 0 last: while there is a schema, no file is
        # missing.
        for status in reversed(self._file_io.list(paths.schema_dir)):
            if not is_meant():
                return False
            self._file_io.delete(status.path)
        self._file_io.sync_directory(paths.schema_dir)
        if not is_meant():
            return False
        if iceberg_directory is not None:
            self._file_io.delete_tree(iceberg_directory)
        self._file_io.delete_tree(path)
        self._file_io.sync_directory(path.rpartition("/")[0])
        return True

    def _iceberg_directory(self, paths: TablePaths) -> str | None:
        """Return the directory of a table's Iceberg metadata outside of the table's; None without one."""
        with suppress(InvalidRequest, CorruptData):
            schema = SchemaStore(self._file_io, paths).latest()
            if schema is not None and is_published(schema.table_options):
                directory = directory_of(paths, schema.table_options)
                return None if directory.startswith(f"{paths.root}/") else directory
        return None

    def _database_dir(self, database: str) -> str:
        return f"{self._warehouse}/{database}{_DATABASE_SUFFIX}"

    def _databases(self) -> list[str]:
        return [
            status.name.removesuffix(_DATABASE_SUFFIX)
            for status in self._file_io.list(self._warehouse)
            if status.is_directory and status.name.endswith(_DATABASE_SUFFIX)
        ]

    def _is_table(self, path: str) -> bool:
        listed = self._file_io.list(TablePaths(path).schema_dir)
        return any(numbered(status.name, SCHEMA_PREFIX) is not None for status in listed)

    def _first_left(self, path: str, counts: Callable[[str], bool]) -> str | None:
        """Return the first directory of a table that is not empty and whose name counts; None without any."""
        found = (
            status.path
            for status in self._file_io.list(path)
            if status.is_directory and counts(status.name) and self._file_io.list(status.path)
        )
        return next(found, None)

    def _table_path(self, identifier: str) -> str:
        parts = _identifier_parts(identifier)
        _check_name("table", parts[1])
        return f"{self.database_path(parts[0])}/{parts[1]}"

    def _declared_schema(
        self,
        *,
        columns: Sequence[DataField | tuple[str, str | DataType]],
        primary_key: Sequence[str],
        partition_keys: Sequence[str],
        options: Mapping[str, str],
        comment: str | None,
    ) -> TableSchema:
        fields = [_with_key_not_null(field, primary_key) for field in _fields(columns)]
        _check_key_columns(fields, [*primary_key, *partition_keys])
        numbered_fields = assign_field_ids(fields)
        return TableSchema(
            id=0,
            fields=numbered_fields,
            highest_field_id=highest_field_id(numbered_fields),
            partition_keys=tuple(partition_keys),
            primary_keys=tuple(primary_key),
            options=dict(options),
            comment=comment,
            time_millis=self._clock.now_ms(),
        )


def _is_found_by_name(directory: str) -> bool:
    """Return whether files of a table's directory belong to the table by their place, without being referred to."""
    return directory in ("snapshot", "changelog", "tag", "branch", "consumer")


def _is_of_table(directory: str) -> bool:
    """Return whether a name is one of the format's for directories of a table: metadata, partitions, buckets."""
    return (
        _is_found_by_name(directory)
        or directory in ("manifest", "index", "statistics")
        or directory.startswith("bucket-")
        or "=" in directory
    )


def _identifier_parts(identifier: object) -> Sequence[str]:
    parts = identifier.split(".") if isinstance(identifier, str) else []
    if len(parts) != 2 or not all(parts) or set("".join(parts)) & set("/\\$\0"):
        problem = Problem(
            field="identifier",
            value=repr(identifier)[:_NAME_BYTES_MAX],
            message="expected `database.table`, without `/`, `\\`, `$` and NUL",
        )
        message = "the name of a table cannot be read"
        raise InvalidRequest(message, problems=[problem])
    return parts


def _check_name(what: str, name: object) -> None:
    is_name = (
        isinstance(name, str)
        and bool(name.strip())
        and name not in (".", "..")
        and not set(name) & set("/\\$\0")
        and len(name.encode(errors="surrogatepass")) <= _NAME_BYTES_MAX
    )
    if not is_name:
        problem = Problem(
            field=what,
            value=repr(name)[:_NAME_BYTES_MAX],
            message=(
                f"expected a name of 1 to {_NAME_BYTES_MAX} bytes, neither `.` nor `..`, "
                "without `/`, `\\`, `$` and NUL"
            ),
        )
        message = f"the name of a {what} cannot be used"
        raise InvalidRequest(message, problems=[problem])


def _fields(columns: Sequence[DataField | tuple[str, str | DataType]]) -> list[DataField]:
    """Return the columns with their types parsed.

    Raises:
        UnsupportedFeature: Types are of the format, but not in this version.
        InvalidRequest: A type cannot be parsed. Both errors name every column with a problem.
    """
    fields: list[DataField] = []
    problems: list[Problem] = []
    errors: list[InvalidRequest] = []
    for column in columns:
        name = column.name if isinstance(column, DataField) else column[0]
        try:
            fields.append(_field(column))
        except InvalidRequest as error:
            problems += [replace(problem, field=f"columns.{name}") for problem in error.problems]
            errors.append(error)
    if errors:
        message = "the columns cannot have the types that are declared"
        if all(isinstance(error, UnsupportedFeature) for error in errors):
            raise UnsupportedFeature(message, problems=problems) from errors[0]
        raise InvalidRequest(message, problems=problems) from errors[0]
    return fields


def _field(column: DataField | tuple[str, str | DataType]) -> DataField:
    if isinstance(column, DataField):
        return column
    name, declared = column
    return DataField(
        name=name, type=parse_type(declared) if isinstance(declared, str) else declared
    )


def _with_key_not_null(field: DataField, primary_key: Sequence[str]) -> DataField:
    if field.name not in primary_key:
        return field
    return replace(field, type=replace(field.type, nullable=False))


def _check_key_columns(fields: Sequence[DataField], keys: Sequence[str]) -> None:
    names = [field.name for field in fields]
    problems = [
        Problem(
            field=key,
            value=None,
            message="a key column is not among the columns",
            hint=f"columns: {', '.join(names)}",
        )
        for key in dict.fromkeys(keys)
        if key not in names
    ]
    if problems:
        message = "the table cannot be created"
        raise InvalidRequest(message, problems=problems)
