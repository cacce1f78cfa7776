"""Rules for changelog producers and deletion vectors: exclusions of first-row, and other conflicts.

The other conflicts of merge-semantics 2.5 are in `sequence_rules`, `partial_update_rules` and `function_rules`.

Source: merge-semantics 2.5.
"""

from collections.abc import Iterator

from braid.lake.declaration.engine_declarations import why_excluded
from braid.lake.declaration.rule_problems import conflict
from braid.lake.errors import Problem
from braid.lake.format.schema import TableSchema
from braid.lake.options.table_options import ChangelogProducer, MergeEngine, TableOptions

FIRST_ROW_SETTING = f"merge-engine = {MergeEngine.FIRST_ROW}"


def engine_problems(schema: TableSchema, options: TableOptions) -> Iterator[Problem]:
    """Yield the conflicts of first-row, changelog producers and deletion vectors."""
    if options.merge_engine is MergeEngine.FIRST_ROW:
        yield from _first_row_problems(options)
    yield from _changelog_problems(schema, options)


def _first_row_problems(options: TableOptions) -> Iterator[Problem]:
    key, producer = "changelog-producer", options.changelog_producer
    if producer in (ChangelogProducer.INPUT, ChangelogProducer.FULL_COMPACTION):
        why = why_excluded(MergeEngine.FIRST_ROW, key, FIRST_ROW_SETTING)
        yield conflict(key, producer, FIRST_ROW_SETTING, why)
    key = "deletion-vectors.enabled"
    if options.deletion_vectors_enabled:
        why = why_excluded(MergeEngine.FIRST_ROW, key, FIRST_ROW_SETTING)
        yield conflict(key, "true", FIRST_ROW_SETTING, why)


def _changelog_problems(schema: TableSchema, options: TableOptions) -> Iterator[Problem]:
    producer = options.changelog_producer
    if options.deletion_vectors_enabled and producer is ChangelogProducer.FULL_COMPACTION:
        yield conflict("changelog-producer", producer, "deletion-vectors.enabled = true")
    if producer in (ChangelogProducer.LOOKUP, ChangelogProducer.FULL_COMPACTION):
        overwrite = schema.options.get("streaming-read-overwrite", "false")
        if overwrite.lower() == "true":
            yield conflict(
                "streaming-read-overwrite",
                overwrite,
                f"changelog-producer = {producer}",
                "readers would see the changes twice",
            )
    if producer is ChangelogProducer.LOOKUP and options.full_compaction_delta_commits is not None:
        yield conflict(
            "full-compaction.delta-commits",
            str(options.full_compaction_delta_commits),
            f"changelog-producer = {producer}",
            f"periodic full compactions need changelog-producer = {ChangelogProducer.FULL_COMPACTION}",
        )
