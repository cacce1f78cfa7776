"""A registered table that is declared again: what may be said otherwise, and what differs.

Pure. When a row is stale or complete says how rows are told, and changes none; so it may differ.
"""

from collections.abc import Mapping
from typing import Final

from registry.errors import DefinitionDiffers
from registry.store.revision import Precondition, revision_of
from schemas import FieldProblem, TableDocument, TableSpec
from schemas.field_problems import display_text, problem_at

# What a declaration says about the status of rows, which no file depends on.
_ROW_RULES: Final = ("staleness", "completeness")

_CHANGES_HINT: Final = (
    "repeat the declaration as it is now, or send the change to `POST …/schema-changes`"
)
_FIXED_HINT: Final = (
    "this stays as it is: repeat the declaration as it is now, or create a table of another name"
)
_HINTS: Final[Mapping[str, str]] = {
    "columns": _CHANGES_HINT,
    "sequence_groups": _CHANGES_HINT,
    "comment": _CHANGES_HINT,
    "options": _CHANGES_HINT,
    "buckets": "use `braid table rescale`, which moves the rows",
}
"""How to come by another value of a field of the declaration."""


def with_row_rules(
    document: TableDocument, spec: TableSpec, precondition: Precondition
) -> TableDocument:
    """Return the document with the rules for rows that a declaration has; all else is the same.

    Raises:
        DefinitionDiffers: All else is not the same.
        PreconditionFailed: What the caller has seen is not what is there.
    """
    precondition.check(revision_of(document))
    problems = declared_differences(document.table, spec)
    if problems:
        message = f"there is a table {document.identifier}, declared otherwise"
        raise DefinitionDiffers(message, kind="table", problems=problems)
    return document.model_copy(update={"table": spec})


def declared_differences(old: TableSpec, new: TableSpec) -> list[FieldProblem]:
    """Return what is declared otherwise, and may not be."""
    before, after = old.model_dump(mode="json"), new.model_dump(mode="json")
    return [
        problem_at(
            field,
            value=after[field],
            message=f"is `{display_text(before[field])}`",
            hint=_HINTS.get(field, _FIXED_HINT),
        )
        for field in after
        if after[field] != before[field] and field not in _ROW_RULES
    ]
