"""Schema evolution: changes of a table's schema, the rules for them, and the schema that results.

| modules | what |
|---|---|
| `schema_changes`, `change_arguments` | changes as values, and the check of their attributes |
| `change_schema` | application of a list of changes |
| `column_changes`, `column_tree`, `field_ids` | changes of columns, also of nested ones, and the ids of new fields |
| `option_changes`, `option_renames` | changes of options, and columns that are renamed in them |
| `refused_change`, `change_problem`, `problem_attribution` | refusals, located at the change that causes them |
| `merge_types`, `column_differences` | the columns of incoming records merged into a table's, as changes |
| `schema_differences` | two schemas, as the changes between them |

All of it is pure. `braid.lake.table` reads and publishes schemas.
"""
