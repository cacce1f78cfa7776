"""Which manifests a new snapshot keeps and writes."""

from collections.abc import Sequence

from braid.lake.format.data_types import DataField, DataType, TypeRoot
from braid.lake.iceberg.avro_files import decode_manifest, encode_manifest
from braid.lake.iceberg.manifest_changes import (
    ManifestPlan,
    MergeLimits,
    ReadManifest,
    plan_manifests,
)
from braid.lake.iceberg.manifest_entries import (
    EntryStatus,
    IcebergDataFile,
    IcebergEntry,
    PartitionSummary,
    added_entry,
    describe_manifest,
)
from tests.unit.lake.merge.given_schemas import given_schema

TEXT = DataField(id=0, name="p", type=DataType(root=TypeRoot.VARCHAR, length=9))
LIMITS = MergeLimits(target_bytes=1 << 20, files_min=3, files_max=4)


def file(name: str, partition: str | None = "a") -> IcebergDataFile:
    return IcebergDataFile(
        path=f"/t/p={partition}/bucket-0/{name}",
        file_format="parquet",
        partition=(partition,),
        record_count=10,
        size=100,
        null_counts={0: 0},
        lower_bounds={0: b"a"},
        upper_bounds={0: b"b"},
    )


def manifest(number: int, entries: Sequence[IcebergEntry]) -> ReadManifest:
    described = describe_manifest(
        f"/t/metadata/m{number}.avro", 1000, entries, snapshot_id=number, partition_fields=[TEXT]
    )
    return ReadManifest(manifest=described, entries=entries)


def of(number: int, *names: str) -> ReadManifest:
    return manifest(number, [added_entry(file(name), number) for name in names])


def written(plan: ManifestPlan) -> list[list[tuple[str, EntryStatus, int]]]:
    return [[(e.file.name, e.status, e.snapshot_id) for e in part] for part in plan.written]


def test_a_removed_file_is_a_deletion_of_the_snapshot_and_the_others_stay_as_they_were() -> None:
    first, second = of(1, "f1", "f2"), of(2, "f3")

    plan = plan_manifests(
        [first, second], removed={"f1"}, added=[file("f4")], snapshot_id=3, limits=LIMITS
    )

    assert plan.kept == (second.manifest,)
    assert written(plan) == [
        [("f1", EntryStatus.DELETED, 3), ("f2", EntryStatus.EXISTING, 1)],
        [("f4", EntryStatus.ADDED, 3)],
    ]
    rewritten = manifest(3, plan.written[0])
    assert rewritten.manifest.min_sequence_number == 1
    assert rewritten.manifest.rows == {
        EntryStatus.EXISTING: 10,
        EntryStatus.ADDED: 0,
        EntryStatus.DELETED: 10,
    }

    later = plan_manifests([rewritten], removed={"f2"}, added=[], snapshot_id=4, limits=LIMITS)
    assert written(later) == [[("f2", EntryStatus.DELETED, 4)]]
    dead = manifest(4, later.written[0])
    assert plan_manifests([dead], removed=(), added=[], snapshot_id=5, limits=LIMITS).kept == ()


def test_small_manifests_are_merged_when_there_are_many() -> None:
    base = [of(number, f"f{9 - number}") for number in range(1, 4)]

    few = plan_manifests(base[:2], removed=(), added=[file("f9")], snapshot_id=9, limits=LIMITS)
    many = plan_manifests(base, removed=(), added=[file("f9")], snapshot_id=9, limits=LIMITS)

    assert len(few.kept) == 2
    assert many.kept == ()
    assert written(many) == [
        [
            ("f6", EntryStatus.EXISTING, 3),
            ("f7", EntryStatus.EXISTING, 2),
            ("f8", EntryStatus.EXISTING, 1),
            ("f9", EntryStatus.ADDED, 9),
        ]
    ]


def test_a_manifest_has_a_bounded_number_of_entries_and_a_full_one_is_not_merged_again() -> None:
    names = [f"f{number:05}" for number in range(2500)]

    plan = plan_manifests(
        [], removed=(), added=[file(name) for name in names], snapshot_id=1, limits=LIMITS
    )

    assert [len(part) for part in plan.written] == [1000, 1000, 500]
    base = [manifest(1, part) for part in plan.written]
    next_plan = plan_manifests(
        base, removed={"f00001"}, added=[file("g")], snapshot_id=2, limits=LIMITS
    )
    assert [len(part) for part in next_plan.written] == [1000, 1]
    assert len(next_plan.kept) == 2


def test_entries_survive_their_file_and_partitions_are_summarised() -> None:
    schema = given_schema("p STRING, k INT, v INT", key="p k", partition="p")
    entries = [added_entry(file("f1", "b"), 7), added_entry(file("f2", None), 7)]

    for codec in ("snappy", "zstandard", "deflate", "null"):
        data = encode_manifest(entries, schema, name="m.avro", codec=codec)
        assert list(decode_manifest(data)) == entries

    (summary,) = manifest(7, entries).manifest.partitions
    assert summary == PartitionSummary(
        contains_null=True, contains_nan=False, lower_bound=b"b", upper_bound=b"b"
    )
