"""Names and paths of a table's files on storage.

```
<root>/schema/schema-<N>        snapshot/snapshot-<N> LATEST EARLIEST
       manifest/manifest-<uuid>-<n>  manifest-<uuid>-sorted-<n>  manifest-<uuid>-part-<n>
       manifest/manifest-list-<uuid>-<n>  index-manifest-<uuid>-<n>
       index/<name>             [<data directory>/][<partition>/]bucket-<b>/<name>
       tag/tag-<name>           changelog/changelog-<N> LATEST EARLIEST
       statistics/<name>        consumer/consumer-<id> expiring-<name> rolling-back
       branch/branch-<name>/{schema,snapshot,tag,changelog,consumer}
```

A branch has schemas, snapshots, tags, changelogs and consumers of its own. The manifests, index files,
statistics and data files of all branches are in the same directories of the table. Names of manifests and index
files are made here, names of data files are not.

Source: table-format 1.
"""

import re
from dataclasses import dataclass
from typing import Final

from braid.lake.files.storage.file_io import FileIO

SNAPSHOT_PREFIX = "snapshot-"
SCHEMA_PREFIX = "schema-"
CHANGELOG_PREFIX = "changelog-"
CONSUMER_PREFIX = "consumer-"
EXPIRING_PREFIX = "expiring-"
TAG_PREFIX = "tag-"
BRANCH_PREFIX = "branch-"

_NUMBER: Final = re.compile("0|[1-9][0-9]{0,18}")
_LONG_MAX: Final = (1 << 63) - 1
_SORTED: Final = "-sorted-"
_PART: Final = "-part-"


def is_sorted_manifest(name: str) -> bool:
    """Return whether the name of a manifest tells that its entries are sorted by partition and bucket."""
    return _SORTED in name or _PART in name


def is_manifest_part(name: str) -> bool:
    """Return whether a manifest was named by `TablePaths.new_manifest_part_name`."""
    return _PART in name


def numbered(name: str, prefix: str) -> int | None:
    """Return the number after `prefix`, or None for every other name.

    Strict on purpose: the same directories hold temporary files and files of other engines.

    Example:
        >>> numbered("snapshot-12", "snapshot-"), numbered(".snapshot-12.x.tmp", "snapshot-")
        (12, None)
        >>> numbered("snapshot-012", "snapshot-")
    """
    digits = name.removeprefix(prefix)
    if digits == name or not _NUMBER.fullmatch(digits):
        return None
    number = int(digits)
    return number if number <= _LONG_MAX else None


def listed_ids(file_io: FileIO, directory: str, prefix: str) -> list[int]:
    """Return the numbers of the files `<prefix><number>` of a directory, ascending. Costs one listing."""
    found = (numbered(status.name, prefix) for status in file_io.list(directory))
    return sorted(number for number in found if number is not None)


