"""The reference page of all traps, and the table of their causes in the guide."""

import json
from collections.abc import Iterator, Sequence

from docs.generator.markdown import bullets, capital, code, page, section, subsection, table
from docs.generator.trap_causes import TrapCause, by_cause
from docs.generator.traps import Trap, columns_text, steps_table
from tests.unit.lake.merge.test_anomalies import REMOVED_ROW, WRAPPED


def trap_page(traps: Sequence[Trap]) -> str:
    """Return the page with every trap below its cause: table, records, rows, and workaround."""
    grouped = by_cause(traps)
    return page(
        "Traps",
        "This page lists surprising results of merging. Apache Paimon and Braid have the same results, because "
        "every engine has to return the same rows of a table (a test compares them with Paimon's Java "
        "reader). None of these traps can happen in a table to which only +I and +U are written, and in which "
        "each column outside the key is of one of two kinds. A column of the first kind has an order-free function, and its type "
        "represents every result of the function exactly. A column of the second kind has no function and is in a "
        "sequence group whose ordering values are never null and never repeat.",
        bullets(f"[{cause.title}](#{cause.anchor}): {len(own)}" for cause, own in grouped.items()),
        "How to read the tables: each line is one commit, with the kind of each record before its "
        "values, and with the rows that a reader sees after the commit. `k` is the primary key.",
        *(part for cause, own in grouped.items() for part in _cause_parts(cause, own)),
        section(
            "One result that differs from Paimon's",
            "If a record removes a row through its sequence group, no read returns the row. "
            "In Paimon, a read without the group's ordering column still returns the row:",
            f"Columns `{columns_text(REMOVED_ROW)}`; {_options(REMOVED_ROW.options)}.",
            steps_table(REMOVED_ROW),
            "In Braid the last read has no row: a projection returns the same rows as the full read.",
        ),
        section(
            "An option that other engines ignore",
            "In Braid a sum or product of integers or DECIMAL with `braid.on-overflow` = `wrap` wraps "
            "around. Paimon 2.0 ignores the option until a compaction of Braid has merged the records of "
            "the key: it fails to read a key whose integers do not fit their type, and returns a DECIMAL "
            "of at most 18 digits with more digits. Paimon 1.4 wraps integers, too.",
            "**Workaround.** Compact with Braid, or choose a wider type.",
            f"Columns `{columns_text(WRAPPED)}`; {_options(WRAPPED.options)}.",
            steps_table(WRAPPED),
        ),
    )


def trap_list(traps: Sequence[Trap]) -> str:
    """Return the table of causes of the guide, one line per cause."""
    rows = [
        (
            f"[{cause.title}](../reference/traps.md#{cause.anchor})",
            _from_guide(cause.says),
            _from_guide(cause.workaround),
        )
        for cause in by_cause(traps)
    ]
    text = table(("cause", "what happens", "workaround"), rows)
    assert text is not None
    return text


def _from_guide(text: str) -> str:
    """Return text of the page of traps with its links relative to a guide."""
    links = text.replace("](../guides/which-row-wins.md#", "](#").replace("](../guides/", "](")
    return links.replace("](aggregate-functions/", "](../reference/aggregate-functions/")


def _cause_parts(cause: TrapCause, traps: Sequence[Trap]) -> Iterator[str | None]:
    yield section(cause.title, cause.says, f"**Workaround.** {cause.workaround}")
    for trap in traps:
        yield subsection(
            trap.title,
            trap.says,
            f"**Workaround.** {capital(trap.workaround)}",
            f"Columns `{columns_text(trap.anomaly)}`; {_options(trap.options)}.",
            steps_table(trap.anomaly),
        )


def _options(options: object) -> str:
    assert isinstance(options, dict)
    return ", ".join(code(f"{key} = {json.dumps(text)[1:-1]}") for key, text in options.items())
