"""Rules for the file indexes of a table.

The rules hold whenever a table is created, altered or rescaled. A table of another engine is read
and written even if it breaks them: a file is read with the bloom filters that it has, and a new
file gets those declared filters that the rules accept.

Source: table-format 16; `org.apache.paimon.schema.SchemaValidation.validateFileIndex`.
"""

from collections.abc import Iterator
from typing import Final

from braid.lake.declaration.rule_problems import find_field, known_names, unknown_column
from braid.lake.errors import Problem
from braid.lake.format.indexes.file_index import BLOOM_FILTER
from braid.lake.format.indexes.indexed_columns import bloom_problems
from braid.lake.format.schema import TableSchema
from braid.lake.options.file_index_options import column_of, parse_file_index_options

KINDS: Final = (BLOOM_FILTER, "bitmap", "bsi", "range-bitmap")
"""Kinds of indexes. This engine writes and reads the first kind; the others are for other engines."""


def file_index_problems(schema: TableSchema) -> Iterator[Problem]:
    """Yield the problems of the options `file-index.*`."""
    options = parse_file_index_options(schema.options)
    yield from options.problems
    for kind, names in options.declared.items():
        key = f"file-index.{kind}.columns"
        if kind not in KINDS:
            yield Problem(
                field=key,
                value=schema.options[key],
                message=f"there is no index of the kind `{kind}`",
                hint=known_names("kinds", kind, KINDS),
            )
        for name in names:
            column, _ = column_of(name)
            if find_field(schema, column) is None:
                yield unknown_column(key, column, schema)
    for bloom in options.blooms:
        if find_field(schema, bloom.column) is not None:
            yield from bloom_problems(bloom, schema)
