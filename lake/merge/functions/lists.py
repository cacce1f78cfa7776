"""Aggregate functions: collect."""

from lake.merge.aggregate_function import FunctionDeclaration

DECLARATIONS: tuple[FunctionDeclaration, ...] = ()
