"""Serialization of stored documents, which older and newer versions of this software share.

1. A field that this version does not know is ignored when a document is read. The next version of a table's
   document, or of an operation's, keeps the field at the same location: in the object of the same path, and within a list
   in the entry of the same name. If the object that contains the field is dropped, so is the field. Leases and reports do
   not keep unknown fields.
2. The document of a table, and each stream in it, lists the *features* that a version of Braid needs to act on it.
   A version that lacks a feature shows the document, but neither runs nor changes it. Only a document with such a
   feature may hold values that an older version cannot parse at all; that version reports the missing feature
   instead. This module lists all features, each with the declarations that need it.

3. A version holds the newest entry of the audit log: its own or, if its change is not in the log, that of an earlier
   version. Older versions of the software keep the entry as an unknown field.

The mark that stands for the document of a dropped table is here, too (`dump_dropped`).

In requests an unknown field is a mistake and is refused.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

import orjson
from pydantic import BaseModel, ValidationError

from braid.formats.part_conditions import reads_parts
from braid.lake import CorruptData, holds_variant
from braid.registry.errors import FeaturesMissing
from braid.registry.layout.declared_types import parsed_type
from braid.schemas import (
    AuditEntry,
    AvroFormat,
    ColumnSource,
    IntervalTrigger,
    JsonFormat,
    OnOffsetsExpired,
    ProtobufFormat,
    StreamEntry,
    StreamSpec,
    TableDocument,
)

ModelT = TypeVar("ModelT", bound=BaseModel)

START_ANEW: Final = "start_anew"
"""A stream has a `former_epoch`: a version that ignores it reads records a second time."""
MESSAGE_FORMATS: Final = "message_formats"
"""A stream has another format than JSON: a version without formats cannot read the declaration."""
SCHEMA_FORMATS: Final = "schema_formats"
"""Messages of a stream are Avro or Protobuf: a version that has other formats only cannot read the declaration."""
RECORD_KINDS: Final = "record_kinds"
"""A stream has conditions over its records, or deletes: a version without them would write each of its records
as a row, and refuse tombstones."""
SCHEMA_REGISTRIES: Final = "schema_registries"
"""Messages of a stream begin with the id of a schema: a version that ignores it cannot read them."""
TIME_FORMATS: Final = "time_formats"
"""A column of a stream has a time format or zone: a version that ignores it refuses each of its values, or reads
another moment."""
ROW_TTL: Final = "row_ttl"
"""Rows of a table expire: a version that ignores it shows them for ever, and drops the time to live with the next
change of the table."""
ON_MISSING: Final = "on_missing"
"""A table keeps columns, whose values an older version would write without their order, so that the merge drops
them; or a stream says what a record without a field is, which an older version would read as null."""
OFFSETS_EXPIRED: Final = "offsets_expired"
"""A stream skips records that have expired: a version that ignores it fails instead, and drops the ranges that
were skipped before."""
RECORD_PARTS: Final = "record_parts"
"""A stream reads columns from headers, the timestamp or the place of a record: a version without these sources cannot
read the declaration."""
TRIGGERS: Final = "triggers"
"""A stream ends once its topic is read, or has no interval: a version that ignores this reads on, at an interval."""
BATCH_BYTES: Final = "batch_bytes"
"""Micro-batches of a stream have a bound in bytes: a version that ignores it may need more memory than there is."""
PART_CONDITIONS: Final = "part_conditions"
"""A condition of a stream is about headers, the Kafka key, the timestamp or the place of a record: a version that knows
conditions over fields alone cannot read it."""
CONSUMER_GROUPS: Final = "consumer_groups"
"""The position of a stream is mirrored in a consumer group: a version that ignores it lets the mirror become outdated, so
that it shows a lag that there is not."""
DEAD_LETTER_BUDGETS: Final = "dead_letter_budgets"
"""A stream declares how many dead letters it may have: a version that ignores it continues beyond."""
DEAD_LETTER_REPLAYS: Final = "dead_letter_replays"
"""Dead letters of a table's streams were replayed: a version that ignores it drops the memory of them with its next
commit, so that they could be replayed twice."""
CHANGE_CAPTURE: Final = "change_capture"
"""Messages of a stream are changes of rows: a version without their formats cannot read the declaration."""
COMPUTED_COLUMNS: Final = "computed_columns"
"""A column of a stream has an expression, a constant or a default: a version that ignores it writes null, or reads a
field of the column's name."""
UNORDERED_COLUMNS: Final = "unordered_columns"
"""Single columns of a table may depend on the order of arrival: a version that ignores it drops this with the next change
of the table, and then refuses the table's streams."""
VIEWS: Final = "views"
"""A table has feature views: a version that ignores them does not rename their columns with those of the table."""
TABLE_TESTS: Final = "table_tests"
"""A table has tests: a version that ignores them does not rename their columns with those of the table, and accepts
changes that make required tests fail."""
LOOKUP_INDEXES: Final = "lookup_indexes"
"""A table has lookup indexes: a version that ignores them does not rename their columns, and lets them be dropped."""
KEY_FORMATS: Final = "key_formats"
"""Kafka keys of a stream begin with the id of a schema: a version that ignores it refuses each of them."""
PLACEMENT: Final = "placement"
"""A stream declares labels of its runner: a version that ignores them runs it anywhere, and drops them with its next change."""
VARIANT_COLUMNS: Final = "variant_columns"
"""A table has VARIANT columns: a version that does not know the type can neither write nor read them."""
SPARK_SOURCES: Final = "spark_sources"
"""Spark programs write the rows of a stream: a version that ignores it looks for a Kafka topic."""
_OF_DECLARATIONS: Final[frozenset[str]] = frozenset(
    {
        MESSAGE_FORMATS,
        SCHEMA_FORMATS,
        RECORD_KINDS,
        SCHEMA_REGISTRIES,
        ON_MISSING,
        TIME_FORMATS,
        OFFSETS_EXPIRED,
        RECORD_PARTS,
        TRIGGERS,
        BATCH_BYTES,
        PART_CONDITIONS,
        CONSUMER_GROUPS,
        DEAD_LETTER_BUDGETS,
        CHANGE_CAPTURE,
        COMPUTED_COLUMNS,
        KEY_FORMATS,
        PLACEMENT,
        SPARK_SOURCES,
    }
)
"""Features that follow from the declaration of a stream."""

