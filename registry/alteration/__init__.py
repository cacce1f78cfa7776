"""Changes of registered tables: declaration, streams and schema together.

| module | what |
|---|---|
| `alteration` | the check of a planned change as a whole |
| `table_alterer` | its publication: document and schema together |
| `table_changes`, `altered_table` | the plan of a request's changes, applied one after another |
| `engine_changes` | the plan for a table that is not registered |
| `stream_evolution` | the plan for undeclared fields of a stream's records |
| `redeclaration` | a table declared again: the fields that differ |
| `added_groups`, `type_widening`, `kept_orders` | what may be added or widened while there are rows and streams |
| `arrival_columns`, `option_changes` | columns and options that follow from the declaration |
| `schema_agreement` | the check that the changed schema is as declared |
| `column_positions`, `order_columns`, `renamed_declaration` | positions of columns, and of the orders of kept ones; names in the declaration |
| `change_locations`, `change_models` | locations of problems in the request; changes in the form of a request |
"""
