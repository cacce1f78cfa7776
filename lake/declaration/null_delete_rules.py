"""Rules for sequence groups whose deletes carry no values (`braid.null-deletes`).

The option names ordering columns of sequence groups, none of whose columns may have an aggregate
function. Deletes keep the values of `braid.null-deletes.kept-fields` and write a mark into
`braid.null-deletes.mark-fields`; the groups must protect all these columns, and the mark fields
must be texts. `braid.lake.write.rows.null_deletes` rewrites the deletes.

Source: ours.
"""

from collections.abc import Iterator

from braid.lake.declaration.rule_problems import known_names, unknown_column
from braid.lake.errors import Problem
from braid.lake.format.data_types import TEXT_ROOTS
from braid.lake.format.schema import TableSchema
from braid.lake.merge.declared_options import SequenceGroup, declared_groups
from braid.lake.merge.spec import effective_functions
from braid.lake.options.table_options import (
    NULL_DELETES,
    NULL_DELETES_KEPT,
    NULL_DELETES_MARKS,
    TableOptions,
)


def null_delete_problems(schema: TableSchema, options: TableOptions) -> Iterator[Problem]:
    """Yield the problems of the groups whose retracts carry no values."""
    groups = tuple(declared_groups(schema.options).values())
    ordering = sorted({name for group in groups for name in group.ordering})
    for name in options.null_deletes:
        if name not in ordering:
            yield Problem(
                field=NULL_DELETES,
                value=name,
                message="the column is not an ordering column of a sequence group",
                hint=known_names("ordering columns", name, ordering),
            )
    named = [group for group in groups if set(options.null_deletes).intersection(group.ordering)]
    yield from _function_problems(schema, named)
    protected = {name for group in named for name in group.protected}
    for key, names in (
        (NULL_DELETES_KEPT, options.null_deletes_kept_fields),
        (NULL_DELETES_MARKS, options.null_deletes_mark_fields),
    ):
        for name in names:
            field = schema.fields_by_name.get(name)
            if field is None:
                yield unknown_column(key, name, schema)
            elif name not in protected:
                yield Problem(
                    field=key,
                    value=name,
                    message=f"the column is in no sequence group whose ordering columns `{NULL_DELETES}` names",
                    hint=known_names("columns", name, sorted(protected)),
                )
            elif key == NULL_DELETES_MARKS and field.type.root not in TEXT_ROOTS:
                yield Problem(
                    field=key, value=name, message=f"column `{name}` is {field.type}, not a text"
                )


def _function_problems(schema: TableSchema, named: list[SequenceGroup]) -> Iterator[Problem]:
    """Yield a problem for every aggregated column: null adds nothing to it and retracts nothing."""
    protected = {name for group in named for name in group.protected}
    for function in effective_functions(schema):
        if function.column in protected:
            yield Problem(
                field=NULL_DELETES,
                value=function.column,
                message=f"`{function.name}` combines the values of the column, and a delete "
                "without values retracts none of them",
                hint="put the column into a group of its own",
            )
