"""Columns that hold only nulls in one data file, or in all of several files, by their statistics."""

from collections.abc import Iterable

from braid.lake.files.column_mapping import NO_OLDER_SCHEMAS, OlderSchemas, map_columns
from braid.lake.format.data_file import DataFileMeta
from braid.lake.format.schema import TableSchema


def null_columns(file_meta: DataFileMeta, schema: TableSchema) -> frozenset[str]:
    """Return the columns that hold only nulls according to a file's value statistics.

    Args:
        file_meta: Metadata of the file.
        schema: The schema that the file was written under.
    """
    counts = file_meta.value_stats.null_counts
    names = file_meta.value_stats_cols
    if names is None:
        names = schema.field_names
    # Not `strict`, because absent statistics are an empty row, whatever the columns are.
    return frozenset(
        name for name, count in zip(names, counts, strict=False) if count == file_meta.row_count
    )


def columns_without_values(
    files: Iterable[DataFileMeta],
    schema: TableSchema,
    older_schemas: OlderSchemas = NO_OLDER_SCHEMAS,
) -> frozenset[str]:
    """Return the columns that hold only nulls in every file, according to statistics.

    Args:
        files: Metadata of the files, at least one.
        schema: Schema of the table.
        older_schemas: Schemas by id, of those files that were written with other columns.
    """
    return frozenset.intersection(
        *(
            _null_columns_now(file, older_schemas.get(file.schema_id, schema), schema)
            for file in files
        )
    )


def _null_columns_now(
    file: DataFileMeta, written: TableSchema, schema: TableSchema
) -> frozenset[str]:
    nulls = null_columns(file, written)
    if written is schema:
        return nulls
    # Columns without values now: those that the file lacks, and those whose source holds only nulls.
    sources = map_columns(written.fields, schema.fields)
    known = {name for name in sources if sources[name].name not in nulls}
    return frozenset(schema.field_names) - known
