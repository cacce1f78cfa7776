"""The page of all traps, and the list of them in the guide."""

import json
from collections.abc import Iterator, Sequence

from docs.generator.markdown import capital, code, page, section, table
from docs.generator.traps import Trap, columns_text, steps_table
from tests.unit.lake.merge.test_anomalies import REMOVED_ROW


def trap_page(traps: Sequence[Trap]) -> str:
    """Return the page with every trap: table, records, rows, way round."""
    return page(
        "Traps",
        "Where merging gives an answer that surprises. Apache Paimon gives the same answer to each "
        "of these (its own Java reader is asked by a test), and so does Braid: every engine shall "
        "see one row in one table. None of them can happen where each column is in a sequence group "
        "whose ordering values do not repeat, or has a function that minds no order, and rows are "
        "never removed.",
        *(part for trap in traps for part in _trap_parts(trap)),
        section(
            "One answer that is not followed",
            "A record that removes a row through its sequence group removes it from every read. "
            "Paimon shows the row to a read that does not ask for the group's ordering column:",
            f"Columns `{columns_text(REMOVED_ROW)}`; {_options(REMOVED_ROW.options)}.",
            steps_table(REMOVED_ROW),
            "Here the last read has no row: a projection agrees with the full read.",
        ),
    )


def trap_list(traps: Sequence[Trap]) -> str:
    """Return one line for every trap, as the guide has them."""
    rows = [
        (
            f"[{trap.title}](../reference/traps.md#{trap.anchor})",
            _where(trap),
            capital(trap.way_round),
        )
        for trap in traps
    ]
    text = table(("what surprises", "where", "way round"), rows)
    assert text is not None
    return text


def _trap_parts(trap: Trap) -> Iterator[str | None]:
    yield section(
        trap.title,
        trap.says,
        f"**Way round.** {capital(trap.way_round)}",
        f"Columns `{columns_text(trap.anomaly)}`; {_options(trap.options)}.",
        steps_table(trap.anomaly),
    )


def _options(options: object) -> str:
    assert isinstance(options, dict)
    return ", ".join(code(f"{key} = {json.dumps(text)[1:-1]}") for key, text in options.items())


def _where(trap: Trap) -> str:
    return ", ".join(map(code, trap.functions or (trap.engine,)))
