"""Rules for feature views: names, columns that the table declares, and groups that exist.

Pure. A view has declared columns only: the status in its answers has what the generated columns of a group hold.
"""

from collections.abc import Iterator

from braid.registry import names
from braid.registry.rules.tables.row_rules import check_completeness, check_staleness
from braid.schemas import FieldProblem, TableSpec, ViewSpec
from braid.schemas.field_problems import problem_at, quoted_list


def check_views(spec: TableSpec) -> Iterator[FieldProblem]:
    """Yield the problems of the table's feature views."""
    paths = [("views", index, "name") for index in range(len(spec.views))]
    yield from names.check_distinct([view.name for view in spec.views], paths, kind="view")
    for index, view in enumerate(spec.views):
        yield from names.check_name(view.name, "views", index, "name", kind="view")
        yield from _check_columns(spec, view, index)
        path = ("views", index)
        yield from check_completeness(spec, view.completeness, *path, "completeness")
        if view.staleness is not None:
            yield from check_staleness(spec, view.staleness, *path, "staleness")


def _check_columns(spec: TableSpec, view: ViewSpec, index: int) -> Iterator[FieldProblem]:
    declared = frozenset(spec.column_names)
    seen: set[str] = set()
    for position, one in enumerate(view.columns):
        path = ("views", index, "columns", position)
        if one.column not in declared:
            yield problem_at(
                *path,
                "column",
                value=one.column,
                message="no such column",
                hint=f"columns: {quoted_list(spec.column_names)}",
            )
        if one.shown_name in seen:
            yield problem_at(
                *path,
                "name",
                value=one.shown_name,
                message="another column of the view has this name in answers",
                hint="give the column another `name`, or leave it out",
            )
        seen.add(one.shown_name)
