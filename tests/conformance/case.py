"""One conformance case, parsed: a table, the steps done to it, and what each of them must give."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pyarrow as pa

from tests.conformance.column_types import TypeJson, arrow_type


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A declared column: its name, its type as in a schema file, and what may come with it."""

    name: str
    type_json: TypeJson
    default: str | None = None
    comment: str | None = None

    @property
    def arrow_field(self) -> pa.Field:
        """Name and Arrow type; nullable whatever was declared, for values are checked by the engine."""
        return pa.field(self.name, arrow_type(self.type_json))


_ONLY_LATER = "Incomparable type: BOOLEAN"
"""Max and min of a BOOLEAN: 2.0.0 takes the first value and fails at the second, later versions compare."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step and its expected outcome; `expected` is None after the step that must fail."""

    number: int
    """1-based, as failures name it."""
    kind: str
    """`write`, `compact`, `alter`, `read`, `tag`, … or, on merge level, `add` or `reset`."""
    action: Mapping[str, Any]
    expected: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A case object of the conformance format; `raw` keeps what only one consumer needs."""

    id: str
    level: str
    columns: Sequence[Column]
    primary_key: Sequence[str]
    partition_keys: Sequence[str]
    options: Mapping[str, str]
    steps: Sequence[Step]
    compare: Mapping[str, str]
    has_changelog: bool
    create_error: Mapping[str, str] | None
    raw: Mapping[str, Any]

    @property
    def arrow_schema(self) -> pa.Schema:
        """The declared columns in Arrow types, in order."""
        return pa.schema([column.arrow_field for column in self.columns])

    @property
    def names(self) -> list[str]:
        """The declared column names, in order."""
        return [column.name for column in self.columns]


def parse_case(raw: Mapping[str, Any]) -> Case:
    """Return the case of one JSON object. `expect` is followed; a variant where the engine follows it.

    Raises:
        KeyError: The object lacks a part that every case has.
    """
    expect = _followed(raw)
    expected: list[Mapping[str, Any] | None] = list(expect.get("steps", []))
    steps = raw.get("steps", [])
    expected += [None] * (len(steps) - len(expected))
    schema = raw["schema"]
    return Case(
        id=raw["id"],
        level=raw.get("level", "table"),
        columns=tuple(_column(column) for column in schema["columns"]),
        primary_key=tuple(schema.get("primary_key", ())),
        partition_keys=tuple(schema.get("partition") or ()),
        options=dict(raw.get("options", {})),
        steps=tuple(
            Step(number=number, kind=next(iter(action)), action=action, expected=outcome)
            for number, (action, outcome) in enumerate(zip(steps, expected, strict=True), start=1)
        ),
        compare=dict(raw.get("compare", {})),
        has_changelog=bool(raw.get("changelog")),
        create_error=expect.get("create_error"),
        raw=raw,
    )


def _followed(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the outcome of the version that the engine follows: 2.0.0, but what only later ones can do."""
    expect: Mapping[str, Any] = raw["expect"]
    errors = [step["error"]["message"] or "" for step in expect.get("steps", ()) if "error" in step]
    if any(_ONLY_LATER in message for message in errors):
        return cast(Mapping[str, Any], raw.get("variants", {}).get("master", expect))
    return expect


def read_cases(path: Path) -> Iterator[Case]:
    """Yield the cases of a `.jsonl` file in order; blank lines are passed over."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                yield parse_case(json.loads(line))


def _column(raw: Mapping[str, Any]) -> Column:
    return Column(
        name=raw["name"],
        type_json=raw["type"],
        default=raw.get("default"),
        comment=raw.get("comment"),
    )
