"""The table of how something stands to the reference."""

from collections.abc import Iterable

from docs.generator.markdown import table
from lake.merge.compatibility import Compatibility

LEGEND = (
    "The reference is Apache Paimon. *same*: the same rows. *stricter*: less is accepted, and what "
    "is accepted gives the same rows. *other*: an answer where the reference fails, or leaves open "
    "what the answer is."
)


def compatibility_table(entries: Iterable[Compatibility]) -> str | None:
    """Return one line for each."""
    rows = ((entry.subject, entry.verdict, entry.why) for entry in entries)
    return table(("what", "verdict", "why"), rows)
