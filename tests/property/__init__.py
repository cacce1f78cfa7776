"""Laws over random inputs.

| helper | what |
|---|---|
| `declarations`, `domains`, `function_columns` | random tables: their declarations, values of each type, columns with aggregate functions |
| `histories`, `strategies` | random rows of such a table, and both as strategies of hypothesis |
| `same_values` | rows as texts that are equal where the values mean the same |
| `folded_changelog` | the changes of a table, applied one after another |
| `table_machine` | random operations on a table beside a dictionary |
| `evolution_machine`, `evolving_model`, `evolving_columns`, `schema_steps` | the same with schema changes: operations, model, its columns, and the changes |
| `arrival_bed` | streams that feed one table in any interleaving |
| `explained_bed`, `explained_rows` | a table that four streams feed; the model of its rows, and of what explanations of them have to say |
| `capture_bed` | a table that is fed by captured changes |
| `record_kinds_model` | a stream of upserts, deletes and tombstones, and its rows |
| `lost_update` | the schedule that loses an update where sequence numbers order (decision 0024) |
| `power_histories` | histories of a warehouse before a power failure |
| `odd_messages`, `json_texts` | messages of Kafka, good and bad; JSON texts of values and near misses |
| `avro_messages` | schemas and messages of Avro |

The tests are the `test_*` modules, one per law.
"""
