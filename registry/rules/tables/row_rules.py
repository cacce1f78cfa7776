"""Rules for staleness and completeness, of a table and of its feature views: they name groups that exist.

Pure. Staleness is measured by the columns that tracking adds.
"""

from collections.abc import Iterator

from braid.schemas import CompletenessSpec, FieldProblem, StalenessSpec, TableSpec
from braid.schemas.field_problems import problem_at, quoted_list


def check_row_rules(spec: TableSpec) -> Iterator[FieldProblem]:
    """Yield the problems of the table's own staleness and completeness."""
    yield from check_staleness(spec, spec.staleness, "staleness")
    yield from check_completeness(spec, spec.completeness, "completeness")


def check_staleness(
    spec: TableSpec, staleness: StalenessSpec, *path: str | int
) -> Iterator[FieldProblem]:
    """Yield the problems of a staleness.

    Args:
        spec: The table's declaration.
        staleness: The ages.
        *path: Its place in the declaration.
    """
    for name in staleness.groups:
        yield from check_group(spec, name, *path, "groups", name)
    if not spec.tracking and (staleness.groups or staleness.default_seconds is not None):
        yield problem_at(
            *path,
            value="tracking: false",
            message="staleness is measured by the columns that tracking adds",
            hint="leave `tracking` true, or leave out `staleness`",
        )


def check_completeness(
    spec: TableSpec, completeness: CompletenessSpec, *path: str | int
) -> Iterator[FieldProblem]:
    """Yield the problems of a completeness; its arguments are those of `check_staleness`."""
    if completeness.groups == "all":
        return
    for index, name in enumerate(completeness.groups):
        yield from check_group(spec, name, *path, "groups", index)


def check_group(spec: TableSpec, name: str, *path: str | int) -> Iterator[FieldProblem]:
    """Yield the problem of a name that is not the name of a sequence group."""
    if spec.sequence_group(name) is None:
        known = quoted_list(group.name for group in spec.sequence_groups)
        message, hint = "no such sequence group", f"sequence groups: {known}"
        yield problem_at(*path, value=name, message=message, hint=hint)
