"""Conformance cases: tables and steps with the results that Apache Paimon gave, executed by this engine.

| helper | what |
|---|---|
| `case` | a case of a `*.jsonl` file, parsed |
| `values`, `column_types` | values and types of the format of the cases, as Arrow arrays and types |
| `execute`, `alter` | execution of a case on a table, and its schema changes |
| `merge_level` | execution of a case on the merge function itself |
| `golden` | checks of table directories that Paimon wrote |
| `compare`, `changelog` | comparison of rows and of changes with those of a case |
| `outcome` | outcomes of a case: passed, different, on purpose, not supported |
| `run` | the program that runs a folder of cases through both merge machines |

The tests are the `test_*` modules: `test_conformance` runs the cases, the others test the helpers.
"""
