"""The page of all traps, and the short list of their causes in the guide."""

import json
from collections.abc import Iterator, Sequence

from docs.generator.markdown import bullets, capital, code, page, section, subsection, table
from docs.generator.trap_causes import TrapCause, by_cause
from docs.generator.traps import Trap, columns_text, steps_table
from tests.unit.lake.merge.test_anomalies import REMOVED_ROW, WRAPPED


def trap_page(traps: Sequence[Trap]) -> str:
    """Return the page with every trap below its cause: table, records, rows, way round."""
    grouped = by_cause(traps)
    return page(
        "Traps",
        "Where merging gives an answer that surprises. Apache Paimon gives the same answer to each "
        "of these (a test asks its own Java reader), and so does Braid: every engine shall see one "
        "row in one table. None of them can happen where only +I and +U are written and each "
        "column either has a function that minds no order and results that its type holds exactly, "
        "or no function and a sequence group whose ordering values are never null and never "
        "repeat.",
        bullets(f"[{cause.title}](#{cause.anchor}): {len(own)}" for cause, own in grouped.items()),
        "How to read the tables: each line is one commit, with the kind of each record in front of "
        "its values; beside it stand the rows that a reader sees afterwards. `k` is the primary "
        "key.",
        *(part for cause, own in grouped.items() for part in _cause_parts(cause, own)),
        section(
            "One answer that is not followed",
            "A record that removes a row through its sequence group removes it from every read. "
            "Paimon shows the row to a read that does not ask for the group's ordering column:",
            f"Columns `{columns_text(REMOVED_ROW)}`; {_options(REMOVED_ROW.options)}.",
            steps_table(REMOVED_ROW),
            "Here the last read has no row: a projection agrees with the full read.",
        ),
        section(
            "An option that others do not know",
            "A sum or product with `braid.on-overflow` = `wrap` wraps round here, integers and DECIMAL. "
            "Paimon 2.0 does not know the option: it fails to read a key whose integers do not fit "
            "their type, and shows a DECIMAL of at most 18 digits beyond them, until a compaction of "
            "Braid has merged the key's records. Paimon 1.4 wraps integers, too.",
            "**Way round.** Compact with Braid, or choose a wider type.",
            f"Columns `{columns_text(WRAPPED)}`; {_options(WRAPPED.options)}.",
            steps_table(WRAPPED),
        ),
    )


def trap_list(traps: Sequence[Trap]) -> str:
    """Return one line for every cause, as the guide has them."""
    rows = [
        (
            f"[{cause.title}](../reference/traps.md#{cause.anchor})",
            _from_guide(cause.says),
            _from_guide(cause.way_round),
        )
        for cause in by_cause(traps)
    ]
    text = table(("cause", "what happens", "way round"), rows)
    assert text is not None
    return text


def _from_guide(text: str) -> str:
    """Return text of the page of traps with its links as they are from a guide."""
    links = text.replace("](../guides/which-row-wins.md#", "](#").replace("](../guides/", "](")
    return links.replace("](aggregate-functions/", "](../reference/aggregate-functions/")


def _cause_parts(cause: TrapCause, traps: Sequence[Trap]) -> Iterator[str | None]:
    yield section(cause.title, cause.says, f"**Way round.** {cause.way_round}")
    for trap in traps:
        yield subsection(
            trap.title,
            trap.says,
            f"**Way round.** {capital(trap.way_round)}",
            f"Columns `{columns_text(trap.anomaly)}`; {_options(trap.options)}.",
            steps_table(trap.anomaly),
        )


def _options(options: object) -> str:
    assert isinstance(options, dict)
    return ", ".join(code(f"{key} = {json.dumps(text)[1:-1]}") for key, text in options.items())
