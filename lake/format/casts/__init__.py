"""Casts of columns from one type to another.

| module | casts |
|---|---|
| `rules` | which casts exist |
| `cast` | chooses the cast for a pair of types |
| `numbers` | between numbers, BOOLEAN included |
| `times` | between dates and times, and to and from whole numbers |
| `from_text` | from CHAR and VARCHAR; between BINARY and VARBINARY |
| `to_text` | to CHAR and VARCHAR |
| `exact_times` | no cast: whether a text is exactly one date or time of a type |
| `by_value` | a Python function applied to each distinct value once, for casts |

Results follow the reference; `from_text`, `to_text` and `java_text` name the exceptions. Numbers
that are cast to whole numbers wrap around. Decimals round half up, and become null if they do not
fit. Texts and numbers are truncated to the length of a text type. Local time is UTC.

Source: merge-semantics 8.2; conformance cases K.
"""
