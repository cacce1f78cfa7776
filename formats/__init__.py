"""Formats of messages, keys and rows, and the Kafka clusters and schema registries behind them. No Spark, no service.

| module | what |
|---|---|
| `message_reader`, `readers`, `fault` | the interface of readers; the choice of a reader by the format, except for captured changes; the fault of a record |
| `json/` | JSON: messages and Kafka keys to columns |
| `keys/` | the choice of the reader of Kafka keys; keys that begin with the id of a schema |
| `avro/`, `protobuf/`, `native/` | Avro; Protobuf; the values that formats with a schema have in common |
| `change_capture/` | captured changes of databases: their events to rows |
| `exact_rows` | single messages of a batch, read one by one |
| `registered_reader`, `joined_messages` | messages in Avro or Protobuf that begin with the id of their schema; joining of batches that were read in parts |
| `message_types` | the types of messages in Avro and Protobuf |
| `arrow_rows/` | rows that are Arrow arrays already, such as those of Parquet files |
| `csv_reader`, `raw_reader` | lines of CSV; messages that are one value |
| `mapping/` | dates and times in declared formats; constants and defaults of columns |
| `expressions/` | columns that are computed by SQL expressions |
| `header_reader` | headers of records to columns |
| `mapped_column`, `field_tree` | a column and what fills it; the declared part of a message |
| `record_conditions`, `part_conditions` | conditions over records: over the fields of their messages, and over their other parts |
| `arrays`, `arrow_cast`, `declared_digits` | helpers that find and replace rows of Arrow arrays; casts that truncate timestamps and times; truncation of times and timestamps to the digits of their types |
| `text_values`, `times`, `type_bounds`, `unpaired_surrogates` | values as texts; dates and times as texts; bounds of whole numbers and lengths; texts without a UTF-8 form |
| `dead_letter` | the message that is sent for a refused record |
| `json_values`, `parsed_json`, `key_values` | rows of a table to JSON, and back; row keys from the texts of URLs and from JSON |
| `row_certificate` | certificates of rows: written, and verified without the table |
| `schema_registry/` | schemas by id, from schema registries |
| `wire_format` | messages that begin with the id of their schema |
| `timed_exchange` | an HTTP request and its answer, with one deadline for all of it |
| `clusters/` | the operators' file of Kafka clusters and schema registries, and the permissions of streams on clusters |
| `kafka_security/` | the security options of a Kafka cluster: checks, and their meaning for clients that are not Java |
"""
