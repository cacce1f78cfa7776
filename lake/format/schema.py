"""Schema files: the columns, keys and options of a table, as JSON; and the tables that this version refuses.

Schemas are numbered 0, 1, 2…; the highest number is the current schema. Each data file refers to
the schema whose column names it uses. A column is identified by its id, which is never reused. In
files with a lower `version` some options have other defaults (`TableSchema.table_options`).

Source: table-format 2.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from hashlib import blake2b
from typing import Final

import pyarrow as pa

from braid.lake.errors import CorruptData, InvalidRequest, Problem, UnsupportedFeature
from braid.lake.format.arrow_types import arrow_schema
from braid.lake.format.data_types import DataField
from braid.lake.format.json_document import JsonDocument, dump_json
from braid.lake.format.type_codec import field_to_json, parse_field
from braid.lake.options.table_options import POSTPONE_BUCKET, BucketFunction, TableOptions

SCHEMA_VERSION: Final = 3
_SCHEMAS_KEPT: Final = 8
# Defaults of older versions of the file; a value in the file takes precedence.
_DEFAULTS_BY_VERSION: Final[Mapping[int, Mapping[str, str]]] = {
    1: {"bucket": "1", "file.format": "orc"},
    2: {"file.format": "orc"},
}


@dataclass(frozen=True, kw_only=True)  # no slots: cached_property needs a dictionary
class TableSchema:
    """The columns, keys and options of a table.

    Attributes:
        id: Number of the schema, from 0; also in the file's name.
        fields: The columns, in order.
        highest_field_id: Highest id ever used, nested and dropped fields included.
        partition_keys: Names of the partition columns, in the order of the directories.
        primary_keys: Names of the key columns, partition columns included.
        options: Text of each option by key, as written.
        comment: Comment of the table.
        time_millis: When the schema was created, milliseconds since 1970 UTC; 0 when unknown.
        version: Version of the file's format.
    """

    id: int
    fields: tuple[DataField, ...]
    highest_field_id: int
    partition_keys: tuple[str, ...]
    primary_keys: tuple[str, ...]
    options: Mapping[str, str] = field(hash=False)
    comment: str | None = None
    time_millis: int = 0
    version: int = SCHEMA_VERSION

    @cached_property
    def shape_digest(self) -> str:
        """A short text, equal for two schemas only if every file has the same records under both."""
        fields = [(field.id, field.name, field.type) for field in self.fields]
        shape = (fields, self.table_options.sequence_snapshot_ordering)
        return blake2b(repr(shape).encode(), digest_size=8).hexdigest()

    @cached_property
    def trimmed_primary_keys(self) -> tuple[str, ...]:
        """Return the primary key without partition columns: the key inside a partition."""
        return tuple(name for name in self.primary_keys if name not in self.partition_keys)

    @cached_property
    def bucket_keys(self) -> tuple[str, ...]:
        """Return the columns whose hash determines the bucket, in hash order."""
        return self.table_options.bucket_key or self.trimmed_primary_keys

    @cached_property
    def field_names(self) -> tuple[str, ...]:
        """Return the names of the columns, in order."""
        return tuple(column.name for column in self.fields)

    @cached_property
    def arrow_schema(self) -> pa.Schema:
        """Return the Arrow schema of the columns, nullability as declared."""
        return arrow_schema(self.fields)

    @cached_property
    def key_fields(self) -> tuple[DataField, ...]:
        """Return the columns of the trimmed primary key, in key order."""
        return tuple(self.field(name) for name in self.trimmed_primary_keys)

    @cached_property
    def partition_fields(self) -> tuple[DataField, ...]:
        """Return the partition columns, in the order of the directories."""
        return tuple(self.field(name) for name in self.partition_keys)

    @cached_property
    def table_options(self) -> TableOptions:
        """Return the typed options, with the defaults of the schema file's version.

        Raises:
            InvalidRequest: A value cannot be read.
        """
        return TableOptions.parse({**_DEFAULTS_BY_VERSION.get(self.version, {}), **self.options})

    def field(self, name: str) -> DataField:
        """Return the column of that name.

        Raises:
            InvalidRequest: No column has that name; the message lists the columns.
        """
        found = self.fields_by_name.get(name)
        if found is None:
            problem = Problem(
                field=name,
                value=None,
                message="the table has no such column",
                hint=f"columns: {', '.join(self.field_names)}",
            )
            text = f"no column `{name}` in schema {self.id}"
            raise InvalidRequest(text, problems=[problem])
        return found

    @cached_property
    def fields_by_name(self) -> Mapping[str, DataField]:
        """Return the columns by name."""
        return {column.name: column for column in self.fields}


@lru_cache(maxsize=_SCHEMAS_KEPT)
def parse_schema(data: bytes) -> TableSchema:
    """Return the schema in the bytes of a schema file; the last ones are cached.

    Raises:
        CorruptData: The bytes are not a JSON object, a required key is missing or of the wrong kind, or
            a key column does not exist.
        UnsupportedFeature: The file has a newer version, or a column type that this version does not
            have.
    """
    document = JsonDocument.parse(data, what="schema")
    # Files of the first version do not have the key.
    version = document.integer("version", default=1)
    if version > SCHEMA_VERSION:
        text = f"schema has version {version}, expected at most {SCHEMA_VERSION}"
        raise UnsupportedFeature(text)
    schema = TableSchema(
        id=document.integer("id"),
        fields=_parse_fields(document),
        highest_field_id=document.integer("highestFieldId"),
        partition_keys=document.text_list("partitionKeys"),
        primary_keys=document.text_list("primaryKeys"),
        options=document.text_map("options", required=True),
        comment=document.optional_text("comment"),
        time_millis=document.integer("timeMillis", default=0),
        version=version,
    )
    for name in (*schema.primary_keys, *schema.partition_keys):
        if name not in schema.field_names:
            text = f"schema {schema.id} names the key column `{name}`, but has no such column"
            raise CorruptData(text)
    return schema


def serialize_schema(schema: TableSchema) -> bytes:
    """Return the bytes of the schema file; an unset comment is left out."""
    return dump_json(
        {
            "version": schema.version,
            "id": schema.id,
            "fields": [field_to_json(column) for column in schema.fields],
            "highestFieldId": schema.highest_field_id,
            "partitionKeys": list(schema.partition_keys),
            "primaryKeys": list(schema.primary_keys),
            "options": dict(schema.options),
            "comment": schema.comment,
            "timeMillis": schema.time_millis,
        }
    )


def check_supported(schema: TableSchema) -> None:
    """Check that this version supports the table.

    Raises:
        UnsupportedFeature: This version does not support it; `problems` has each option, its value and a
            way out.
        InvalidRequest: An option cannot be read.
    """
    if not schema.primary_keys:
        problem = Problem(
            field="primaryKeys",
            value=None,
            message="this version does not support tables without a primary key",
            hint="read append tables with another engine of the format",
        )
        text = f"schema {schema.id} has no primary key"
        raise UnsupportedFeature(text, problems=[problem])
    options = schema.table_options
    refused = [
        ("bucket-function.type", options.bucket_function_type is not BucketFunction.DEFAULT),
        ("row-tracking.enabled", options.row_tracking_enabled),
        ("data-evolution.enabled", options.data_evolution_enabled),
        ("data-file.external-paths", options.data_file_external_paths is not None),
        ("bucket", options.bucket == POSTPONE_BUCKET),
    ]
    problems = [
        Problem(
            field=key,
            value=schema.options.get(key, _DEFAULTS_BY_VERSION.get(schema.version, {}).get(key)),
            message="this version does not support the option's value",
            hint=_HINTS[key],
        )
        for key, is_refused in refused
        if is_refused
    ]
    if problems:
        text = f"schema {schema.id} uses what this version does not support"
        raise UnsupportedFeature(text, problems=problems)


_HINTS: Final = {
    "bucket-function.type": "leave it out, or set `default`",
    "row-tracking.enabled": "leave it out; a primary key needs no row ids",
    "data-evolution.enabled": "leave it out",
    "data-file.external-paths": "leave it out; data files are in the table's directory",
    "bucket": "set a bucket count from 1, or -1 for buckets that are added as they fill",
}


def _parse_fields(document: JsonDocument) -> tuple[DataField, ...]:
    try:
        return tuple(parse_field(item) for item in document.object_list("fields"))
    except UnsupportedFeature:
        raise
    except InvalidRequest as error:
        text = f"schema file has a column that cannot be read: {error}"
        raise CorruptData(text) from error