_OF_TABLES: Final[frozenset[str]] = frozenset(
    {
        ROW_TTL,
        ON_MISSING,
        UNORDERED_COLUMNS,
        VIEWS,
        LOOKUP_INDEXES,
        TABLE_TESTS,
        VARIANT_COLUMNS,
    }
)
"""Features that follow from the declaration of a table."""

FEATURES: Final[frozenset[str]] = _OF_DECLARATIONS | {
    ROW_TTL,
    START_ANEW,
    DEAD_LETTER_REPLAYS,
    UNORDERED_COLUMNS,
    VIEWS,
    LOOKUP_INDEXES,
    TABLE_TESTS,
    VARIANT_COLUMNS,
}
"""The features of this version. A change of documents that older versions must not act on adds its name
here, and to `features` of the documents and streams that need it."""

_WRITE_ID: Final = "write_id"
_DROPPED: Final = "dropped"
_KEEPS_DATA: Final = "keeps_data"
_DROPPED_BYTES_MAX: Final = 1_000
_AUDIT: Final = "audit"
_NAMES: Final = ("name", "column", "key")
"""Fields that identify an entry of a list; the first that an entry has is taken."""


def parse_stored(model: type[ModelT], data: bytes | Mapping[str, Any]) -> ModelT:
    """Return a parsed document; ignores fields that this version does not know.

    Raises:
        ValidationError: The data is no such document.
    """
    if isinstance(data, bytes):
        return model.model_validate_json(data, extra="ignore")
    return model.model_validate(data, extra="ignore")


def parse_document(data: bytes, *, what: str) -> TableDocument:
    """Return a table's document.

    Args:
        data: The stored bytes.
        what: The document's name for error messages.

    Raises:
        FeaturesMissing: The document cannot be parsed, and lists features that this version lacks.
        CorruptData: The document cannot be parsed, and lists no such features.
    """
    content: Any = None
    try:
        content = orjson.loads(data)
        return parse_stored(TableDocument, content)
    except (ValidationError, ValueError) as error:
        # Values that only a newer version understands are not damage.
        missing = _listed_features(content) - FEATURES
        if missing:
            raise features_missing(what, sorted(missing)) from error
        message = f"{what}: {_first_fault(error)}"
        raise CorruptData(message) from error


def _first_fault(error: ValueError) -> str:
    """Return why a document cannot be parsed, in one line and without its values."""
    if not isinstance(error, ValidationError):
        return str(error)
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    place = ".".join(map(str, faults[0]["loc"])) or "the document"
    return f"{place}: {faults[0]['msg']} ({len(faults)} faults in all)"


