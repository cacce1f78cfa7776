"""Rules for declared tables: pure functions from declarations to their problems.

| module | what |
|---|---|
| `table_rules` | all rules of a table; calls the modules of the other rows |
| `settable_options` | options that a declaration may set, and their bounds |
| `default_rules`, `keep_rules` | default values; kept columns, and records without a column's field |
| `aggregate_function_rules` | aggregate functions |
| `delete_rules`, `delete_retention` | the effect of deletes, and how long they are kept |
| `row_ttl` | the time to live of rows |
| `row_rules`, `view_rules`, `table_test_rules` | stale and complete rows; feature views; tests |
| `lookup_index_rules` | lookup indexes |
| `engine_check` | the engine's own checks |
"""
