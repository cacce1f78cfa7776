"""The changes that the arguments of `braid table alter` ask for: clauses, and a file of JSON."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from braid.cli.alter_clauses import expected_form, parse_clause
from braid.cli.arguments import refuse
from braid.schemas import SchemaChanges, TableChange

STANDARD_INPUT: Final = "-"
_SHOWN_MAX: Final = 200


def requested_changes(clauses: Sequence[str], file: str | None) -> tuple[TableChange, ...]:
    """Return the changes given on the command line; exit with one line when they are invalid.

    Args:
        clauses: Clauses in the forms that `parse_clause` reads.
        file: Path of a JSON document, the body of `schema-changes` over HTTP; `-` for standard
            input. Its changes come first.
    """
    changes = [] if file is None else _read(file)
    for clause in clauses:
        change = parse_clause(clause)
        if change is None:
            refuse("CHANGE", clause, expected_form(clause))
        changes.append(change)
    if not changes:
        refuse("CHANGE", "", "expected at least one change, such as `ADD note STRING`")
    try:
        return SchemaChanges.model_validate({"changes": changes}).changes
    except ValidationError as error:
        first = error.errors()[0]
        location = ".".join(str(part) for part in first["loc"])
        context = first.get("ctx", {})
        # pydantic's own messages for these two name its internal tags, which users do not know.
        if "expected_tags" in context:
            refuse("CHANGE", location, f"no such kind; known: {context['expected_tags']}")
        if first["type"] == "union_tag_not_found":
            expected = "expected an object with its kind, such as `change`: `add_column`"
            refuse("CHANGE", location, expected)
        refuse("CHANGE", location, first["msg"][:_SHOWN_MAX])


def _read(file: str) -> list[dict[str, Any]]:
    try:
        text = sys.stdin.read() if file == STANDARD_INPUT else Path(file).read_text()
        changes = json.loads(text)["changes"]
        return list(changes)
    except OSError as error:
        refuse("--file", file, str(error.strerror))
    except (ValueError, KeyError, TypeError):
        refuse("--file", file, 'expected a JSON object such as {"changes": [...]}')
