"""Length limit of the text in the name of a partition's directory (`<column>=<text>`)."""

import re
from typing import Final

# The longest name of a directory on common file systems.
_DIRECTORY_BYTES_MAX: Final = 255
ESCAPED: Final = r"""[\x00-\x1f"#%'*/:=?\\\x7f{}\[\]\^]"""
"""Pattern, of Python and of Java, of the characters that the table format writes as `%XX`: one byte each, three
when escaped."""


def partition_bytes_max(column: str) -> int:
    """Return the largest length of a partition column's text, in UTF-8 bytes, escaped as in a path.

    Example:
        >>> partition_bytes_max("country")
        247
    """
    return _DIRECTORY_BYTES_MAX - len(re.sub(ESCAPED, "%XX", column).encode()) - len("=")


def is_long_directory(column: str, text: str) -> bool:
    """Return whether a partition column's text is too long to name a directory."""
    return len(re.sub(ESCAPED, "%XX", text).encode()) > partition_bytes_max(column)
