"""Traps: surprising results of merging, read from the tests that pin them.

Each trap comes from a test, which has a table, records, and the rows that Apache Paimon returns.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from docs.generator.markdown import code, table
from tests.unit.lake.merge import test_anomalies as pinned
from tests.unit.lake.merge.given_anomaly import ANOMALIES, READ_FAILS, Anomaly

PAGE = "docs/reference/traps.md"
_WORKAROUND, _SOURCE = "Workaround: ", "Source: "


@dataclass(frozen=True, slots=True, kw_only=True)
class Trap:
    """A surprising result.

    Attributes:
        name: The name of its test, without `test_`.
        title: A sentence without its full stop.
        says: What happens.
        workaround: What to do instead; begins with a lower-case letter.
        source: Where it is specified.
        anomaly: Table, records, rows.
    """

    name: str
    title: str
    says: str
    workaround: str
    source: str
    anomaly: Anomaly

    @property
    def engine(self) -> str:
        """The merge engine."""
        return self.anomaly.options["merge-engine"]

    @property
    def functions(self) -> tuple[str, ...]:
        """The aggregate functions of the table."""
        options = self.anomaly.options.items()
        return tuple(value for key, value in options if key.endswith(".aggregate-function"))

    @property
    def anchor(self) -> str:
        """The anchor of its heading on the page of traps."""
        return self.title.lower().replace(" ", "-").replace(",", "")

    @property
    def options(self) -> Mapping[str, str]:
        """Options of the table."""
        return self.anomaly.options


def traps() -> list[Trap]:
    """Return all traps, in the order of their tests."""
    assert pinned.GROUP, "importing the tests has filled the list"
    return [_trap(name, describe) for name, describe in ANOMALIES.items()]


def _trap(name: str, describe: Callable[[], Anomaly]) -> Trap:
    paragraphs = [" ".join(part.split()) for part in str(describe.__doc__).split("\n\n")]
    words = name.replace("_", " ")
    return Trap(
        name=name,
        title=words[0].upper() + words[1:],
        says=" ".join(p for p in paragraphs if not p.startswith((_WORKAROUND, _SOURCE))),
        workaround=_found(paragraphs, _WORKAROUND),
        source=_found(paragraphs, _SOURCE),
        anomaly=describe(),
    )


def _found(paragraphs: list[str], start: str) -> str:
    (found,) = (part.removeprefix(start) for part in paragraphs if part.startswith(start))
    return found


def steps_table(anomaly: Anomaly) -> str | None:
    """Return a table with each step and the rows after it."""
    rows = [(_done(step), _rows(expected, anomaly)) for step, expected in anomaly.steps]
    return table(("commit", "rows then"), rows)


def columns_text(anomaly: Anomaly) -> str:
    """Return the columns and their types as SQL writes them."""
    return ", ".join(f"{name} {_type_text(kind)}" for name, kind in anomaly.columns.items())


def _done(step: Mapping[str, Any]) -> str:
    match step:
        case {"write": records}:
            return ", ".join(_record(record) for record in records)
        case {"add": record}:
            return _record(record)
        case {"compact": _}:
            return "a full compaction"
        case _:
            return f"a read of {', '.join(step['read']['columns'])}"


def _record(record: list[Any]) -> str:
    kind, *values = record
    return code(f"{kind} {json.dumps(values, ensure_ascii=False)[1:-1]}")


def _rows(expected: Any, anomaly: Anomaly) -> str:
    if expected is READ_FAILS:
        return "every read of the key, every full scan and every compaction fails"
    if anomaly.is_merge_level:
        return _record(expected)
    rows = [code(json.dumps(row, ensure_ascii=False)[1:-1]) for row in expected]
    return "; ".join(rows) or "none"


def _type_text(kind: Any) -> str:
    match kind:
        case str():
            return kind
        case {"type": "ARRAY", "element": element}:
            return f"ARRAY<{_type_text(element)}>"
        case {"type": "MAP", "key": key, "value": value}:
            return f"MAP<{_type_text(key)}, {_type_text(value)}>"
        case _:
            fields = (f"{part['name']} {_type_text(part['type'])}" for part in kind["fields"])
            return f"ROW<{', '.join(fields)}>"
