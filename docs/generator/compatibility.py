"""Table of a generated page that lists the differences from Apache Paimon."""

from collections.abc import Iterable

from braid.lake.merge.compatibility import Compatibility
from docs.generator.markdown import table

LEGEND = (
    "The verdict compares Braid with Apache Paimon. *same*: both return the same rows. *stricter*: Braid "
    "accepts less, and what it accepts gives the same rows. *other*: Braid has a defined result where "
    "Paimon fails or its result is undefined."
)


def compatibility_table(entries: Iterable[Compatibility]) -> str | None:
    """Return a table with one line per entry; None without entries."""
    rows = ((entry.subject, entry.verdict, entry.why) for entry in entries)
    return table(("what", "verdict", "why"), rows)
