"""Keys of table options that an engine of the format reads, and the known key meant by a misspelt key.

A table keeps every option it is given, and an engine skips those that it does not know. So a misspelt key is never an
error of the format; it is recognised by its likeness to a known key. Keys of later versions of Paimon and of other
software usually resemble no known key, but a few may happen to.

Source: merge-semantics 9, table-format, and what other engines of the format document.
"""

from difflib import get_close_matches
from typing import Final

from braid.lake.options.table_options import OPTIONS

# Prefixes after which any text is valid: names of columns or classes, and options of file formats.
_OPEN_FAMILIES: Final = (
    "avro.", "commit.callback.", "fields.", "file-index.bitmap.", "file-index.bloom-filter.",
    "file-index.bsi.", "file-index.range-bitmap.", "map.", "orc.", "parquet.", "pk-",
    "tag.callback.",
)  # fmt: skip
# Share of the letters of two keys that have to agree, in order, for the keys to be alike.
_LIKENESS: Final = 0.85

OWN_KEYS: Final = frozenset(key for option in OPTIONS.values() for key in option.keys)
"""Keys that `TableOptions` declares, older spellings included."""

# Keys that only other engines of the format read, or that this engine reads outside of `TableOptions`.
_OTHER_KEYS: Final = """
add-column-before-partition alter-column-null-to-not-null.disabled async-file-write auto-create
blob-as-descriptor blob-compaction.enabled blob-descriptor-field blob-descriptor.source-table
blob-field blob-view-field blob-view.resolve.enabled blob-write-null-on-fetch-failure
blob-write-null-on-missing-file blob.copy-buffer-size blob.split-by-file-size
blob.target-file-size branch bucket-append-ordered cache-page-size
chain-table.chain-partition-keys chain-table.enabled chain-table.split.key-range-enabled
chain-table.streaming.merge-snapshot changelog-file.stats-mode changelog-producer.lookup-wait
changelog.precommit-compact.thread-num clustering.columns
clustering.history-partition.idle-to-full-sort clustering.history-partition.limit
clustering.incremental clustering.incremental.mode clustering.incremental.optimize-write
clustering.strategy commit.callbacks commit.custom-listeners commit.discard-duplicate-files
commit.force-create-snapshot commit.strict-mode.last-safe-snapshot commit.user-prefix
compaction.bucket-distribution-strategy compaction.delete-ratio-threshold
compaction.file-num-limit compaction.min.file-num compaction.skip-expired-partitions consumer-id
consumer.ignore-progress consumer.mode continuous.discovery-interval
cross-partition-upsert.bootstrap-parallelism cross-partition-upsert.index-ttl
data-evolution.compaction.rewrite-row-ids data-evolution.merge-into.file-pruning
data-evolution.merge-into.source-persist data-evolution.reassign.skip-contiguous-row-count
data-evolution.row-id-conflict-rewrite.max-size data-evolution.row-sidecar.enabled
data-evolution.row-sidecar.max-selected-rows data-evolution.row-sidecar.max-selection-ratio
data-file.external-paths.specific-fs data-file.external-paths.strategy
data-file.external-paths.weights delete.force-produce-changelog
deletion-vector.index-file.target-size deletion-vectors.modifiable disable-explicit-type-casting
dynamic-bucket.assigner-parallelism dynamic-bucket.initial-buckets dynamic-partition-overwrite
end-input.check-partition-expire end-input.watermark file-operation.thread-num
file-reader-async-threshold file.block-size file.suffix.include.compression
filesystem.job-level-settings.enabled format-table.commit-hive-sync-url
format-table.file.compression format-table.implementation format-table.partition-path-only-value
format-table.repair.collect-statistics format-table.scan.list-parallelism
format-table.statistics.parallelism full-text-index.search-mode
global-index.build.max-parallelism global-index.build.max-shard global-index.column-update-action
global-index.enabled global-index.external-path global-index.row-count-per-shard
global-index.search-mode global-index.thread-num incremental-between
incremental-between-scan-mode incremental-between-tag-to-snapshot incremental-between-timestamp
incremental-to-auto-tag index-file-in-data-file-dir legacy-timestamp-mapping.enabled
local-kv-db.block-size local-merge-buffer-size local-sort.max-num-file-handles lock.enabled
lock.type lookup-wait lookup.async lookup.async-thread-number lookup.blob-as-descriptor
lookup.bootstrap-parallelism lookup.cache lookup.cache-rows lookup.cache-spill-compression
lookup.cache.bloom.filter.enabled lookup.cache.bloom.filter.fpp
lookup.cache.high-priority-pool-ratio lookup.continuous.discovery-interval
lookup.dynamic-partition.refresh-interval lookup.dynamic-partition.refresh.async
lookup.hash-load-factor lookup.merge-buffer-size lookup.merge-records-threshold
lookup.refresh.async lookup.refresh.async.pending-snapshot-count
lookup.refresh.full-load-threshold lookup.refresh.time-periods-blacklist
lookup.remote-file.enabled lookup.remote-file.level-threshold manifest-sort.enabled
manifest-sort.max-rewrite-size manifest-sort.partition-field manifest.delete-file-drop-stats
manifest.merge-optimize.enabled metadata.stats-dense-store metadata.stats-keep-first-n-columns
metadata.stats-mode metadata.stats-mode.per.level metastore.partitioned-table
metastore.tag-to-partition metastore.tag-to-partition.preview overwrite-upgrade page-size
parquet.enable.dictionary partition partition.end-input-to-done partition.expiration-batch-size
partition.expiration-check-interval partition.expiration-max-num partition.expiration-strategy
partition.expiration-time partition.idle-time-to-done partition.idle-time-to-report-statistic
partition.mark-done-action partition.mark-done-action.custom.class
partition.mark-done-action.http.params partition.mark-done-action.http.url
partition.mark-done-action.mode partition.mark-done.recover-from-state partition.sink-strategy
partition.time-interval partition.timestamp-format.strict partition.timestamp-formatter
partition.timestamp-pattern path pk-bitmap.index.columns pk-btree.index.columns
pk-clustering-override pk-full-text.index.columns pk-multivalue.index.columns
pk-vector.index.columns postpone.batch-write-fixed-bucket
postpone.batch-write-fixed-bucket.max-parallelism
postpone.batch-write-fixed-bucket.rescale-load-factor postpone.default-bucket-num
postpone.merge-on-read postpone.target-row-num-per-bucket postpone.target-size-per-bucket
precommit-compact primary-key primary-key.nullable query-auth.enabled read.allow.fullScan
read.batch-size read.changelog read.native.enabled read.shuffle-bucket-with-partition
read.stream.maxBytesPerTrigger read.stream.maxFilesPerTrigger read.stream.maxRowsPerTrigger
read.stream.maxTriggerDelayMs read.stream.minRowsPerTrigger
requiredSparkConfsCheck.enabled row-tracking.partition-group-on-commit
scalar-index.search-mode scan.bounded scan.bounded.watermark scan.bucket
scan.creation-time-millis scan.dedicated-split-generation scan.fallback-branch
scan.fallback-branch.read-fail-fast scan.fallback-delta-branch scan.fallback-snapshot-branch
scan.file-creation-time-millis scan.ignore-corrupt-files scan.ignore-lost-files
scan.infer-parallelism scan.infer-parallelism.max scan.manifest.parallelism
scan.max-snapshot.count scan.max-splits-per-task scan.mode scan.native-plan.enabled
scan.parallelism scan.partitions scan.plan-auto-tag-for-read.time-retained
scan.plan-sort-partition scan.primary-branch scan.remove-normalize scan.snapshot-id
scan.split-enumerator.batch-size scan.split-enumerator.mode scan.tag-name scan.timestamp
scan.timestamp-millis scan.watermark scan.watermark.alignment.group
scan.watermark.alignment.max-drift scan.watermark.alignment.update-interval
scan.watermark.emit.strategy scan.watermark.idle-timeout sink.clustering.sample-factor
sink.clustering.sort-in-cluster sink.committer-cpu sink.committer-memory
sink.committer-operator-chaining sink.coordinator-commit.enabled
sink.cross-partition.managed-memory sink.key-only-deletes.enabled
sink.managed.writer-buffer-memory sink.operator-uid.suffix sink.parallelism
sink.process-time-zone sink.savepoint.auto-tag sink.use-managed-memory-allocator
sink.watermark-time-zone sink.writer-coordinator.cache-expire-after-access
sink.writer-coordinator.cache-memory sink.writer-coordinator.cache-soft-values
sink.writer-coordinator.enabled sink.writer-coordinator.page-size
sink.writer-coordinator.prefetch-manifests sink.writer-cpu sink.writer-memory
sink.writer-refresh-detectors snapshot.clean-empty-directories snapshot.expire.execution-mode
snapshot.ignore-empty-commit snapshot.watermark-idle-timeout
sort-compaction.local-sample.magnification sort-compaction.range-strategy sort-engine
sort-spill-buffer-size sort-spill-threshold source.checkpoint-align.enabled
source.checkpoint-align.timeout source.operator-uid.suffix
source.split.target-size-with-column-pruning spill-compression spill-compression.zstd-level
streaming-read-append-overwrite streaming-read-overwrite streaming.read.snapshot.delay
table-read.sequence-number.enabled tag.automatic-completion tag.automatic-creation
tag.batch.customized-name tag.callbacks tag.create-success-file tag.creation-delay
tag.creation-period tag.creation-period-duration tag.num-retained-max tag.period-formatter
tag.time-expire-enabled target-file-row-num type unaware-bucket.compaction.parallelism
unaware-bucket.no-shuffle variant.inferShreddingSchema
variant.shredding.adaptive.maxInferBufferRow variant.shredding.adaptive.retentionRatio
variant.shredding.inferenceMode variant.shredding.maxInferBufferRow
variant.shredding.maxSchemaDepth variant.shredding.maxSchemaWidth
variant.shredding.minFieldCardinalityRatio variant.shreddingSchema vector-field
vector-index.search-mode vector-search.distribute.enabled vector-search.lateral-join.batch-size
vector-search.lateral-join.parallelism vector.file.format vector.target-file-size
visibility-callback.check-interval visibility-callback.enabled visibility-callback.timeout
write-buffer-for-append write-buffer-spill.max-disk-size write-buffer-spillable
write-max-writers-to-spill write.batch-memory write.batch-size
write.data-evolution.update-conflict-retry.max-attempts
write.data-evolution.update-conflict-retry.wait-ms write.hive-style-dynamic-partition.enabled
write.merge-schema write.merge-schema.explicit-cast write.merge-schema.type-widening
write.use-v2-write zorder.var-length-contribution
"""
OPTION_KEYS: Final = OWN_KEYS | frozenset(_OTHER_KEYS.split())
"""Every known key, without those of the open families, such as the keys `fields.<column>.<option>`."""


def similar_option_key(key: str) -> str | None:
    """Return the known key that an unknown one resembles; None when it is known or resembles none.

    Example:
        >>> similar_option_key("sequence.fields"), similar_option_key("my-app.owner")
        ('sequence.field', None)
    """
    if key in OPTION_KEYS or key.startswith(_OPEN_FAMILIES):
        return None
    close = get_close_matches(_letters(key), _BY_LETTERS, n=1, cutoff=_LIKENESS)
    return _BY_LETTERS[close[0]] if close else None


def _letters(key: str) -> str:
    """Return the letters and digits of the key, in lower case."""
    return "".join(letter for letter in key.lower() if letter.isalnum())


_BY_LETTERS: Final = {_letters(known): known for known in sorted(OPTION_KEYS)}
