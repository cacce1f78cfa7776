"""Changed values between two versions of a document."""

from typing import Any

from braid.registry.store.document_changes import (
    CHANGES_BYTES_MAX,
    bounded_changes,
    document_changes,
)
from braid.schemas import (
    AuditChange,
    ColumnSpec,
    DesiredState,
    PendingSchema,
    StreamColumn,
    StreamEntry,
    StreamSpec,
    TableDocument,
    TableSpec,
)

STREAM = StreamSpec(name="s", topic="t", columns=(StreamColumn(column="k"),), dead_letter_topic="d")
DOCUMENT = TableDocument(
    database="shop",
    name="orders",
    table=TableSpec(
        columns=(ColumnSpec(name="k", type="INT"), ColumnSpec(name="v", type="INT")),
        primary_key=("k",),
    ),
    streams={"s": StreamEntry(spec=STREAM)},
)


def with_columns(*columns: ColumnSpec) -> TableDocument:
    table = DOCUMENT.table.model_copy(update={"columns": columns})
    return DOCUMENT.model_copy(update={"table": table})


def with_stream(**changes: Any) -> TableDocument:
    entry = DOCUMENT.streams["s"].model_copy(update=changes)
    return DOCUMENT.model_copy(update={"streams": {"s": entry}})


def test_only_the_changed_value_is_listed() -> None:
    paused = with_stream(desired_state=DesiredState.PAUSED, version=2)

    assert document_changes(DOCUMENT, paused) == (
        AuditChange(pointer="/streams/s/desired_state", before="RUNNING", after="PAUSED"),
    )


def test_what_follows_from_the_declaration_is_no_change() -> None:
    after = with_stream(version=9, features=("views",)).model_copy(update={"schema_id": 4})

    assert document_changes(DOCUMENT, after) == ()


def test_entries_of_lists_are_compared_by_name() -> None:
    k, v = DOCUMENT.table.columns
    wide = v.model_copy(update={"type": "BIGINT"})
    new = ColumnSpec(name="n", type="STRING")

    changes = document_changes(DOCUMENT, with_columns(new, wide))

    assert changes == (
        AuditChange(pointer="/table/columns/0", before={"name": "k", "type": "INT"}),
        AuditChange(pointer="/table/columns/0", after={"name": "n", "type": "STRING"}),
        AuditChange(pointer="/table/columns/1/type", before="INT", after="BIGINT"),
    )
    assert document_changes(DOCUMENT, with_columns(v, k)) == (), "an entry that moves is the same"


def test_a_table_that_comes_or_goes_is_one_change() -> None:
    (created,) = document_changes(None, DOCUMENT)
    (dropped,) = document_changes(DOCUMENT, None)

    assert (created.pointer, created.before, created.after) == ("", None, dropped.before)
    assert created.after["streams"]["s"]["spec"]["topic"] == "t"
    assert dropped.after is None


def test_a_proposed_schema_counts_as_made() -> None:
    wider = with_columns(*DOCUMENT.table.columns, ColumnSpec(name="n", type="INT"))
    pending = PendingSchema(schema_id=1, schema_file="{}", table=wider.table, streams=wider.streams)
    proposal = DOCUMENT.model_copy(update={"pending": pending})

    changes = document_changes(DOCUMENT, proposal)

    assert [change.pointer for change in changes] == ["/table/columns/2"]
    assert document_changes(proposal, wider) == ()


def test_values_beyond_the_bound_are_counted_and_left_out() -> None:
    small = AuditChange(pointer="/a", after=1)
    large = AuditChange(pointer="/b", after="x" * CHANGES_BYTES_MAX)

    assert bounded_changes([small, large, small]) == ((small, small), 1)
