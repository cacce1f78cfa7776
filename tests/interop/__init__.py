"""Tables exchanged with Paimon's Java library, pypaimon and paimon-rust, and read by pyiceberg.

| helper | what |
|---|---|
| `conftest` | the Java process that the tests of a run share |
| `java_driver`, `java_changes` | a running Java process that executes commands; types and schema changes as it reads them |
| `java_reader`, `java_history` | programs of `java/` that read or write a table; a table of some snapshots made by them |
| `pypaimon_reader` | pypaimon as a reader, in its own environment |
| `iceberg_reader`, `iceberg_program` | pyiceberg as a reader of tables' Iceberg metadata, and its program |
| `peer_driver`, `peer_program`, `peer_turns` | pypaimon and paimon-rust as a running process, its program, and turns with it |
| `ours`, `twins` | cases carried out by our engine; tables that know which rows another must hold |
| `generators`, `random_tables`, `type_cases`, `alternating_tables` | generated tables: by engine, of every function, of every column type, for taking turns |
| `alternation`, `evolving_alternation` | one table on which Java and we take turns; the same with schema changes |
| `changelog_check` | a changelog read by Java and by us, and added up |
| `version_differences` | what the released Java library does otherwise than Paimon 2.0.0 |

The tests are the `test_*` modules, one per peer or behaviour.
"""
