"""Rules for declared tables and streams: pure functions from declarations to their problems.

| module | what |
|---|---|
| `tables/` | rules of tables |
| `stream_rules` | all rules of a stream and the other streams of its table; calls the modules of the next rows, down to `new_field_rules`, except `replay_rules` |
| `format_rules` | formats of messages: their options, and fields that their messages do not have |
| `key_format_rules` | formats of Kafka keys |
| `mapping_rules`, `message_paths`, `json_types` | columns, the fields that they are read from, and types that JSON does not have |
| `time_format_rules` | forms of dates and times |
| `computed_column_rules` | expressions, constants and defaults |
| `aggregation_table_rules` | several streams of one aggregation table |
| `record_part_rules` | columns that are read from headers, the timestamp, the partition, the offset or the topic |
| `record_kind_rules` | conditions over records, deletes and tombstones |
| `change_capture_rules` | captured changes: their sources, deletes, and values that a database leaves out |
| `arrival_rules` | streams ordered by arrival; columns that are read from the Kafka key |
| `spark_source_rules` | fields that a stream from Spark cannot have |
| `replay_rules` | replays of dead letters |
| `new_field_rules` | `on_new_field: evolve` |
| `stream_completion`, `stream_bounds` | defaults of a requested stream; bounds of its numbers |
| `kafka_rules`, `schema_registry_rules` | the cluster, topics, options and schema registry of a stream, which the operators' file has to allow |
"""
