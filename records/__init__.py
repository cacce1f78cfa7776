"""Records of a stream: how they are read by its declaration and become rows of its table. No Spark, no service.

| module | what |
|---|---|
| `stream_plan` | columns, conditions and rules of a stream, from its declaration and its table's schema |
| `expression_columns` | columns whose fields are also used by expressions |
| `record_kinds` | which records are left out, are deletes, or are refused before their columns are read; the rows of captured changes |
| `condition_parts` | the parts of records other than the value that conditions use |
| `value_readers`, `rows_of_records` | the readers of values and captured changes; the rows and counts of records that yield several rows |
| `part_reader` | columns from headers, timestamp, partition, offset and topic, and constant ones |
| `record_reader`, `column_checks` | the columns of records, and the faults of refused ones; the checks of columns that were read |
| `poison_records` | records whose reading raises an error |
| `accepted_rows`, `table_columns` | accepted records as rows of the table, with their kinds; their columns, generated ones included |
| `trial_writes` | rows that the table's writer refuses |
| `trial`, `sample_batch` | the trial of a stream with sample records; sample records as Kafka records |
| `outgoing_records` | records on their way to a topic, and the interface of their producer |
| `topic_records` | records read again by their places, and the interface of their reader |
| `new_fields/` | fields of messages that a stream does not declare |
| `record_columns`, `partition_names` | the columns of Kafka records; the length limit of partition names |
"""
