"""Formats of messages, keys and rows, and the Kafka clusters they come from. No Spark, no HTTP.

| module | what |
|---|---|
| `json_message`, `mapped_column` | a message parsed in Python; a column and the field that it is filled from |
| `json_explanations`, `json_value_faults`, `unpaired_surrogates` | the reason why a message is refused |
| `dead_letter` | the record that is sent for a refused record |
| `json_values`, `key_values` | rows to JSON; keys from texts and JSON |
| `integer_bounds` | bounds of integer types |
| `clusters_file`, `kafka_clusters` | the operators' file of clusters; permissions of streams on clusters |
| `secret_references`, `stream_options` | secrets in that file; options that a stream may set |
"""
