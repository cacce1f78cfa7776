"""The conflict rules, one by one."""

from dataclasses import replace
from itertools import pairwise

import pytest

from braid.lake.commit.commit_changes import changes_of
from braid.lake.commit.conflict import (
    check_delta,
    check_files,
    check_levels,
    check_routing,
    check_total_buckets,
    check_vectors,
    check_writers,
)
from braid.lake.errors import CommitConflict, InvalidRequest
from braid.lake.format.binary_row import encode_row
from braid.lake.format.commit_message import CommitMessage, VectorsChange
from braid.lake.format.data_file import DataFileMeta
from braid.lake.format.data_types import DataField
from braid.lake.format.indexes.index_manifest import DELETION_VECTORS_INDEX, IndexManifestEntry
from braid.lake.format.manifest import FileIdentity, ManifestEntry
from braid.lake.format.snapshot import CommitKind
from braid.lake.format.type_codec import parse_type
from tests.support.committing import ID, appended, compacted, data_file, hash_index, table_schema


def entries(*messages: CommitMessage) -> tuple[ManifestEntry, ...]:
    return changes_of(messages, CommitKind.OVERWRITE).delta


def live(*files: DataFileMeta, **given: int) -> dict[FileIdentity, ManifestEntry]:
    return {entry.identity: entry for entry in entries(appended(*files, **given))}


def test_rows_of_the_newest_schema_and_bucket_count_pass() -> None:
    check_writers([appended(data_file("a"))], table_schema(), kind=CommitKind.APPEND)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"schema_id": 1}, "under schema 1, but the newest schema is 0"),
        ({"total_buckets": 3}, "to 3 buckets, but the table has 2"),
    ],
)
def test_rows_of_another_schema_or_bucket_count_conflict(given: dict[str, int], found: str) -> None:
    message = appended(data_file("a"), **given)

    for kind in (CommitKind.APPEND, CommitKind.OVERWRITE):
        with pytest.raises(CommitConflict, match=found):
            check_writers([message], table_schema(), kind=kind)
    check_writers([message], table_schema(), kind=CommitKind.COMPACT)


def test_a_compaction_replaces_no_file_of_a_newer_schema() -> None:
    old, new = data_file("a"), replace(data_file("b"), schema_id=4)
    message = replace(compacted((old, new), (data_file("c", level=5),)), schema_id=3)

    with pytest.raises(CommitConflict, match=r"file b of schema 4 .* under schema 3"):
        check_writers([message], table_schema(), kind=CommitKind.COMPACT)
    check_writers([replace(message, schema_id=4)], table_schema(), kind=CommitKind.COMPACT)


def test_a_delta_names_a_file_once() -> None:
    with pytest.raises(InvalidRequest, match="more than once: a"):
        check_delta(entries(appended(data_file("a"), data_file("a"))))
    with pytest.raises(InvalidRequest, match="more than once: a"):
        check_delta(entries(compacted((data_file("a"),), (data_file("a"),))))


def test_moving_a_file_to_another_level_names_two_identities() -> None:
    check_delta(entries(compacted((data_file("a"),), (data_file("a", level=5),))))


def test_a_file_to_delete_must_be_live() -> None:
    delta = entries(compacted((data_file("a"),), (data_file("b", level=5),)))

    check_files(delta, live(data_file("a")))
    with pytest.raises(CommitConflict, match="a of bucket 0 was to be replaced"):
        check_files(delta, live(data_file("c")))
    with pytest.raises(CommitConflict, match="was to be replaced"):
        check_files(delta, live(data_file("a", level=1)))


def test_a_file_to_add_must_not_be_live() -> None:
    with pytest.raises(CommitConflict, match="live already"):
        check_files(entries(appended(data_file("a"))), live(data_file("a")))


def test_the_bucket_count_of_a_partition_changes_by_overwrite_only() -> None:
    removal, addition = (
        entries(compacted((data_file("a"),), ())),
        entries(appended(data_file("b"), total_buckets=4)),
    )
    there = live(data_file("a"))

    check_total_buckets([*removal, *addition], there, kind=CommitKind.OVERWRITE)
    with pytest.raises(CommitConflict, match="only an overwrite of all its files"):
        check_total_buckets([*removal, *addition], there, kind=CommitKind.COMPACT)


def test_an_overwrite_changes_the_bucket_count_of_all_files_or_none() -> None:
    removal, addition = (
        entries(compacted((data_file("a"),), ())),
        entries(appended(data_file("b"), total_buckets=4)),
    )

    with pytest.raises(CommitConflict, match="file c of bucket 0 was written for 2 buckets"):
        check_total_buckets(
            [*removal, *addition], live(data_file("a"), data_file("c")), kind=CommitKind.OVERWRITE
        )


def test_files_that_only_go_may_be_of_any_bucket_count() -> None:
    gone = compacted((data_file("a"),), ())

    check_writers([gone], table_schema(options={"bucket": "4"}), kind=CommitKind.OVERWRITE)
    with pytest.raises(CommitConflict, match="routed to 2 buckets, but the table has 4"):
        check_writers(
            [replace(gone, compact_after=(data_file("b"),))],
            table_schema(options={"bucket": "4"}),
            kind=CommitKind.OVERWRITE,
        )


def test_other_partitions_may_have_another_bucket_count() -> None:
    there = {
        entry.identity: entry
        for entry in entries(
            CommitMessage(
                partition=encode_row([1], [ID]),
                bucket=0,
                total_buckets=8,
                schema_id=0,
                new_files=(data_file("a"),),
            )
        )
    }

    check_total_buckets(entries(appended(data_file("b"))), there, kind=CommitKind.APPEND)