@dataclass(frozen=True, slots=True)
class TablePaths:
    """The paths of one table.

    Attributes:
        root: Absolute path of the table's directory, without a trailing slash.
        data_directory: Directory between the root and the partitions (`data-file.path-directory`), or "".
        branch: Name of the branch whose schemas, snapshots, tags and consumers are meant; "" for the
            main one.
    """

    root: str
    data_directory: str = ""
    branch: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "root", self.root.rstrip("/"))
        object.__setattr__(self, "data_directory", self.data_directory.strip("/"))

    @property
    def identifier(self) -> str:
        """Return `db.table`, or the directory's name where its parent is no database directory."""
        *_, database, name = ["", *self.root.split("/")]
        return f"{database.removesuffix('.db')}.{name}" if database.endswith(".db") else name

    @property
    def branch_root(self) -> str:
        """Return the directory that holds the branch's schemas, snapshots and tags."""
        return self.branch_dir(self.branch) if self.branch else self.root

    @property
    def branches_dir(self) -> str:
        """Return the directory of all branches but the main one."""
        return f"{self.root}/branch"

    def branch_dir(self, name: str) -> str:
        """Return the directory of a branch other than the main one."""
        return f"{self.branches_dir}/{BRANCH_PREFIX}{name}"

    @property
    def tag_dir(self) -> str:
        """Return the directory of the tag files."""
        return f"{self.branch_root}/tag"

    def tag(self, name: str) -> str:
        """Return the path of a tag file."""
        return f"{self.tag_dir}/{TAG_PREFIX}{name}"

    @property
    def schema_dir(self) -> str:
        """Return the directory of the schema files."""
        return f"{self.branch_root}/schema"

    def schema(self, schema_id: int) -> str:
        """Return the path of schema file `schema_id`."""
        return f"{self.branch_root}/schema/{SCHEMA_PREFIX}{schema_id}"

    @property
    def snapshot_dir(self) -> str:
        """Return the directory of the snapshot files and hints."""
        return f"{self.branch_root}/snapshot"

    def snapshot(self, snapshot_id: int) -> str:
        """Return the path of snapshot file `snapshot_id`."""
        return f"{self.branch_root}/snapshot/{SNAPSHOT_PREFIX}{snapshot_id}"

    @property
    def latest_hint(self) -> str:
        """Return the path of the hint that names the newest snapshot."""
        return f"{self.branch_root}/snapshot/LATEST"

    @property
    def earliest_hint(self) -> str:
        """Return the path of the hint that names the oldest snapshot."""
        return f"{self.branch_root}/snapshot/EARLIEST"

    @property
    def manifest_dir(self) -> str:
        """Return the directory of manifests, manifest lists and index manifests."""
        return f"{self.root}/manifest"

    def manifest(self, name: str) -> str:
        """Return the path of a manifest, manifest list or index manifest."""
        return f"{self.root}/manifest/{name}"

    @property
    def index_dir(self) -> str:
        """Return the directory of index files."""
        return f"{self.root}/index"

    @property
    def statistics_dir(self) -> str:
        """Return the directory of table statistics."""
        return f"{self.root}/statistics"

    def index(self, name: str) -> str:
        """Return the path of an index file (hash index, deletion vectors)."""
        return f"{self.root}/index/{name}"

    def statistics(self, name: str) -> str:
        """Return the path of a statistics file."""
        return f"{self.root}/statistics/{name}"

    @property
    def changelog_dir(self) -> str:
        """Return the directory of expired snapshots that are kept only for their changelog."""
        return f"{self.branch_root}/changelog"

    def changelog(self, snapshot_id: int) -> str:
        """Return the path under which an expired snapshot is kept for its changelog."""
        return f"{self.branch_root}/changelog/{CHANGELOG_PREFIX}{snapshot_id}"

    @property
    def latest_changelog_hint(self) -> str:
        """Return the path of the hint that names the newest kept changelog."""
        return f"{self.branch_root}/changelog/LATEST"

    @property
    def earliest_changelog_hint(self) -> str:
        """Return the path of the hint that names the oldest kept changelog."""
        return f"{self.branch_root}/changelog/EARLIEST"

    @property
    def consumer_dir(self) -> str:
        """Return the directory of the consumers."""
        return f"{self.branch_root}/consumer"

    def consumer(self, consumer_id: str) -> str:
        """Return the path of a consumer's file."""
        return f"{self.branch_root}/consumer/{CONSUMER_PREFIX}{consumer_id}"

    def expiring(self, name: str) -> str:
        """Return the path of the marker of a running expiry, beside the consumers."""
        return f"{self.branch_root}/consumer/{EXPIRING_PREFIX}{name}"

    @property
    def rollback_marker(self) -> str:
        """Return the path of the marker of a rollback, beside the consumers."""
        return f"{self.branch_root}/consumer/rolling-back"

    def bucket_dir(self, partition_dir: str, bucket: int) -> str:
        """Return the directory of one bucket.

        Args:
            partition_dir: Directory of `braid.lake.format.partition_path`; "" without partitions.
            bucket: 0-based number of the bucket; -2 for rows not yet assigned to buckets.
        """
        name = f"bucket-{'postpone' if bucket == -2 else bucket}"
        return "/".join(filter(None, (self.root, self.data_directory, partition_dir, name)))

    def data_file(self, partition_dir: str, bucket: int, name: str) -> str:
        """Return the path of a data file (see `bucket_dir`)."""
        return f"{self.bucket_dir(partition_dir, bucket)}/{name}"

    @staticmethod
    def new_manifest_name(uuid: str, number: int) -> str:
        """Return the name of the `number`-th manifest of the writer `uuid`."""
        return f"manifest-{uuid}-{number}"

    @staticmethod
    def new_sorted_manifest_name(uuid: str, number: int) -> str:
        """Return the name of a manifest whose entries are sorted by partition and bucket."""
        return f"manifest-{uuid}{_SORTED}{number}"

    @staticmethod
    def new_manifest_part_name(uuid: str, number: int) -> str:
        """Return the name of a manifest that has a narrow range of sorted entries."""
        return f"manifest-{uuid}{_PART}{number}"

    @staticmethod
    def new_manifest_list_name(uuid: str, number: int) -> str:
        """Return the name of the `number`-th manifest list of the writer `uuid`."""
        return f"manifest-list-{uuid}-{number}"

    @staticmethod
    def new_index_manifest_name(uuid: str, number: int) -> str:
        """Return the name of the `number`-th index manifest of the writer `uuid`."""
        return f"index-manifest-{uuid}-{number}"

    @staticmethod
    def new_index_name(uuid: str, number: int) -> str:
        """Return the name of the `number`-th index file of the writer `uuid`."""
        return f"index-{uuid}-{number}"
