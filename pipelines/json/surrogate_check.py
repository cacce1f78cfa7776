r"""Check for unpaired surrogates in JSON texts, evaluated in the JVM for every record.

Spark's parser replaces an unpaired surrogate by `?`. This check finds the few messages that have one
anywhere; Python decides whether it is in a declared value (`braid.formats.unpaired_surrogates`).
"""

from typing import Final

from pyspark.sql import (
    Column,
    functions as fn,
)

_BACKSLASH: Final = r"\\\\"
_SURROGATE: Final = r"\\u[dD][89a-fA-F]"
_PAIR: Final = r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"


def has_unpaired_surrogate(text: Column) -> Column:
    """Return whether a JSON text has an unpaired surrogate; null where the text is null."""
    # `\\ud800` is an escaped backslash and the letters `ud800`, so escaped backslashes go first. Each
    # is replaced by a blank and not by nothing: else the texts around it could join to an escape.
    without_backslashes = fn.regexp_replace(text, _BACKSLASH, " ")
    without_pairs = fn.regexp_replace(without_backslashes, _PAIR, " ")
    # The first test is redundant and cheap: most texts have no surrogate, and end there.
    return fn.rlike(text, fn.lit(_SURROGATE)) & fn.rlike(without_pairs, fn.lit(_SURROGATE))
