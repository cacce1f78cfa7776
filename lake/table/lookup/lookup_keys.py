"""Keys of a lookup: Python values or Arrow columns, converted exactly; and the error of a key with several rows."""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from braid.lake.errors import CorruptData, InvalidRequest, LakeError, Problem, UnsupportedFeature
from braid.lake.format.schema import TableSchema
from braid.lake.options.table_options import DYNAMIC_BUCKET
from braid.lake.table.arguments import refuse_argument
from braid.lake.table.lookup.key_columns import exact_key_column, exact_key_values

KeyArrays = dict[str, pa.Array]
"""The columns of the primary key, in the table's types, each in one piece; a null matches no row."""


class LookupKeys:
    """The primary key of a table, as lookups accept it."""

    def __init__(self, schema: TableSchema) -> None:
        """Set the schema under which keys are compared."""
        self._schema = schema
        self._fields = [schema.field(name) for name in schema.primary_keys]
        self._types = {name: schema.arrow_schema.field(name).type for name in schema.primary_keys}
        self._names = frozenset(schema.primary_keys)

    def from_values(self, keys: Sequence[Mapping[str, object]]) -> KeyArrays:
        """Return keys that are given as Python values.

        Raises:
            InvalidRequest: A key does not name exactly the primary key; or a value does not fit its
                column: `problems` describes the first such key.
        """
        for key in keys:
            self._check_columns(key)
        try:
            return {
                field.name: exact_key_values(
                    [key[field.name] for key in keys], field.type, self._types[field.name]
                )
                for field in self._fields
            }
        except ValueError as error:
            # The value at fault is searched for only now, so that keys that fit do not pay for it.
            raise self._refusal(keys) from error

    def from_arrow(self, keys: pa.Table | pa.RecordBatch) -> KeyArrays:
        """Return keys that are given as columns, in any order.

        Raises:
            InvalidRequest: The columns are not the columns of the primary key, or do not fit them.
        """
        if not isinstance(keys, pa.Table | pa.RecordBatch):
            refuse_argument("keys", keys, "a pyarrow Table or RecordBatch")
        if set(keys.schema.names) != self._names or len(keys.schema) != len(self._names):
            problem = Problem(
                field="keys",
                value=", ".join(keys.schema.names) or None,
                message=f"expected exactly the columns {', '.join(self._schema.primary_keys)}",
            )
            message = "the keys do not have the columns of the table's key"
            raise InvalidRequest(message, problems=[problem])
        return {field.name: self._column(field.name, keys) for field in self._fields}

    def several_rows(self, key: Mapping[str, object], count: int) -> LakeError:
        """Return the error for a key that has several rows.

        UnsupportedFeature where another engine partitioned the table by columns outside of the key,
        CorruptData elsewhere.
        """
        message = f"the table has {count} rows of the key {dict(key)}"
        outside = [name for name in self._schema.partition_keys if name not in self._names]
        if outside and self._schema.table_options.bucket != DYNAMIC_BUCKET:
            message += (
                f", because it is partitioned by columns outside of the key: {', '.join(outside)}\n"
                "hint: `scan` gives the rows; conditions on these columns distinguish them"
            )
            return UnsupportedFeature(message)
        return CorruptData(message)

    def _check_columns(self, key: object) -> None:
        if not isinstance(key, Mapping):
            refuse_argument("key", key, "a mapping of column to value")
        if key.keys() != self._names:
            problem = Problem(
                field="key",
                value=", ".join(sorted(str(name) for name in key)) or "nothing",
                message=f"expected a key with exactly the columns {', '.join(self._schema.primary_keys)}",
            )
            message = "the key does not fit the table"
            raise InvalidRequest(message, problems=[problem])

    def _refusal(self, keys: Sequence[Mapping[str, object]]) -> InvalidRequest:
        """Return the error that names each value of the first key that does not fit."""
        problems = next(found for key in keys if (found := self._problems(key)))
        message = "the key does not fit the table"
        return InvalidRequest(message, problems=problems)

    def _problems(self, key: Mapping[str, object]) -> list[Problem]:
        problems: list[Problem] = []
        for field in self._fields:
            value = key[field.name]
            try:
                exact_key_values([value], field.type, self._types[field.name])
            except ValueError as error:
                message = f"the value is not of type {field.type}: {error}"
                problems.append(Problem(field=field.name, value=repr(value), message=message))
        return problems

    def _column(self, name: str, keys: pa.Table | pa.RecordBatch) -> pa.Array:
        column = keys.column(name)
        try:
            return exact_key_column(column, self._schema.field(name).type, self._types[name])
        except ValueError as error:
            problem = Problem(field=name, value=str(column.type), message=str(error))
            message = "the keys do not fit the table"
            raise InvalidRequest(message, problems=[problem]) from error
