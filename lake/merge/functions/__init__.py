"""The aggregate functions, one family a file; `registry` holds them all.

Each file gives `FunctionDeclaration`s: the definition, one value at a time, where possible a
vectorised reduction beside it, and the words from which the reference pages are made.
"""
