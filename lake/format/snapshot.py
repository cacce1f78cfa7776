"""Snapshot files: one committed state of a table, as JSON.

The state of a table is the snapshot with the highest id; there is no other record of it. The keys
of the file are the attributes of `Snapshot` in camelCase. Optional keys are left out if they are
None, and unknown keys are ignored.

Source: table-format 3.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from braid.lake.errors import UnsupportedFeature
from braid.lake.format.json_document import JsonDocument, dump_json

SNAPSHOT_VERSION: Final = 3
# Commit identifier of commits that are not numbered.
BATCH_COMMIT_IDENTIFIER: Final = 9_223_372_036_854_775_807
MAX_SEQUENCE_NUMBER_PROPERTY: Final = "sequence.generation.max-sequence-number"


class CommitKind(StrEnum):
    """The kind of a commit; Java's readers refuse any other word."""

    APPEND = "APPEND"
    COMPACT = "COMPACT"
    OVERWRITE = "OVERWRITE"
    ANALYZE = "ANALYZE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """One committed state of a table.

    Attributes:
        version: Version of the file's format.
        uuid: Random id of this snapshot, by which a writer recognises its own.
        id: Number of the snapshot, from 1; also in the file's name.
        schema_id: Newest schema at the time of the commit.
        base_manifest_list: Name of the list of all manifests before this commit.
        base_manifest_list_size: Its size in bytes.
        delta_manifest_list: Name of the list of the manifests with the changes of this commit.
        delta_manifest_list_size: Its size in bytes.
        changelog_manifest_list: Name of the list of the manifests of changelog files; None without any.
        changelog_manifest_list_size: Its size in bytes.
        index_manifest: Name of the manifest of all live index files; None without any.
        commit_user: Name of the writer that committed.
        writer_version: Free text.
        commit_identifier: Number that rises with each commit of a user, or `BATCH_COMMIT_IDENTIFIER`.
        commit_kind: Kind of the commit.
        time_millis: Milliseconds since 1970 UTC; never decreases from one snapshot to the next.
        total_record_count: Physical rows in live data files.
        delta_record_count: Rows of added files less rows of deleted ones.
        changelog_record_count: Rows of the changelog files; None without any.
        watermark: Milliseconds since 1970 UTC; never decreases.
        statistics: Name of a statistics file.
        properties: Free text by key; keys that only this engine has begin with `braid.`.
        next_row_id: Copied from the previous snapshot; only tables with row tracking use it.
        operation: A word of a closed set that readers check; None when unknown.
    """

    version: int = SNAPSHOT_VERSION
    uuid: str | None = None
    id: int
    schema_id: int
    base_manifest_list: str
    base_manifest_list_size: int | None = None
    delta_manifest_list: str
    delta_manifest_list_size: int | None = None
    changelog_manifest_list: str | None = None
    changelog_manifest_list_size: int | None = None
    index_manifest: str | None = None
    commit_user: str
    writer_version: str | None = None
    commit_identifier: int
    commit_kind: CommitKind
    time_millis: int
    total_record_count: int
    delta_record_count: int
    changelog_record_count: int | None = None
    watermark: int | None = None
    statistics: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict, hash=False)
    next_row_id: int | None = None
    operation: str | None = None

    def is_same(self, other: "Snapshot | None") -> bool:
        """Return whether the other is the same snapshot, perhaps rewritten by another engine.

        Compared by id and by the name of the delta list, which is unique. The `uuid` may be absent: other
        engines drop keys that they do not know when they copy a snapshot into a tag.
        """
        return (
            other is not None
            and self.id == other.id
            and self.delta_manifest_list == other.delta_manifest_list
        )


def parse_snapshot(data: bytes) -> Snapshot:
    """Return the snapshot in the bytes of a snapshot file.

    Raises:
        CorruptData: The bytes are not a JSON object, or a key that every writer writes is missing or of
            the wrong kind.
        UnsupportedFeature: The file has a newer version, or an unknown commit kind.
    """
    document = JsonDocument.parse(data, what="snapshot")
    version = document.integer("version", default=SNAPSHOT_VERSION)
    if version > SNAPSHOT_VERSION:
        text = f"snapshot has version {version}, expected at most {SNAPSHOT_VERSION}"
        raise UnsupportedFeature(text)
    return Snapshot(
        version=version,
        uuid=document.optional_text("uuid"),
        id=document.integer("id"),
        schema_id=document.integer("schemaId"),
        base_manifest_list=document.text("baseManifestList"),
        base_manifest_list_size=document.optional_integer("baseManifestListSize"),
        delta_manifest_list=document.text("deltaManifestList"),
        delta_manifest_list_size=document.optional_integer("deltaManifestListSize"),
        changelog_manifest_list=document.optional_text("changelogManifestList"),
        changelog_manifest_list_size=document.optional_integer("changelogManifestListSize"),
        index_manifest=document.optional_text("indexManifest"),
        commit_user=document.text("commitUser"),
        writer_version=document.optional_text("writerVersion"),
        commit_identifier=document.integer("commitIdentifier"),
        commit_kind=_parse_kind(document.text("commitKind")),
        time_millis=document.integer("timeMillis"),
        total_record_count=document.integer("totalRecordCount"),
        delta_record_count=document.integer("deltaRecordCount"),
        changelog_record_count=document.optional_integer("changelogRecordCount"),
        watermark=document.optional_integer("watermark"),
        statistics=document.optional_text("statistics"),
        properties=document.text_map("properties"),
        next_row_id=document.optional_integer("nextRowId"),
        operation=document.optional_text("operation"),
    )


def serialize_snapshot(snapshot: Snapshot) -> bytes:
    """Return the bytes of the snapshot file; keys are in Java's order."""
    return dump_json(
        {
            "version": snapshot.version,
            "uuid": snapshot.uuid,
            "id": snapshot.id,
            "schemaId": snapshot.schema_id,
            "baseManifestList": snapshot.base_manifest_list,
            "baseManifestListSize": snapshot.base_manifest_list_size,
            "deltaManifestList": snapshot.delta_manifest_list,
            "deltaManifestListSize": snapshot.delta_manifest_list_size,
            "changelogManifestList": snapshot.changelog_manifest_list,
            "changelogManifestListSize": snapshot.changelog_manifest_list_size,
            "indexManifest": snapshot.index_manifest,
            "commitUser": snapshot.commit_user,
            "writerVersion": snapshot.writer_version,
            "commitIdentifier": snapshot.commit_identifier,
            "commitKind": snapshot.commit_kind.value,
            "timeMillis": snapshot.time_millis,
            "totalRecordCount": snapshot.total_record_count,
            "deltaRecordCount": snapshot.delta_record_count,
            "changelogRecordCount": snapshot.changelog_record_count,
            "watermark": snapshot.watermark,
            "statistics": snapshot.statistics,
            "properties": dict(snapshot.properties) or None,
            "nextRowId": snapshot.next_row_id,
            "operation": snapshot.operation,
        }
    )


def _parse_kind(word: str) -> CommitKind:
    try:
        return CommitKind(word)
    except ValueError as error:
        valid = ", ".join(CommitKind)
        text = f"snapshot has the commit kind `{word}`, expected one of {valid}"
        raise UnsupportedFeature(text) from error
