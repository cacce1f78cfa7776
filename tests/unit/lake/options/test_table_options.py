import dataclasses

import pytest

from braid.lake.errors import InvalidRequest
from braid.lake.options.option_declaration import Following
from braid.lake.options.table_options import (
    OPTIONS,
    BucketFunction,
    ChangelogProducer,
    ManifestCompression,
    MergeEngine,
    SequenceNumberInit,
    TableOptions,
)


def test_defaults_of_parsing_are_the_defaults_of_the_attributes() -> None:
    assert TableOptions.parse({}) == TableOptions()


def test_every_attribute_but_the_bloom_filters_is_declared_with_its_key() -> None:
    attributes = {field.name for field in dataclasses.fields(TableOptions)}

    assert attributes - set(OPTIONS) == {"file_index_blooms"}


@pytest.mark.parametrize("attribute", OPTIONS)
def test_a_default_that_is_shown_as_a_value_can_be_written_as_it_is_shown(attribute: str) -> None:
    option = OPTIONS[attribute]
    is_value = option.default_text is None and not isinstance(option.default, Following)
    if is_value and option.shown_default:
        read = TableOptions.parse({option.key: option.shown_default})

        assert getattr(read, attribute) == option.default


@pytest.mark.parametrize("attribute", OPTIONS)
def test_meanings_are_phrases(attribute: str) -> None:
    doc = OPTIONS[attribute].doc

    assert doc[0].isupper() or doc.startswith("["), doc
    assert not doc.endswith("."), doc


def test_options_of_other_engines_are_left_alone() -> None:
    assert TableOptions.parse({"scan.mode": "whatever", "path": "x"}) == TableOptions()


def test_every_kind_of_option_is_read() -> None:
    options = TableOptions.parse(
        {
            "bucket": "4",
            "bucket-key": "a, b",
            "bucket-function.type": "MOD",
            "merge-engine": "partial-update",
            "sequence.field": "t,u",
            "sequence.field.sort-order": "descending",
            "write.sequence-number-init-mode": "snapshot",
            "file.format": "PARQUET",
            "target-file-size": "64 MB",
            "data-file.thin-mode": "TRUE",
            "partition.legacy-name": "false",
            "manifest.compression": "zstd",
            "manifest.full-compaction-threshold-size": "1g",
            "commit.timeout": "2 min",
            "snapshot.time-retained": "1 h",
            "changelog-producer": "full-compaction",
            "full-compaction.delta-commits": "3",
        }
    )

    assert options == TableOptions(
        bucket=4,
        bucket_key=("a", "b"),
        bucket_function_type=BucketFunction.MOD,
        merge_engine=MergeEngine.PARTIAL_UPDATE,
        sequence_field=("t", "u"),
        sequence_field_descending=True,
        sequence_number_init_mode=SequenceNumberInit.SNAPSHOT,
        target_file_size_bytes=64 << 20,
        thin_mode=True,
        partition_legacy_name=False,
        manifest_compression=ManifestCompression.ZSTANDARD,
        manifest_full_compaction_threshold_bytes=1 << 30,
        commit_timeout_ms=120_000,
        snapshot_time_retained_ms=3_600_000,
        changelog_producer=ChangelogProducer.FULL_COMPACTION,
        full_compaction_delta_commits=3,
    )


def test_sizes_times_and_listed_names_are_trimmed() -> None:
    options = TableOptions.parse(
        {
            "target-file-size": " 64 mb\n",
            "snapshot.time-retained": "\t2 h ",
            "sequence.field": " t , u",
            "compaction.small-file-ratio": " 0.5 ",
        }
    )

    assert options.target_file_size_bytes == 64 << 20
    assert options.snapshot_time_retained_ms == 7_200_000
    assert options.sequence_field == ("t", "u")
    assert options.compaction_small_file_ratio == 0.5


@pytest.mark.parametrize(
    "key",
    [
        "ignore-delete",
        "first-row.ignore-delete",
        "deduplicate.ignore-delete",
        "partial-update.ignore-delete",
    ],
)
def test_ignore_delete_has_three_fallback_keys(key: str) -> None:
    assert TableOptions.parse({key: "true"}).ignore_delete


def test_a_fallback_key_loses_against_the_key_itself() -> None:
    options = {"write.compaction-skip": "true", "write-only": "false"}

    assert not TableOptions.parse(options).write_only


def test_defaults_of_sorted_runs_follow_the_trigger() -> None:
    options = TableOptions.parse({"num-sorted-run.compaction-trigger": "9"})

    assert (options.num_sorted_run_stop_trigger, options.num_levels) == (12, 10)


