"""Errors of aggregate functions.

Source: merge-semantics 4.
"""

from braid.lake.errors import Problem, SchemaMismatch


def value_error(
    column: str, name: str, message: str, hint: str, value: str | None = None
) -> SchemaMismatch:
    """Return the error for values of a column that its function cannot combine.

    Args:
        column: The column.
        name: Its aggregate function.
        message: What went wrong, in a few words.
        hint: What to do about it.
        value: The value that caused it, if there is one.
    """
    problem = Problem(
        field=column, value=value, message=f"`{name}` of the column {message}", hint=hint
    )
    return SchemaMismatch("records cannot be merged", problems=[problem])


def refused_retract(column: str, name: str) -> SchemaMismatch:
    """Return the error for a retract of a column whose function does not support retracts."""
    return value_error(
        column,
        name,
        "has no retract operation, and a record is a retract",
        f"set `fields.{column}.ignore-retract`",
        value="-U or -D",
    )
