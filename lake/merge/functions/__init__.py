"""The aggregate functions, one family per file; `registry` holds them all.

Each file defines `FunctionDeclaration`s: the definition, one value at a time, a vectorised reduction where
possible, and the texts of the reference pages.
"""
