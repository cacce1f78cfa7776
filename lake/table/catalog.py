"""Tables of one warehouse directory."""

import random as random_module
from collections.abc import Mapping, Sequence

from lake.files.clock import Clock
from lake.files.file_io import FileIO
from lake.format.data_types import DataField, DataType
from lake.table.table import Table


class Catalog:
    """Creates, opens and lists the tables of a warehouse (`<warehouse>/<database>.db/<table>`)."""

    def __init__(
        self,
        warehouse: str,
        *,
        file_io: FileIO | None = None,
        clock: Clock | None = None,
        random: random_module.Random | None = None,
    ) -> None:
        raise NotImplementedError

    def database_path(self, database: str) -> str:
        """Return the directory of a database."""
        raise NotImplementedError

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
        """Create a table and return it."""
        raise NotImplementedError

    def table(self, identifier: str) -> Table:
        """Open a table; TableNotFound when there is none."""
        raise NotImplementedError

    def list_tables(self, database: str | None = None) -> list[str]:
        """Return the identifiers `db.table` in alphabetical order."""
        raise NotImplementedError

    def drop_table(self, identifier: str) -> None:
        """Delete a table and all its files."""
        raise NotImplementedError
