"""What a table declares about merging, resolved from its schema once.

A `MergeSpec` is all that the machines know of a table: no option is read after it is made.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from lake.format.schema import TableSchema
from lake.merge.declared_options import (
    effective_functions,
    parse_sequence_groups,
    removing_columns,
)
from lake.merge.supported import check_supported_merge
from lake.options import MergeEngine


@dataclass(frozen=True, slots=True, kw_only=True)
class SequenceGroup:
    """Columns that change together, and the columns that say which change is the newer.

    Attributes:
        ordering: Compared in this order, ascending, null smallest. At least one.
        protected: Taken from the newest record of the group. In declared order.
    """

    ordering: tuple[str, ...]
    protected: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeSpec:
    """How records of one key become one row.

    Attributes:
        engine: Deduplicate or partial-update; others are refused by `merge_spec`.
        key_columns: The trimmed primary key, in comparison order.
        not_null_columns: Columns, keys included, that no merged row may leave null.
        sequence_fields: Order records of one key before their sequence number does.
        sequence_descending: The largest value of a sequence field merges first.
        groups: Sequence groups; only partial-update has any.
        ignore_delete: Records of kind -D and -U are skipped.
        remove_record_on_delete: A -D removes the row (partial-update without groups).
        removing_columns: Ordering columns whose group's -D removes the row.
        functions: (column, aggregate function) for every column that has one.
    """

    engine: MergeEngine
    key_columns: tuple[str, ...]
    not_null_columns: frozenset[str] = frozenset()
    sequence_fields: tuple[str, ...] = ()
    sequence_descending: bool = False
    groups: tuple[SequenceGroup, ...] = ()
    ignore_delete: bool = False
    remove_record_on_delete: bool = False
    removing_columns: frozenset[str] = frozenset()
    functions: tuple[tuple[str, str], ...] = ()


def merge_spec(schema: TableSchema) -> MergeSpec:
    """Return how the table's records merge.

    Args:
        schema: A schema that `validate_schema` accepts; its rules are not checked again.

    Raises:
        UnsupportedFeature: Its engine or an aggregate function is not in this version.
    """
    raise NotImplementedError


def columns_needed(spec: MergeSpec, projection: Sequence[str]) -> tuple[str, ...]:
    """Return the columns to read so that merging them answers for the projection.

    Args:
        spec: How the table's records merge.
        projection: Names of table columns, in any order, without repeats.

    Returns:
        The projection in its order, then what merging needs besides: key columns, sequence
        fields, ordering columns of the groups concerned and of groups that can remove a row.

    Source:
        merge-semantics 1.7, widened: the reference leaves out the ordering columns of groups that
        can remove a row, and so shows removed rows under some projections.
    """
    raise NotImplementedError
