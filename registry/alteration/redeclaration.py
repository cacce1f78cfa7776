"""Repeated declarations of a registered table: the fields that may differ, and the differences found.

Pure. The rules for stale and complete rows, the feature views, the lookup indexes, the tests, the labels and the owner may
differ: no stored row depends on them.
"""

from collections.abc import Mapping
from typing import Final

from braid.registry.errors import DefinitionDiffers
from braid.registry.live_fields import FOR_PEOPLE
from braid.registry.store.stored_documents import with_table_features
from braid.schemas import FieldProblem, TableDocument, TableSpec
from braid.schemas.field_problems import display_text, problem_at

ROW_RULES: Final = (
    "staleness",
    "completeness",
    "views",
    "lookup_indexes",
    "tests",
    *FOR_PEOPLE,
)
"""Fields about answers, tests, labels and owner: no file depends on them."""

_CHANGES_HINT: Final = (
    "repeat the declaration as it is now, or send the change to `POST …/schema-changes`"
)
_FIXED_HINT: Final = (
    "this never changes: repeat the declaration as it is now, or create a table of another name"
)
HINTS: Final[Mapping[str, str]] = {
    "columns": _CHANGES_HINT,
    "sequence_groups": f"{_CHANGES_HINT}; a column can be kept (`keep`) only if the change that adds it says so, "
    "because values that a table already holds have no order of their own",
    "comment": _CHANGES_HINT,
    "options": _CHANGES_HINT,
    "row_ttl": _CHANGES_HINT,
    "buckets": "use `braid table rescale`, which moves the rows",
}
"""The way to change a field of the declaration, where there is one."""


def with_row_rules(document: TableDocument, spec: TableSpec) -> TableDocument:
    """Return the document with the row rules of a declaration that is otherwise the same.

    Raises:
        DefinitionDiffers: The declaration differs in another field.
    """
    problems = declared_differences(document.table, spec)
    if problems:
        message = f"the table {document.identifier} exists with another declaration"
        raise DefinitionDiffers(message, kind="table", problems=problems)
    return with_table_features(document.model_copy(update={"table": spec}))


def declared_differences(old: TableSpec, new: TableSpec) -> list[FieldProblem]:
    """Return the fields that differ although they must not."""
    before, after = old.model_dump(mode="json"), new.model_dump(mode="json")
    return [
        problem_at(
            field,
            value=after[field],
            message=f"is declared as `{display_text(before[field])}`",
            hint=HINTS.get(field, _FIXED_HINT),
        )
        for field in after
        if after[field] != before[field] and field not in ROW_RULES
    ]
