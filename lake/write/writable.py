"""Rules for tables that this version cannot write: their buckets, formats, codecs and columns.

Tables with postponed buckets are refused, and tables with dynamic buckets if a partition column is not in the primary
key; `files/encoding_rules` has the rules for formats, codecs and columns.
"""

from braid.lake.errors import Problem, UnsupportedFeature
from braid.lake.format.schema import TableSchema
from braid.lake.options.table_options import DYNAMIC_BUCKET, POSTPONE_BUCKET
from braid.lake.write.files.encoding_rules import encoding_problems


def check_writable(schema: TableSchema) -> None:
    """Refuse tables for which this writer would write wrong or invisible files.

    Raises:
        UnsupportedFeature: `problems` names each option, its value and what to use instead.
    """
    options = schema.table_options
    refused = [
        (
            "bucket",
            str(options.bucket),
            options.bucket == POSTPONE_BUCKET,
            "set a bucket count from 1, or -1 for buckets that are added as they fill",
        ),
        (
            "primaryKeys",
            ", ".join(schema.primary_keys),
            options.bucket == DYNAMIC_BUCKET
            and not set(schema.partition_keys) <= set(schema.primary_keys),
            "with `bucket = -1` a row would have to move between partitions; add the partition "
            "columns to the primary key, or partition by columns of the primary key only",
        ),
    ]
    problems = encoding_problems(schema) + [
        Problem(field=key, value=value, message="this version cannot write such a table", hint=hint)
        for key, value, is_refused, hint in refused
        if is_refused
    ]
    if problems:
        message = f"schema {schema.id} uses what this writer does not support"
        raise UnsupportedFeature(message, problems=problems)