def test_what_is_retained_of_changelogs_follows_the_snapshots() -> None:
    options = TableOptions.parse(
        {"snapshot.num-retained.min": "3", "snapshot.time-retained": "2 h"}
    )

    assert options.changelog_num_retained_min == 3
    assert options.changelog_time_retained_ms == 7_200_000


def test_the_stop_trigger_is_never_below_the_trigger() -> None:
    options = TableOptions.parse({"num-sorted-run.stop-trigger": "2"})

    assert options.num_sorted_run_stop_trigger == 5


def test_names_of_a_removal_group_keep_their_spaces() -> None:
    key = "partial-update.remove-record-on-sequence-group"

    options = TableOptions.parse({key: "a, b"})

    assert options.partial_update_remove_record_on_sequence_group == ("a", " b")


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("merge-engine", "upsert", "deduplicate, partial-update, aggregation, first-row"),
        ("bucket", "0", "a bucket count from 1"),
        ("bucket", "-3", "a bucket count from 1"),
        ("bucket", " 3 ", "a bucket count from 1"),
        ("num-levels", "3\n", "expected a whole number"),
        ("dynamic-bucket.target-row-num", "0", "a whole number from 1"),
        ("dynamic-bucket.max-buckets", "0", "a number of buckets from 1, or -1"),
        ("write-only", "yes", "true or false"),
        ("write-only", " true", "true or false"),
        ("ignore-delete", "true\n", "true or false"),
        ("merge-engine", " partial-update ", "deduplicate, partial-update"),
        ("sequence.field.sort-order", "descending ", "ascending or descending"),
        ("manifest.compression", " zstd", "zstandard, deflate, null"),
        ("target-file-size", "10 apples", "a size such as"),
        ("snapshot.time-retained", "soon", "a duration such as"),
        ("manifest.merge-min-count", "0", "a whole number from 1"),
        ("file.compression.zstd-level", "99", "a whole number from 1 to 22"),
        ("sequence.field.sort-order", "up", "ascending or descending"),
        ("manifest.compression", "snappy", "zstandard, deflate, null"),
        ("full-compaction.delta-commits", "x", "a whole number"),
        ("compaction.small-file-ratio", "-1", "a number from 0"),
        ("compaction.small-file-ratio", "half", "a number from 0"),
    ],
)
def test_a_bad_value_is_refused_with_what_is_valid(key: str, value: str, expected: str) -> None:
    with pytest.raises(InvalidRequest, match=expected) as caught:
        TableOptions.parse({key: value})

    assert [(problem.field, problem.value) for problem in caught.value.problems] == [(key, value)]


def test_all_bad_values_are_reported_at_once() -> None:
    with pytest.raises(InvalidRequest) as caught:
        TableOptions.parse({"bucket": "many", "merge-engine": "none", "write-only": "1"})

    assert len(caught.value.problems) == 3


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("data-file.path-directory", "../../other"),
        ("data-file.path-directory", "data/../.."),
        ("data-file.path-directory", "/tmp/x"),
        ("data-file.path-directory", "a//b"),
        ("data-file.path-directory", "a\0b"),
        ("data-file.path-directory", "x" * 256),
        ("data-file.path-directory", ""),
        ("data-file.prefix", "../"),
        ("data-file.prefix", "a/b"),
        ("data-file.prefix", "a\0"),
        ("changelog-file.prefix", "/"),
        ("changelog-file.prefix", "x" * 101),
        ("bucket", "2147483648"),
    ],
)
def test_an_option_cannot_place_files_outside_the_table(key: str, value: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        TableOptions.parse({key: value})

    assert [problem.field for problem in caught.value.problems] == [key]


def test_a_directory_below_the_table_is_accepted() -> None:
    options = TableOptions.parse({"data-file.path-directory": "data/v2", "data-file.prefix": "p-"})

    assert (options.data_file_path_directory, options.data_file_prefix) == ("data/v2", "p-")


def test_dynamic_buckets_have_room_for_two_million_keys_and_no_bound() -> None:
    default = TableOptions.parse({})
    given = TableOptions.parse(
        {"dynamic-bucket.target-row-num": "5000000000", "dynamic-bucket.max-buckets": "8"}
    )

    assert default.bucket == -1
    assert (default.dynamic_bucket_target_row_num, default.dynamic_bucket_max_buckets) == (
        2_000_000,
        -1,
    )
    assert (given.dynamic_bucket_target_row_num, given.dynamic_bucket_max_buckets) == (
        5_000_000_000,
        8,
    )
