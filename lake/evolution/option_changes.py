"""Changes of options, some of which are refused once the table has snapshots, and a few always.

Source: merge-semantics 8.3.
"""

from dataclasses import replace
from typing import Final

from braid.lake.evolution.refused_change import refuse_option
from braid.lake.evolution.schema_changes import RemoveOption, SetOption
from braid.lake.format.schema import TableSchema

IMMUTABLE_OPTIONS: Final = frozenset(
    {
        "aggregation.remove-record-on-delete",
        "blob-descriptor-field",
        "blob-field",
        "blob-view-field",
        "bucket-function.type",
        "bucket-key",
        "data-evolution.enabled",
        "data-file.path-directory",
        "dynamic-bucket.initial-buckets",
        "force-lookup",
        "index-file-in-data-file-dir",
        "merge-engine",
        "partial-update.remove-record-on-delete",
        "partial-update.remove-record-on-sequence-group",
        "partition",
        "pk-clustering-override",
        "primary-key",
        "primary-key.nullable",
        "row-tracking.enabled",
        "rowkind.field",
        "sequence.snapshot-ordering",
        "type",
    }
)
"""Options under another value of which existing files would be wrong, or not found: fixed by the first snapshot."""

_TYPE: Final = "type"
_BUCKET: Final = "bucket"
_VECTORS: Final = "deletion-vectors.enabled"
_CLUSTERING: Final = "clustering.columns"
_CLUSTERED: Final = "pk-clustering-override"
_VECTORS_MODIFIABLE: Final = "deletion-vectors.modifiable"
# Records that were ignored were never written, so switching these options off cannot bring them back.
_ONLY_ON: Final = frozenset({"ignore-delete", "ignore-update-before"})
_DEFAULTS: Final = {
    "merge-engine": "deduplicate",
    "type": "table",
    "bucket-function.type": "default",
}
_NEW_TABLE: Final = "create a new table with the option, and write the rows there"


def set_option(schema: TableSchema, change: SetOption, *, has_snapshots: bool) -> TableSchema:
    """Return the schema with the option.

    Raises:
        RefusedChangeError: The table holds data that depends on the option, or the option declares the
            type or the keys of the table, which never change.
    """
    key, value = change.key, change.value
    old = schema.options.get(key)
    if key in ("primary-key", "partition"):
        return _check_key_option(schema, key, value)
    if key == _TYPE:
        if value.lower() != (old or _DEFAULTS[_TYPE]).lower():
            refuse_option(key, value, "the type of a table never changes")
        return schema
    if has_snapshots and value != old:
        _check_mutable(schema, key, value)
    return replace(schema, options={**schema.options, key: value})


def remove_option(schema: TableSchema, change: RemoveOption, *, has_snapshots: bool) -> TableSchema:
    """Return the schema without the option.

    An option that can only be switched on (`ignore-delete`, `ignore-update-before`) can be removed nevertheless, as
    in the reference.

    Raises:
        RefusedChangeError: The table holds data that depends on the option, or the option is the type of
            the table.
    """
    key = change.key
    if key == _TYPE:
        refuse_option(key, None, "the type of a table never changes")
    if key not in schema.options:
        return schema
    if has_snapshots:
        if key == _BUCKET or key in IMMUTABLE_OPTIONS or _orders_files(schema, key):
            refuse_option(
                key,
                schema.options[key],
                "the option cannot change any more, because the table has snapshots",
            )
        if key == _VECTORS:
            _check_vectors(schema, "false")
    return replace(schema, options={k: v for k, v in schema.options.items() if k != key})


def _check_mutable(schema: TableSchema, key: str, value: str) -> None:
    old = schema.options.get(key)
    is_fixed = key in IMMUTABLE_OPTIONS and value != (old or _DEFAULTS.get(key))
    if is_fixed or _orders_files(schema, key):
        refuse_option(
            key,
            value,
            "the option cannot change any more, because the table has snapshots",
            _NEW_TABLE,
        )
    if key == _BUCKET:
        refuse_option(
            key,
            value,
            "rows are in their buckets already",
            "rescale the table, which moves the rows; a table of dynamic buckets (-1) cannot be "
            "rescaled",
        )
    if key == _VECTORS:
        _check_vectors(schema, value)
    if key in _ONLY_ON and _is_true(old) and not _is_true(value):
        refuse_option(
            key,
            value,
            "records that were ignored are not in the table, so this cannot be switched off",
        )


def _orders_files(schema: TableSchema, key: str) -> bool:
    """Return whether rows in files are sorted by the option."""
    return key == _CLUSTERING and _is_true(schema.options.get(_CLUSTERED))


def _check_vectors(schema: TableSchema, value: str) -> None:
    is_on = schema.table_options.deletion_vectors_enabled
    if is_on == _is_true(value) or _is_true(schema.options.get(_VECTORS_MODIFIABLE)):
        return
    refuse_option(
        _VECTORS,
        value,
        "files that were written in the other mode hold rows that would be read twice",
        f"set `{_VECTORS_MODIFIABLE}` to true, and compact the whole table before the next read",
    )


def _check_key_option(schema: TableSchema, key: str, value: str) -> TableSchema:
    names = schema.primary_keys if key == "primary-key" else schema.partition_keys
    if value.split(",") != list(names):
        refuse_option(
            key,
            value,
            f"the table is declared with {', '.join(names) or 'none'}",
            _NEW_TABLE,
        )
    return schema


def _is_true(text: str | None) -> bool:
    return text is not None and text.strip().lower() == "true"
