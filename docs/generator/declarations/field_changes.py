"""Table of the ways in which the fields of a registered table and stream can change."""

from collections.abc import Sequence

from braid.registry.alteration.redeclaration import HINTS, ROW_RULES
from braid.registry.stream_admission import FIXED_ONCE_STARTED
from braid.schemas import StreamDefinition, TableSpec
from docs.generator.markdown import code, section, table

_ANY_TIME = "by `PUT` of the table, while its streams run"
_STREAM_ANY_TIME = (
    "by `PUT` of the stream in any state; a running stream adopts it between two micro-batches"
)
_OF_STREAM = {
    "name": "never: it is a part of the address",
    "starting_offsets": "by `PUT`; without effect once the table has a position of the stream, which "
    "[can be set](../../guides/stream-positions.md)",
    **dict.fromkeys(
        FIXED_ONCE_STARTED,
        "by `PUT` until the table has records of the stream; then "
        "[another stream](../http-api.md#streams) takes its place",
    ),
}


def table_changes() -> str | None:
    """Return the section that says how each field of a table changes."""
    rows = [(code(name), _of_table(name)) for name in TableSpec.model_fields]
    return _section(rows)


def stream_changes() -> str | None:
    """Return the section that says how each field of a stream changes."""
    rows = [
        (code(name), _OF_STREAM.get(name, _STREAM_ANY_TIME))
        for name in StreamDefinition.model_fields
    ]
    return _section(rows)


def _of_table(name: str) -> str:
    if name in ROW_RULES:
        return _ANY_TIME
    if name == "buckets":
        return "by [`braid table rescale`](../../guides/rescaling.md)"
    if name in HINTS:
        return "by [schema changes](schema-changes.md), while streams run"
    return "never: create another table"


def _section(rows: Sequence[tuple[str, str]]) -> str | None:
    return section("Changes of a registered declaration", table(("field", "changes"), rows))
