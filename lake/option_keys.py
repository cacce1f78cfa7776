"""The keys of table options that somebody reads: this engine, or another one of the format.

A table keeps every option it is given, and an engine passes over those it does not know. So a misspelt
key is never an error of the format; it is told by looking like one of these. Keys of later releases and
of other software look like none of them, or are one letter away by bad luck at worst.

Source: merge-semantics 9, table-format, and what other engines of the format document.
"""

from difflib import get_close_matches
from typing import Final

# Behind these anything goes: names of columns, of classes, and options of file formats.
_OPEN_FAMILIES: Final = (
    "avro.", "commit.callback.", "fields.", "file-index.bitmap.", "file-index.bloom-filter.",
    "file-index.bsi.", "file-index.range-bitmap.", "map.", "orc.", "parquet.", "pk-",
    "tag.callback.",
)  # fmt: skip
# Of the letters of two keys, how many have to be the same, in their order.
_LIKENESS: Final = 0.85

_KEYS: Final = """
add-column-before-partition aggregation.remove-record-on-delete
alter-column-null-to-not-null.disabled async-file-write auto-create avro.codec
blob-as-descriptor
blob-compaction.enabled blob-descriptor-field blob-descriptor.source-table blob-field
blob-view-field blob-view.resolve.enabled blob-write-null-on-fetch-failure
blob-write-null-on-missing-file blob.copy-buffer-size blob.split-by-file-size
blob.target-file-size braid.defaults-by-group braid.delete-retention braid.delete-retention.time-fields braid.key.max-bytes
braid.null-deletes braid.null-deletes.kept-fields braid.null-deletes.mark-fields branch bucket
bucket-append-ordered bucket-function.type bucket-key
cache-page-size chain-table.chain-partition-keys chain-table.enabled
chain-table.split.key-range-enabled chain-table.streaming.merge-snapshot
changelog-file.compression changelog-file.format changelog-file.prefix changelog-file.stats-mode
changelog-producer changelog-producer.lookup-wait changelog-producer.row-deduplicate
changelog-producer.row-deduplicate-ignore-fields changelog.num-retained.max
changelog.num-retained.min changelog.precommit-compact.thread-num changelog.time-retained
clustering.columns clustering.history-partition.idle-to-full-sort
clustering.history-partition.limit clustering.incremental clustering.incremental.mode
clustering.incremental.optimize-write clustering.strategy commit.callbacks commit.custom-listeners
commit.discard-duplicate-files commit.force-compact commit.force-create-snapshot
commit.max-retries commit.max-retry-wait commit.min-retry-wait
commit.strict-mode.last-safe-snapshot commit.timeout commit.user-prefix
compaction.bucket-distribution-strategy compaction.delete-ratio-threshold
compaction.file-num-limit compaction.force-rewrite-all-files compaction.force-up-level-0
compaction.incremental-size-threshold compaction.max-size-amplification-percent
compaction.min.file-num compaction.offpeak-ratio compaction.offpeak.end.hour
compaction.offpeak.start.hour compaction.optimization-interval compaction.size-ratio
compaction.skip-expired-partitions compaction.small-file-ratio compaction.total-size-threshold
consumer-id consumer.changelog-only consumer.expiration-time consumer.ignore-progress
consumer.mode continuous.discovery-interval cross-partition-upsert.bootstrap-parallelism
cross-partition-upsert.index-ttl data-evolution.compaction.rewrite-row-ids data-evolution.enabled
data-evolution.merge-into.file-pruning data-evolution.merge-into.source-persist
data-evolution.reassign.skip-contiguous-row-count data-evolution.row-id-conflict-rewrite.max-size
data-evolution.row-sidecar.enabled data-evolution.row-sidecar.max-selected-rows
data-evolution.row-sidecar.max-selection-ratio data-file.external-paths
data-file.external-paths.specific-fs data-file.external-paths.strategy
data-file.external-paths.weights data-file.path-directory data-file.prefix data-file.thin-mode
deduplicate.ignore-delete delete.force-produce-changelog deletion-vector.index-file.target-size
deletion-vectors.bitmap64 deletion-vectors.enabled deletion-vectors.merge-on-read
deletion-vectors.modifiable disable-explicit-type-casting dynamic-bucket.assigner-parallelism
dynamic-bucket.initial-buckets dynamic-bucket.max-buckets dynamic-bucket.target-row-num
dynamic-partition-overwrite end-input.check-partition-expire end-input.watermark
fields.default-aggregate-function file-index.in-manifest-threshold file-index.read.enabled
file-operation.thread-num file-reader-async-threshold file.block-size file.compression
file.compression.per.level file.compression.zstd-level file.format file.format.per.level
file.suffix.include.compression filesystem.job-level-settings.enabled first-row.ignore-delete
force-lookup format-table.commit-hive-sync-url format-table.file.compression
format-table.implementation format-table.partition-path-only-value
format-table.repair.collect-statistics format-table.scan.list-parallelism
format-table.statistics.parallelism full-compaction.delta-commits full-text-index.search-mode
global-index.build.max-parallelism global-index.build.max-shard global-index.column-update-action
global-index.enabled global-index.external-path global-index.row-count-per-shard
global-index.search-mode global-index.thread-num ignore-delete ignore-update-before
incremental-between incremental-between-scan-mode incremental-between-tag-to-snapshot
incremental-between-timestamp incremental-to-auto-tag index-file-in-data-file-dir
legacy-timestamp-mapping.enabled local-kv-db.block-size local-merge-buffer-size
local-sort.max-num-file-handles lock.enabled lock.type lookup-compact lookup-compact.max-interval
lookup-wait lookup.async lookup.async-thread-number lookup.blob-as-descriptor
lookup.bootstrap-parallelism lookup.cache lookup.cache-file-retention lookup.cache-max-disk-size
lookup.cache-max-memory-size lookup.cache-rows lookup.cache-spill-compression
lookup.cache.bloom.filter.enabled lookup.cache.bloom.filter.fpp
lookup.cache.high-priority-pool-ratio lookup.continuous.discovery-interval
lookup.dynamic-partition.refresh-interval lookup.dynamic-partition.refresh.async
lookup.hash-load-factor lookup.merge-buffer-size lookup.merge-records-threshold
lookup.refresh.async lookup.refresh.async.pending-snapshot-count
lookup.refresh.full-load-threshold lookup.refresh.time-periods-blacklist
lookup.remote-file.enabled lookup.remote-file.level-threshold manifest-sort.enabled
manifest-sort.max-rewrite-size manifest-sort.partition-field manifest.compression
manifest.delete-file-drop-stats manifest.full-compaction-threshold-size manifest.merge-min-count
manifest.merge-optimize.enabled manifest.target-file-size merge-engine metadata.stats-dense-store
metadata.stats-keep-first-n-columns metadata.stats-mode metadata.stats-mode.per.level
metastore.partitioned-table metastore.tag-to-partition metastore.tag-to-partition.preview
num-levels num-sorted-run.compaction-trigger num-sorted-run.stop-trigger orc.compress
overwrite-upgrade page-size parquet.compression parquet.enable.dictionary
partial-update.ignore-delete
partial-update.remove-record-on-delete partial-update.remove-record-on-sequence-group partition
partition.default-name partition.end-input-to-done partition.expiration-batch-size
partition.expiration-check-interval partition.expiration-max-num partition.expiration-strategy
partition.expiration-time partition.idle-time-to-done partition.idle-time-to-report-statistic
partition.legacy-name partition.mark-done-action partition.mark-done-action.custom.class
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
read.stream.maxTriggerDelayMs read.stream.minRowsPerTrigger record-level.expire-time
record-level.time-field requiredSparkConfsCheck.enabled row-tracking.enabled
row-tracking.partition-group-on-commit rowkind.field scalar-index.search-mode scan.bounded
scan.bounded.watermark scan.bucket scan.creation-time-millis scan.dedicated-split-generation
scan.fallback-branch scan.fallback-branch.read-fail-fast scan.fallback-delta-branch
scan.fallback-snapshot-branch scan.file-creation-time-millis scan.ignore-corrupt-files
scan.ignore-lost-files scan.infer-parallelism scan.infer-parallelism.max scan.manifest.parallelism
scan.max-snapshot.count scan.max-splits-per-task scan.mode scan.native-plan.enabled
scan.parallelism scan.partitions scan.plan-auto-tag-for-read.time-retained
scan.plan-sort-partition scan.primary-branch scan.remove-normalize scan.snapshot-id
scan.split-enumerator.batch-size scan.split-enumerator.mode scan.tag-name scan.timestamp
scan.timestamp-millis scan.watermark scan.watermark.alignment.group
scan.watermark.alignment.max-drift scan.watermark.alignment.update-interval
scan.watermark.emit.strategy scan.watermark.idle-timeout sequence.field sequence.field.sort-order
sequence.snapshot-ordering sink.clustering.sample-factor sink.clustering.sort-in-cluster
sink.committer-cpu sink.committer-memory sink.committer-operator-chaining
sink.coordinator-commit.enabled sink.cross-partition.managed-memory sink.key-only-deletes.enabled
sink.managed.writer-buffer-memory sink.operator-uid.suffix sink.parallelism sink.process-time-zone
sink.savepoint.auto-tag sink.use-managed-memory-allocator sink.watermark-time-zone
sink.writer-coordinator.cache-expire-after-access sink.writer-coordinator.cache-memory
sink.writer-coordinator.cache-soft-values sink.writer-coordinator.enabled
sink.writer-coordinator.page-size sink.writer-coordinator.prefetch-manifests sink.writer-cpu
sink.writer-memory sink.writer-refresh-detectors snapshot.clean-empty-directories
snapshot.expire.execution-mode snapshot.expire.limit snapshot.ignore-empty-commit
snapshot.num-retained.max snapshot.num-retained.min snapshot.time-retained
snapshot.watermark-idle-timeout sort-compaction.local-sample.magnification
sort-compaction.range-strategy sort-engine sort-spill-buffer-size sort-spill-threshold
source.checkpoint-align.enabled source.checkpoint-align.timeout source.operator-uid.suffix
source.split.open-file-cost source.split.target-size source.split.target-size-with-column-pruning
spill-compression spill-compression.zstd-level streaming-read-append-overwrite
streaming-read-overwrite streaming.read.snapshot.delay table-read.sequence-number.enabled
tag.automatic-completion tag.automatic-creation tag.batch.customized-name tag.callbacks
tag.create-success-file tag.creation-delay tag.creation-period tag.creation-period-duration
tag.default-time-retained tag.num-retained-max tag.period-formatter tag.time-expire-enabled
target-file-row-num target-file-size type unaware-bucket.compaction.parallelism
unaware-bucket.no-shuffle variant.inferShreddingSchema
variant.shredding.adaptive.maxInferBufferRow variant.shredding.adaptive.retentionRatio
variant.shredding.inferenceMode variant.shredding.maxInferBufferRow
variant.shredding.maxSchemaDepth variant.shredding.maxSchemaWidth
variant.shredding.minFieldCardinalityRatio variant.shreddingSchema vector-field
vector-index.search-mode vector-search.distribute.enabled vector-search.lateral-join.batch-size
vector-search.lateral-join.parallelism vector.file.format vector.target-file-size
visibility-callback.check-interval visibility-callback.enabled visibility-callback.timeout
write-buffer-for-append write-buffer-size write-buffer-spill.max-disk-size write-buffer-spillable
write-max-writers-to-spill write-only write.batch-memory write.batch-size write.compaction-skip
write.data-evolution.update-conflict-retry.max-attempts
write.data-evolution.update-conflict-retry.wait-ms write.hive-style-dynamic-partition.enabled
write.merge-schema write.merge-schema.explicit-cast write.merge-schema.type-widening
write.sequence-number-init-mode write.use-v2-write zorder.var-length-contribution
"""
OPTION_KEYS: Final = frozenset(_KEYS.split())
"""Every key; those of single columns, `fields.<column>.<option>`, are their functions' own."""


def similar_option_key(key: str) -> str | None:
    """Return the known key that an unknown one looks like; None when it is known or like none.

    Example:
        >>> similar_option_key("sequence.fields"), similar_option_key("my-app.owner")
        ('sequence.field', None)
    """
    if key in OPTION_KEYS or key.startswith(_OPEN_FAMILIES):
        return None
    close = get_close_matches(_letters(key), _BY_LETTERS, n=1, cutoff=_LIKENESS)
    return _BY_LETTERS[close[0]] if close else None


def _letters(key: str) -> str:
    """Return the key without what separates its words, in lower case."""
    return "".join(letter for letter in key.lower() if letter.isalnum())


_BY_LETTERS: Final = {_letters(known): known for known in sorted(OPTION_KEYS)}
