"""Data types of declared columns, which are stored as SQL text.

Pure. A type that cannot be parsed is a problem of its column: `type_fault` returns its text, and the rules for
tables report it. `parsed_type` and `declared_type` return None for such a type.
"""

from typing import Final

from braid.lake import DataType, InvalidRequest, parse_type
from braid.schemas import TableSpec

_EXAMPLES: Final = "for example BIGINT, DECIMAL(10, 2), TIMESTAMP(3), STRING"


def parsed_type(sql: str) -> DataType | None:
    """Return the parsed type; None where the text is not a type."""
    try:
        return parse_type(sql)
    except InvalidRequest:
        return None


def type_fault(error: InvalidRequest) -> tuple[str, str]:
    """Return message and hint for a text that is not a type.

    Args:
        error: The error that `parse_type` raised.
    """
    reasons = [problem.message for problem in error.problems]
    hints = [problem.hint for problem in error.problems if problem.hint is not None]
    message = "; ".join(reasons) or str(error).partition("\n")[0]
    return message, "; ".join(hints) or _EXAMPLES


def declared_type(spec: TableSpec, column: str) -> DataType | None:
    """Return a column's type; None where it cannot be parsed or the column is not declared."""
    declared = next((c.type for c in spec.columns if c.name == column), None)
    return None if declared is None else parsed_type(declared)
