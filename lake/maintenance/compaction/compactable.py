"""Rules for tables that this version cannot compact: their options, formats, codecs and columns."""

from braid.lake.errors import Problem, UnsupportedFeature
from braid.lake.format.schema import TableSchema
from braid.lake.write.files.encoding_rules import encoding_problems


def check_compactable(schema: TableSchema) -> None:
    """Refuse tables that a compaction of this version would leave wrong or incomplete.

    Raises:
        UnsupportedFeature: The table is refused; `problems` has each option, its value and the reason.
    """
    refused = [
        (
            "record-level.expire-time",
            schema.options.get("record-level.expire-time"),
            "record-level.expire-time" in schema.options,
            "a compaction has to remove old records",
        ),
        (
            "chain-table.enabled",
            schema.options.get("chain-table.enabled"),
            schema.options.get("chain-table.enabled", "false").strip().lower() == "true",
            "a compaction has to keep retracts",
        ),
    ]
    problems = encoding_problems(schema) + [
        Problem(
            field=key,
            value=value,
            message=f"this version cannot compact such a table: {reason}",
            hint="leave the option out; other engines of the format can compact a table with it",
        )
        for key, value, is_refused, reason in refused
        if is_refused
    ]
    if problems:
        message = f"schema {schema.id} uses what this compaction does not support"
        raise UnsupportedFeature(message, problems=problems)
