"""Schema evolution: changes of a table's schema, the rules for them, and the schema that results.

| modules | what |
|---|---|
| `schema_changes`, `change_arguments` | changes as values, and the check of their attributes |
| `change_schema` | application of a list of changes |
| `column_changes`, `column_tree`, `field_ids` | changes of columns, also of nested ones, and the ids of new fields |
| `option_changes`, `option_renames` | changes of options, and renames of columns in the options that name them |
| `refused_change`, `change_problem`, `problem_attribution` | refusals, located at the change that causes them |
| `merge_types`, `column_differences` | merging of incoming columns into those of a table, and the changes for it |
| `schema_differences` | the changes that lead from one schema to another |

No module reads or writes storage: `braid.lake.table` reads and publishes schemas.
"""
