"""Rules for the values of maintenance options: compaction, consumers, tags, columns that a changelog ignores.

The rules hold whenever a table is created, altered or rescaled. The reference accepts the values
that they refuse, and silently raises `num-sorted-run.stop-trigger` and
`lookup-compact.max-interval` to the compaction trigger. So tables with such values exist. They are
read and written, but can be altered or rescaled only once the values fit; the alteration itself may
correct them.

Source: merge-semantics 7, 8.4, 9.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from braid.lake.declaration.rule_problems import unknown_column
from braid.lake.errors import Problem
from braid.lake.format.schema import TableSchema
from braid.lake.options.option_parsers import parse_duration, parse_integer
from braid.lake.options.table_options import TableOptions

_TRIGGER: Final = "num-sorted-run.compaction-trigger"
_FROM_TRIGGER: Final = {
    "num-sorted-run.stop-trigger": "the option's default is the trigger plus 3",
    "lookup-compact.max-interval": "the option's default is twice the trigger",
}
_DURATIONS: Final = {
    "consumer.expiration-time": "leave it out to keep consumers until they are deleted",
    "tag.default-time-retained": "leave it out to keep tags until they are deleted",
}
_SMALL_FILES: Final = "compaction.small-file-ratio"
_IGNORED: Final = "changelog-producer.row-deduplicate-ignore-fields"


def maintenance_problems(schema: TableSchema, options: TableOptions) -> Iterator[Problem]:
    """Yield a problem for every value without a meaning.

    Args:
        schema: Schema of the table.
        options: The schema's options, parsed.
    """
    declared = schema.options
    yield from _trigger_problems(declared, options.num_sorted_run_compaction_trigger)
    for key, hint in _DURATIONS.items():
        if parse_duration(declared.get(key, "1 s")) == 0:
            yield Problem(
                field=key, value=declared[key], message="expected a duration above 0", hint=hint
            )
    if options.compaction_small_file_ratio > 1:
        yield Problem(
            field=_SMALL_FILES,
            value=declared[_SMALL_FILES],
            message="expected a number from 0 to 1",
            hint="above 1 even files of the target size would count as small; the default is 0.7",
        )
    for name in options.changelog_producer_row_deduplicate_ignore_fields:
        if name not in schema.field_names:
            yield unknown_column(_IGNORED, name, schema)


def _trigger_problems(declared: Mapping[str, str], trigger: int) -> Iterator[Problem]:
    for key, default in _FROM_TRIGGER.items():
        number = parse_integer(declared.get(key, ""))
        if number is not None and number < trigger:
            yield Problem(
                field=key,
                value=declared[key],
                message=f"must not be less than `{_TRIGGER}`, which is {trigger}",
                hint=default,
            )
