"""Changes of registered tables: declaration, streams and schema together.

| module | what |
|---|---|
| `alteration` | the check of a planned change as a whole |
| `table_alterer` | the atomic change of document and schema |
| `table_changes`, `altered_table` | the plan of a request's changes, applied one after another |
| `engine_changes` | the engine's changes for a table that is not registered |
| `stream_evolution` | the plan for new fields in a stream's records |
| `redeclaration` | repeated declarations: the fields that differ |
| `added_groups`, `type_widening`, `kept_orders` | rules for new groups and wider types in a table with rows and streams |
| `arrival_columns`, `option_changes` | arrival columns that an older table lacks; changes of options that follow from the declaration |
| `schema_agreement` | the check that the changed schema is as declared |
| `column_positions`, `order_columns`, `renamed_declaration` | positions of columns; order columns of new kept columns; renaming of a column in the declaration |
| `change_locations`, `change_models` | locations of problems in a request; models of requests |
"""
