"""Aggregate functions: max and min."""

from lake.merge.aggregate_function import FunctionDeclaration

DECLARATIONS: tuple[FunctionDeclaration, ...] = ()
