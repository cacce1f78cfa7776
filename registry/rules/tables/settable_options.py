"""Rules for the options of the table format that a declaration may set: an allow list with bounds.

Pure. Options reach every process that opens the table, ours and other engines'. Some options hold paths,
classes, addresses, or numbers that keep a machine busy. An option that is not listed is refused, so an option that a later
engine introduces cannot do harm either. The list applies to registered tables, in requests and on the command line.
`Table.alter` of `braid.lake` sets every option that the engine accepts, and so does the command line for tables that are not
registered.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from braid.lake import parse_duration, parse_size
from braid.lake.options.option_keys import similar_option_key
from braid.schemas import FieldProblem, MergeEngine, TableSpec
from braid.schemas.field_problems import problem_at, quoted_list

_KIB, _MIB, _GIB = 1 << 10, 1 << 20, 1 << 30
_SECOND, _MINUTE, _HOUR, _DAY = 1_000, 60_000, 3_600_000, 86_400_000

SIZES: Final[Mapping[str, tuple[int, int]]] = {
    "compaction.incremental-size-threshold": (_MIB, 1 << 50),
    "compaction.total-size-threshold": (_MIB, 1 << 50),
    "file-index.in-manifest-threshold": (0, 16 * _KIB),
    "lookup.cache-max-disk-size": (64 * _MIB, 1 << 50),
    "lookup.cache-max-memory-size": (16 * _MIB, 2 * _GIB),
    "manifest.full-compaction-threshold-size": (64 * _KIB, _GIB),
    "manifest.target-file-size": (64 * _KIB, _GIB),
    "source.split.open-file-cost": (_KIB, _GIB),
    "source.split.target-size": (_MIB, 16 * _GIB),
    "target-file-size": (_MIB, 16 * _GIB),
    "write-buffer-size": (8 * _MIB, _GIB),
}
"""Bytes: the least and the greatest value, by key."""

DURATIONS: Final[Mapping[str, tuple[int, int]]] = {
    "changelog.time-retained": (_MINUTE, 36_500 * _DAY),
    "commit.max-retry-wait": (1, _MINUTE),
    "commit.min-retry-wait": (1, 10 * _SECOND),
    "commit.timeout": (10 * _SECOND, _DAY),
    "compaction.optimization-interval": (_MINUTE, 36_500 * _DAY),
    "consumer.expiration-time": (_HOUR, 36_500 * _DAY),
    "lookup.cache-file-retention": (_MINUTE, 365 * _DAY),
    "snapshot.time-retained": (_MINUTE, 36_500 * _DAY),
    "tag.default-time-retained": (_HOUR, 36_500 * _DAY),
}
"""Milliseconds: the least and the greatest value, by key."""

NUMBERS: Final[Mapping[str, tuple[int, int]]] = {
    "changelog.num-retained.max": (1, 1_000_000),
    "changelog.num-retained.min": (1, 1_000_000),
    "commit.max-retries": (0, 1_000),
    "compaction.max-size-amplification-percent": (1, 100_000),
    "compaction.offpeak-ratio": (0, 100_000),
    "compaction.offpeak.end.hour": (-1, 23),
    "compaction.offpeak.start.hour": (-1, 23),
    "compaction.size-ratio": (0, 100_000),
    "file.compression.zstd-level": (1, 19),
    "full-compaction.delta-commits": (1, 100_000),
    "lookup-compact.max-interval": (1, 100_000),
    "manifest.merge-min-count": (2, 10_000),
    "metadata.iceberg.compaction.max.file-num": (2, 10_000),
    "metadata.iceberg.compaction.min.file-num": (2, 10_000),
    "metadata.iceberg.previous-versions-max": (0, 10_000),
    "num-levels": (2, 100),
    "num-sorted-run.compaction-trigger": (2, 1_000),
    "num-sorted-run.stop-trigger": (1, 10_000),
    "snapshot.expire.limit": (1, 100_000),
    "snapshot.num-retained.max": (1, 1_000_000),
    "snapshot.num-retained.min": (1, 1_000_000),
}
"""Whole numbers: the least and the greatest value, by key."""

_FLAG: Final = (re.compile("true|false", re.IGNORECASE), "true or false")
TEXTS: Final[Mapping[str, tuple[re.Pattern[str], str]]] = {
    "alter-column-null-to-not-null.disabled": _FLAG,
    "disable-explicit-type-casting": _FLAG,
    "metadata.stats-mode": (
        re.compile(r"none|counts|full|truncate\([1-9][0-9]{0,4}\)", re.IGNORECASE),
        "`none`, `counts`, `full` or `truncate(<length>)`",
    ),
}
"""Options whose values the engine does not check: the pattern of a whole value, and its description, by key."""

_CHECKED_BY_THE_ENGINE: Final = frozenset(
    {
        "avro.codec",
        "bucket-function.type",
        "bucket-key",
        "changelog-file.compression",
        "changelog-file.format",
        "changelog-file.prefix",
        "changelog-producer",
        "changelog-producer.row-deduplicate",
        "changelog-producer.row-deduplicate-ignore-fields",
        "compaction.force-rewrite-all-files",
        "compaction.small-file-ratio",
        "consumer.changelog-only",
        "data-file.prefix",
        "data-file.thin-mode",
        "deletion-vectors.bitmap64",
        "deletion-vectors.enabled",
        "deletion-vectors.merge-on-read",
        "file-index.read.enabled",
        "file.compression",
        "file.compression.per.level",
        "file.format",
        "file.format.per.level",
        "force-lookup",
        "ignore-update-before",
        "lookup-compact",
        "manifest.compression",
        "metadata.iceberg.delete-after-commit.enabled",
        "metadata.iceberg.format-version",
        "metadata.iceberg.manifest-compression",
        "metadata.iceberg.manifest-legacy-version",
        "metadata.iceberg.storage",
        "orc.compress",
        "parquet.compression",
        "partition.default-name",
        "partition.legacy-name",
        "rowkind.field",
        "sequence.field",
        "sequence.field.sort-order",
    }
)
"""Options with closed sets of values or with names of columns, which the engine's rules check where they take effect,
and names of files and partitions, which `table_rules` checks."""
_FAMILIES: Final = ("file-index.bloom-filter.",)  # its columns, and the size and error rate of each

_VALUE_MAX: Final = 200  # characters

_Read = Callable[[str], int | None]


def check_option(spec: TableSpec, key: str) -> Iterator[FieldProblem]:
    """Yield why a declaration may not set an option at all, or not to its value.

    Args:
        spec: The declaration.
        key: One of its options, which no field of the declaration sets.
    """
    value = spec.options[key]
    reads: tuple[tuple[Mapping[str, tuple[int, int]], _Read, str], ...] = (
        (SIZES, parse_size, "bytes"),
        (DURATIONS, parse_duration, "milliseconds"),
        (NUMBERS, _parse_number, ""),
    )
    for bounds, read, unit in reads:
        if key in bounds:
            # A text that cannot be parsed is left to the engine's check, which explains the syntax.
            is_long = len(value) > _VALUE_MAX
            found = None if is_long else read(value)
            least, most = bounds[key]
            if is_long or (found is not None and not least <= found <= most):
                yield problem_at(
                    "options",
                    key,
                    value=value,
                    message=f"expected {least} to {most} {unit}".rstrip(),
                    hint="choose a value in between, or leave it out",
                )
            return
    if key in TEXTS:
        pattern, expected = TEXTS[key]
        if not pattern.fullmatch(value.strip()):
            yield problem_at(
                "options",
                key,
                value=value,
                message=f"expected {expected}",
                hint="choose one of them, or leave it out",
            )
        return
    if key in _CHECKED_BY_THE_ENGINE or key.startswith(_FAMILIES):
        return
    meant = similar_option_key(key) if len(key) <= _VALUE_MAX else None
    known = sorted({*SIZES, *DURATIONS, *NUMBERS, *TEXTS, *_CHECKED_BY_THE_ENGINE})
    yield problem_at(
        "options",
        key,
        value=value,
        message="a declaration does not set this option",
        hint=f"did you mean `{meant}`?"
        if meant
        else f"leave it out; it may set {quoted_list(known)}",
    )


def _parse_number(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None


def orders_whole_rows(spec: TableSpec, key: str) -> bool:
    """Return whether an option orders whole rows in a table that orders them group by group."""
    return key.startswith("sequence.field") and spec.merge_engine is MergeEngine.PARTIAL_UPDATE
