"""Aggregate functions: merge_map and merge_map_with_keytime."""

from lake.merge.aggregate_function import FunctionDeclaration

DECLARATIONS: tuple[FunctionDeclaration, ...] = ()
