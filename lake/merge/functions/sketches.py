"""Aggregate functions: hll_sketch and theta_sketch."""

from lake.merge.aggregate_function import FunctionDeclaration

DECLARATIONS: tuple[FunctionDeclaration, ...] = ()
