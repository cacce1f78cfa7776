"""Rules for what a table may declare, checked when it is created, altered or rescaled.

| modules | what |
|---|---|
| `validation` | all rules, in order |
| `rule_problems`, `column_problem` | problems that the rules report |
| `key_rules`, `type_rules` | names of columns, keys, partitions and bucket keys; types and defaults |
| `option_rules`, `retention_rules`, `maintenance_rules`, `file_index_rules` | options outside of merging |
| `engine_rules`, `sequence_rules`, `snapshot_ordering_rules`, `function_rules` | options of merging: engines, order, aggregate functions |
| `partial_update_rules`, `null_delete_rules`, `tombstone_rules` | sequence groups and deletes |
| `row_expiry_rules` | the time to live of rows |
| `iceberg_rules` | what Iceberg readers could not read |
| `ineffective_options` | options without an effect |
| `engine_declaration` | the classes with which merge engines are declared |
| `engines/` | the declaration of each engine, for hints and the documentation |
| `engine_declarations` | all declarations by engine, and why an engine excludes an option |
"""