def test_a_delta_agrees_with_itself_on_the_bucket_count() -> None:
    delta = entries(appended(data_file("a")), appended(data_file("b"), total_buckets=4, bucket=1))

    with pytest.raises(CommitConflict, match="4 buckets, expected 2"):
        check_total_buckets(delta, {}, kind=CommitKind.COMPACT)


@pytest.mark.parametrize(
    ("low", "high", "is_conflict"),
    [
        pytest.param(0, 9, False, id="before"),
        pytest.param(20, 29, False, id="after"),
        pytest.param(5, 10, True, id="touches-the-first-key"),
        pytest.param(19, 25, True, id="touches-the-last-key"),
        pytest.param(12, 15, True, id="inside"),
        pytest.param(0, 99, True, id="around"),
    ],
)
def test_files_of_one_level_are_disjoint(low: int, high: int, is_conflict: bool) -> None:
    there = live(data_file("there", level=5, low=10, high=19))
    delta = entries(appended(data_file("new", level=5, low=low, high=high)))

    if is_conflict:
        with pytest.raises(CommitConflict, match="have overlapping keys on level 5"):
            check_levels(delta, there, [ID])
    else:
        check_levels(delta, there, [ID])


def test_level_zero_other_levels_other_buckets_and_replaced_files_may_overlap() -> None:
    there = live(data_file("there", level=5))

    check_levels(entries(appended(data_file("new"))), there, [ID])
    check_levels(entries(appended(data_file("new", level=4))), there, [ID])
    check_levels(entries(appended(data_file("new", level=5), bucket=1)), there, [ID])
    check_levels(
        entries(compacted((data_file("there", level=5),), (data_file("new", level=5),))),
        there,
        [ID],
    )


@pytest.mark.parametrize(
    ("type_text", "ordered"),
    [
        ("BIGINT", [-(2**63), -1, 0, 255, 256, 2**63 - 1]),
        ("STRING", ["", "Z", "a", "aa", "z", "é", "\uffff", "\U0001f600"]),
        ("DOUBLE", [float("-inf"), -1.5, -0.0, 0.0, 2.5, float("inf"), float("nan")]),
        ("BOOLEAN", [False, True]),
    ],
)
def test_keys_are_compared_as_the_format_sorts_them(type_text: str, ordered: list[object]) -> None:
    field = DataField(id=0, name="k", type=parse_type(type_text))
    rows = [encode_row([value], [field]) for value in [None, *ordered]]

    for left, right in pairwise(rows):
        apart = (
            data_file("left", level=1, min_key=left, max_key=left),
            data_file("right", level=1, min_key=right, max_key=right),
        )
        check_levels(entries(appended(*apart)), {}, [field])
        crossed = data_file("right", level=1, min_key=left, max_key=right)
        with pytest.raises(CommitConflict):
            check_levels(entries(appended(apart[0], crossed)), {}, [field])


DYNAMIC = table_schema(options={"bucket": "-1"})


def routed(*base: str) -> CommitMessage:
    """Return a message of rows that these index files routed."""
    return appended(data_file("a"), total_buckets=-1, index_base=base)


def test_rows_routed_by_the_newest_index_pass_whatever_its_order() -> None:
    indexes = [hash_index("index-2", bucket=1), hash_index("index-1")]
    other = replace(hash_index("vectors"), index_type=DELETION_VECTORS_INDEX)
    elsewhere = replace(hash_index("index-3"), partition=encode_row([5], [ID]))

    check_routing([routed()], [other, elsewhere], DYNAMIC, kind=CommitKind.APPEND)
    check_routing(
        [routed("index-1", "index-2")], [*indexes, other], DYNAMIC, kind=CommitKind.APPEND
    )


@pytest.mark.parametrize("base", [(), ("index-1",), ("index-1", "index-2"), ("index-0", "index-3")])
def test_rows_routed_by_an_older_index_conflict(base: tuple[str, ...]) -> None:
    """Even when the index of their own bucket, 0, is the same: a key may be elsewhere by now."""
    indexes = [hash_index("index-1"), hash_index("index-3", bucket=1)]

    with pytest.raises(CommitConflict, match="routed by a bucket index"):
        check_routing([routed(*base)], indexes, DYNAMIC, kind=CommitKind.APPEND)


@pytest.mark.parametrize(
    ("newest", "seen", "is_conflict"),
    [
        (None, None, False),
        (None, VectorsChange(base=None, new=None), False),
        ("a", VectorsChange(base="a", new=None), False),
        ("a", None, True),
        ("a", VectorsChange(base=None, new=None), True),
        ("b", VectorsChange(base="a", new=None), True),
        (None, VectorsChange(base="a", new=None), True),
    ],
)
def test_files_are_replaced_only_with_the_newest_vectors(
    newest: str | None, seen: VectorsChange | None, is_conflict: bool
) -> None:
    def index(name: str, bucket: int) -> IndexManifestEntry:
        return replace(hash_index(name, bucket=bucket), index_type=DELETION_VECTORS_INDEX)

    indexes = [index("of another bucket", 1), hash_index("of another kind")]
    indexes += [] if newest is None else [index(newest, 0)]
    message = compacted((data_file("x"),), (data_file("y"),), vectors=seen)

    if not is_conflict:
        check_vectors([message], indexes)
        return
    with pytest.raises(CommitConflict, match="bucket 0"):
        check_vectors([message], indexes)


def test_rows_of_dynamic_buckets_come_with_their_index() -> None:
    message = appended(data_file("a"), total_buckets=-1)

    with pytest.raises(InvalidRequest, match="without the index"):
        check_routing([message], [], DYNAMIC, kind=CommitKind.APPEND)
    compaction = compacted((data_file("a"),), (data_file("b"),), total_buckets=-1)
    check_routing([compaction], [hash_index("index-1")], DYNAMIC, kind=CommitKind.COMPACT)
