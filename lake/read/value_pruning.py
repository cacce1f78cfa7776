"""Pruning by value statistics: files whose statistics prove that no row fulfils the conditions.

Files are checked together: the statistics of all files with the same columns are decoded at once,
and only for the columns in conditions. A table may have a hundred thousand files and hundreds of
columns.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from braid.lake.files.column_mapping import OlderSchemas, map_columns, renamed
from braid.lake.format.data_file import DataFileMeta
from braid.lake.format.schema import TableSchema
from braid.lake.read.predicate import BoundCondition
from braid.lake.read.pruning import Bounds, file_bounds, may_match

_EMPTY_ARITY = bytes(4)


def files_without_match(
    files: Sequence[DataFileMeta],
    conditions: Sequence[BoundCondition],
    schema: TableSchema,
    older_schemas: OlderSchemas,
) -> frozenset[str]:
    """Return the names of the files whose statistics prove that no row fulfils the conditions.

    Args:
        files: Live files, of any buckets; names are unique.
        conditions: The conjunction.
        schema: The schema under which rows are read.
        older_schemas: By id, the schemas of files that were written with other columns.
    """
    if not conditions:
        return frozenset()
    columns = dict.fromkeys(condition.column for condition in conditions)
    excluded: set[str] = set()
    for members, bounds in bounds_by_layout(files, columns, schema, older_schemas):
        kept = may_match(bounds, conditions, len(members))
        excluded.update(
            file.file_name for file, is_kept in zip(members, kept, strict=True) if not is_kept
        )
    return frozenset(excluded)


def bounds_by_layout(
    files: Sequence[DataFileMeta],
    columns: Iterable[str],
    schema: TableSchema,
    older_schemas: OlderSchemas,
) -> Iterator[tuple[list[DataFileMeta], dict[str, Bounds]]]:
    """Yield files with statistics, those of one layout together, and the bounds of columns in them.

    Args:
        files: Live files, of any buckets.
        columns: Columns of the table. The bounds lack those that the files of a layout lack.
        schema: The schema under which rows are read.
        older_schemas: By id, the schemas of files that were written with other columns.
    """
    names = tuple(columns)
    # Statistics are rows of the columns that they cover: equal layouts are decoded together.
    groups: dict[tuple[int | None, tuple[str, ...] | None], list[DataFileMeta]] = defaultdict(list)
    for file in files:
        if not file.value_stats.min_values.startswith(_EMPTY_ARITY):
            written = file.schema_id if file.schema_id in older_schemas else None
            groups[written, file.value_stats_cols].append(file)
    for members in groups.values():
        yield members, _bounds(members, names, schema, older_schemas)


def _bounds(
    files: Sequence[DataFileMeta],
    columns: Sequence[str],
    schema: TableSchema,
    older_schemas: OlderSchemas,
) -> dict[str, Bounds]:
    """Return the bounds of columns in files with the same columns."""
    written = older_schemas.get(files[0].schema_id, schema)
    sources = map_columns(written.fields, [schema.field(name) for name in columns])
    covered = files[0].value_stats_cols
    names = written.field_names if covered is None else covered
    bounds: dict[str, Bounds] = file_bounds(
        [file.value_stats for file in files],
        [file.row_count for file in files],
        [written.field(name) for name in names],
        only=frozenset(source.name for source in sources.values()),
    )
    return renamed(bounds, sources)
