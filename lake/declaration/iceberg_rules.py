"""Rules for tables with Iceberg metadata (`metadata.iceberg.*`).

Iceberg readers take the files of the highest level as they are. So every column needs a type of Iceberg, the files
are Parquet with the columns' ids, and hold neither deletes nor rows that a deletion vector marks.

Source: Paimon's Iceberg compatibility; decision 0087.
"""

from collections.abc import Iterator
from typing import Final

from braid.lake.declaration.rule_problems import conflict
from braid.lake.errors import Problem
from braid.lake.format.schema import TableSchema
from braid.lake.iceberg.field_types import type_gap
from braid.lake.options.option_keys import OWN_KEYS
from braid.lake.options.table_options import (
    DELETE_RETENTION,
    IcebergLocation,
    IcebergStorage,
    TableOptions,
)

_PREFIX: Final = "metadata.iceberg."
_STORAGE: Final = "metadata.iceberg.storage"
_LOCATION: Final = "metadata.iceberg.storage-location"
_VERSION: Final = "metadata.iceberg.format-version"
_MIN: Final = "metadata.iceberg.compaction.min.file-num"
_MAX: Final = "metadata.iceberg.compaction.max.file-num"
_CATALOGS: Final = (IcebergStorage.HIVE_CATALOG, IcebergStorage.REST_CATALOG)
_FORMAT: Final = "parquet"


def iceberg_problems(schema: TableSchema, options: TableOptions) -> Iterator[Problem]:
    """Yield the problems of Iceberg metadata; of single options also where there are none."""
    declared = schema.options
    for key in sorted(declared):
        if key.startswith(_PREFIX) and key not in OWN_KEYS:
            yield Problem(
                field=key,
                value=declared[key],
                message="this version has no such option of Iceberg metadata",
                hint="options of Hive and REST catalogs are not supported; leave it out",
            )
    if options.iceberg_storage in _CATALOGS:
        yield Problem(
            field=_STORAGE,
            value=declared[_STORAGE],
            message="this version registers tables in no Hive metastore and no REST catalog",
            hint="use hadoop-catalog, and register the metadata file there",
        )
    if options.iceberg_format_version != 2:
        yield Problem(
            field=_VERSION,
            value=declared[_VERSION],
            message="this version writes Iceberg's format version 2",
            hint="leave it out",
        )
    if options.iceberg_compaction_max_files < options.iceberg_compaction_min_files:
        yield Problem(
            field=_MAX,
            value=str(options.iceberg_compaction_max_files),
            message=f"must not be less than `{_MIN}`, which is {options.iceberg_compaction_min_files}",
        )
    if options.iceberg_storage in (IcebergStorage.TABLE_LOCATION, IcebergStorage.HADOOP_CATALOG):
        yield from _table_problems(schema, options)


def _table_problems(schema: TableSchema, options: TableOptions) -> Iterator[Problem]:
    declared = schema.options
    storage = declared[_STORAGE]
    if (
        options.iceberg_storage is IcebergStorage.HADOOP_CATALOG
        and options.iceberg_storage_location is IcebergLocation.TABLE_LOCATION
    ):
        yield conflict(
            _LOCATION,
            declared[_LOCATION],
            f"{_STORAGE} = {storage}",
            "a Hadoop catalog finds no table there",
        )
    for field in schema.fields:
        gap = type_gap(field.type)
        if gap is not None:
            yield Problem(
                field=f"columns.{field.name}",
                value=str(field.type),
                message=f"a table with `{_STORAGE}` cannot have this column: {gap}",
            )
    top = options.num_levels - 1
    file_format = options.data_file_format(top)
    if file_format != _FORMAT:
        yield conflict(
            _STORAGE,
            storage,
            f"files in the format {file_format}",
            "Iceberg readers find no column ids in them",
        )
    if options.deletion_vectors_enabled:
        yield conflict(
            _STORAGE,
            storage,
            "deletion-vectors.enabled = true",
            "version 2 of Iceberg's format cannot mark their rows, so that deleted rows would be read",
        )
    if options.delete_retention_ms is not None:
        yield conflict(
            _STORAGE,
            storage,
            f"{DELETE_RETENTION} = {declared[DELETE_RETENTION]}",
            "Iceberg readers would read the retained deletes as rows",
        )
