"""Aggregate functions: rbm32 and rbm64."""

from lake.merge.aggregate_function import FunctionDeclaration

DECLARATIONS: tuple[FunctionDeclaration, ...] = ()
