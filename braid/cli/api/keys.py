"""The key of a row, and other values by column, as arguments of a command: `id=7 region=eu`."""

from collections.abc import Sequence

from braid.cli.arguments import refuse


def values_of(name: str, arguments: Sequence[str]) -> dict[str, str]:
    """Return values by column; exit with one line when an argument has no column, or a column is given twice.

    Args:
        name: The argument or option, for the message.
        arguments: Texts such as `id=7`; the first `=` ends the column's name.
    """
    values: dict[str, str] = {}
    for argument in arguments:
        column, equals, value = argument.partition("=")
        if not column or not equals:
            refuse(name, argument, "expected a column and a value, such as id=7")
        if column in values:
            refuse(name, argument, f"the column {column} is given twice")
        values[column] = value
    return values


def names_of(text: str | None) -> list[str] | None:
    """Return names that are separated by commas; None for None."""
    return None if text is None else [name.strip() for name in text.split(",")]
