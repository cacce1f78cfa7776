"""Rules for tables that this version cannot compact.

These tables are refused: tables of chains (`chain-table.enabled`), tables whose expired rows a compaction cannot
remove, and tables with formats, codecs or columns for which no file can be written.
"""

from braid.lake.declaration.row_expiry_rules import uncompactable_expiry
from braid.lake.errors import Problem, UnsupportedFeature
from braid.lake.format.schema import TableSchema
from braid.lake.write.files.encoding_rules import encoding_problems


def check_compactable(schema: TableSchema) -> None:
    """Refuse tables that a compaction of this version would leave wrong or incomplete.

    Raises:
        UnsupportedFeature: The table is refused; `problems` has each option, its value and the reason.
    """
    chained = schema.options.get("chain-table.enabled", "false")
    problems = encoding_problems(schema)
    problems += uncompactable_expiry(schema, schema.table_options)
    if chained.strip().lower() == "true":
        problems.append(
            Problem(
                field="chain-table.enabled",
                value=chained,
                message="this version cannot compact such a table: a compaction has to keep retracts",
                hint="leave the option out; other engines of the format can compact a table with it",
            )
        )
    if problems:
        message = f"schema {schema.id} uses what this compaction does not support"
        raise UnsupportedFeature(message, problems=problems)