def features_of(stream: StreamSpec, *, besides: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the features that an entry has to list, in alphabetical order.

    Args:
        stream: The declaration that the entry gets.
        besides: Features that the entry needs for another reason, or lists already.
    """
    needed = set(besides) - _OF_DECLARATIONS
    if not isinstance(stream.format, JsonFormat):
        needed.add(MESSAGE_FORMATS)
    if isinstance(stream.format, AvroFormat | ProtobufFormat):
        needed.add(SCHEMA_FORMATS)
    if stream.tells_kinds:
        needed.add(RECORD_KINDS)
    if stream.schema_registry is not None:
        needed.add(SCHEMA_REGISTRIES)
    if stream.key_format is not None:
        needed.add(KEY_FORMATS)
    if any(column.on_missing is not None for column in stream.columns):
        needed.add(ON_MISSING)
    if any(one.time_format or one.time_zone for one in stream.columns):
        needed.add(TIME_FORMATS)
    if stream.on_offsets_expired is not OnOffsetsExpired.FAIL:
        needed.add(OFFSETS_EXPIRED)
    if stream.captures_changes:
        needed.add(CHANGE_CAPTURE)
    sources = {column.source for column in stream.columns} - {ColumnSource.CONSTANT}
    if not all(source.is_message for source in sources):
        needed.add(RECORD_PARTS)
    if not isinstance(stream.trigger, IntervalTrigger):
        needed.add(TRIGGERS)
    if stream.max_bytes_per_batch is not None:
        needed.add(BATCH_BYTES)
    if stream.mirror_consumer_group is not None:
        needed.add(CONSUMER_GROUPS)
    if any(reads_parts(one) for one in (stream.where, stream.delete_when) if one is not None):
        needed.add(PART_CONDITIONS)
    if stream.is_from_spark:
        needed.add(SPARK_SOURCES)
    if stream.dead_letter_budget is not None:
        needed.add(DEAD_LETTER_BUDGETS)
    if stream.fields or any(column.is_computed for column in stream.columns):
        needed.add(COMPUTED_COLUMNS)
    if stream.placement.labels:
        needed.add(PLACEMENT)
    return tuple(sorted(needed))


def with_table_features(document: TableDocument) -> TableDocument:
    """Return the document with the features that its declaration needs, or the one that is pending."""
    pending = document.pending
    tables = [document.table] if pending is None else [document.table, pending.table]
    features = set(document.features) - _OF_TABLES
    if any(table.row_ttl is not None for table in tables):
        features.add(ROW_TTL)
    if any(group.keep for table in tables for group in table.sequence_groups):
        features.add(ON_MISSING)
    if any(column.unordered is not None for table in tables for column in table.columns):
        features.add(UNORDERED_COLUMNS)
    if any(table.views for table in tables):
        features.add(VIEWS)
    if any(table.lookup_indexes for table in tables):
        features.add(LOOKUP_INDEXES)
    if any(table.tests.cases or table.tests.required for table in tables):
        features.add(TABLE_TESTS)
    if any(_is_variant(column.type) for table in tables for column in table.columns):
        features.add(VARIANT_COLUMNS)
    return document.model_copy(update={"features": tuple(sorted(features))})


def _is_variant(sql: str) -> bool:
    # Most types do not have the word, and need not be parsed.
    data_type = parsed_type(sql) if "VARIANT" in sql.upper() else None
    return data_type is not None and holds_variant(data_type)


def missing_features(document: TableDocument, stream: StreamEntry | None = None) -> tuple[str, ...]:
    """Return the features that this version lacks, in alphabetical order.

    Args:
        document: The table's document.
        stream: The stream to run; None to change the document, which needs the features of all
            its streams.
    """
    entries = document.streams.values() if stream is None else [stream]
    listed = {*document.features, *(name for entry in entries for name in entry.features)}
    return tuple(sorted(listed - FEATURES))


def check_features(document: TableDocument, stream: StreamEntry) -> None:
    """Refuse to act for a stream whose features this version lacks.

    Raises:
        FeaturesMissing: A newer version has registered the stream, or changed its table.
    """
    missing = missing_features(document, stream)
    if missing:
        what = f"the stream {stream.spec.name} of {document.identifier}"
        raise features_missing(what, missing)


def features_missing(what: str, missing: Sequence[str]) -> FeaturesMissing:
    """Return the error of a document that this version must not act on."""
    message = (
        f"{what} needs features that this version does not have: {', '.join(missing)}\n"
        "hint: a newer version has written it; use that version"
    )
    return FeaturesMissing(message, missing=tuple(missing))


def dump_document(
    document: TableDocument,
    *,
    before: bytes | None,
    write_id: str,
    audit: AuditEntry | None = None,
) -> bytes:
    """Return a document as it is stored.

    Args:
        document: The whole document.
        before: The version that it was made from, whose unknown fields are kept; None for the first.
        write_id: Unique to this write.
        audit: The entry of the change in the audit log; None: the version keeps the entry that `before` holds.
    """
    content = _dumped(document, before)
    content[_WRITE_ID] = write_id
    if audit is not None:
        content[_AUDIT] = audit.model_dump(mode="json", exclude_none=True)
    return orjson.dumps(content, option=orjson.OPT_INDENT_2)


def dump_changed(document: BaseModel, *, before: bytes | None) -> bytes:
    """Return a document of another kind as it is stored, with those fields of an earlier version that this software does not know.

    Args:
        document: The whole document.
        before: The version that it was made from; None for the first.
    """
    return orjson.dumps(_dumped(document, before))


def _dumped(document: BaseModel, before: bytes | None) -> dict[str, Any]:
    content: dict[str, Any] = document.model_dump(mode="json")
    if before is None:
        return content
    old = orjson.loads(before)
    known = parse_stored(type(document), old).model_dump(mode="json")
    kept: dict[str, Any] = _with_unknown(content, old, known)
    return kept


def held_entry(data: bytes) -> dict[str, Any] | None:
    """Return the entry of the audit log that a version or mark holds, as it is stored; None if it holds none."""
    try:
        content = orjson.loads(data)
    except ValueError:  # a damaged document is reported by those who need more of it
        return None
    entry = content.get(_AUDIT) if isinstance(content, dict) else None
    return entry if isinstance(entry, dict) else None


def _with_unknown(new: Any, old: Any, known: Any) -> Any:
    """Return new content with the unknown fields of the old content.

    Args:
        new: The content to be written.
        old: The content stored before, at the same location.
        known: The part of `old` that this version has parsed.
    """
    # Unknown is what is stored and not parsed: a known field that the change has removed stays removed.
    if isinstance(new, dict) and isinstance(old, dict) and isinstance(known, dict):
        unknown = {key: value for key, value in old.items() if key not in known}
        return {
            **unknown,
            **{k: _with_unknown(v, old.get(k), known.get(k)) for k, v in new.items()},
        }
    if isinstance(new, list) and isinstance(old, list) and isinstance(known, list):
        # Entries move, so they are matched by name; those without a name have no unknown fields kept.
        pairs = {entry_name(one): (one, seen) for one, seen in zip(old, known, strict=True)}
        pairs.pop(None, None)
        return [_with_unknown(one, *pairs.get(entry_name(one), (None, None))) for one in new]
    return new


def entry_name(entry: object) -> str | None:
    """Return what identifies an entry of a list in a document; None if nothing does."""
    if not isinstance(entry, dict):
        return None
    return next((f"{key} {entry[key]}" for key in _NAMES if key in entry), None)


def _listed_features(content: object) -> set[str]:
    """Return the features that are listed in content which cannot be parsed as a document."""
    if not isinstance(content, dict):
        return set()
    streams = content.get("streams")
    entries = [*streams.values()] if isinstance(streams, dict) else []
    lists = [one.get("features") for one in (content, *entries) if isinstance(one, dict)]
    return {
        name
        for listed in lists
        if isinstance(listed, list)
        for name in listed
        if isinstance(name, str)
    }


def dump_dropped(*, write_id: str, keeps_data: bool, audit: AuditEntry) -> bytes:
    """Return the stored mark of a table that is not registered any more, and whose files stay or not."""
    assert not audit.changes, "the declaration before the drop is in the version before the mark"
    entry = audit.model_dump(
        mode="json", exclude_none=True, exclude={"changes", "changes_left_out"}
    )
    mark = orjson.dumps(
        {_WRITE_ID: write_id, _DROPPED: True, _KEEPS_DATA: keeps_data, _AUDIT: entry}
    )
    assert len(mark) <= _DROPPED_BYTES_MAX, "longer marks would be read as documents"
    return mark


def is_dropped(data: bytes) -> bool:
    """Return whether a version is the mark of a table that is not registered any more."""
    return _mark(data) is not None


def keeps_data(data: bytes) -> bool:
    """Return whether a version is the mark of a table whose files stay; False for marks of earlier versions."""
    mark = _mark(data)
    return mark is not None and mark.get(_KEEPS_DATA) is True


def _mark(data: bytes) -> dict[str, Any] | None:
    if (
        len(data) > _DROPPED_BYTES_MAX
    ):  # a document: parsing it twice would cost more than this check
        return None
    try:
        content = orjson.loads(data)
    except ValueError:
        return None
    return content if isinstance(content, dict) and content.get(_DROPPED) is True else None
