"""Which file indexes a table may declare.

Only new and altered tables are refused: files of one that another engine has made are read by what
they have, and written with the indexes that make sense.

Source: table-format 16; `org.apache.paimon.schema.SchemaValidation.validateFileIndex`.
"""

from collections.abc import Iterator
from typing import Final

from lake.declaration.rule_problems import find_field, known_names, unknown_column
from lake.errors import Problem
from lake.file_index_options import column_of, parse_file_index_options
from lake.format.indexes.file_index import BLOOM_FILTER
from lake.format.indexes.indexed_columns import bloom_problems
from lake.format.schema import TableSchema

KINDS: Final = (BLOOM_FILTER, "bitmap", "bsi", "range-bitmap")
"""This engine writes and reads the first; other engines the others, which hinder nobody here."""


def file_index_problems(schema: TableSchema) -> Iterator[Problem]:
    """Yield what is wrong with the options `file-index.*`."""
    options = parse_file_index_options(schema.options)
    yield from options.problems
    for kind, names in options.declared.items():
        place = f"file-index.{kind}.columns"
        if kind not in KINDS:
            yield Problem(
                field=place,
                value=schema.options[place],
                message=f"there is no index of the kind `{kind}`",
                hint=known_names("kinds", kind, KINDS),
            )
        for name in names:
            column, _ = column_of(name)
            if find_field(schema, column) is None:
                yield unknown_column(place, column, schema)
    for bloom in options.blooms:
        if find_field(schema, bloom.column) is not None:
            yield from bloom_problems(bloom, schema)
