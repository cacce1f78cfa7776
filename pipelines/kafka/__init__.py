"""Kafka as a source: clusters, topics, offsets, lag.

| module | what |
|---|---|
| `stream_cluster` | the cluster of a stream, from the operators' file, with its secrets |
| `stream_schemas` | the schema registry of the stream, from the same file |
| `cluster` | a cluster's address and options, for Spark and for kafka-python |
| `bearer_tokens` | tokens of OAUTHBEARER for kafka-python |
| `client_errors` | conversion of kafka-python's errors |
| `reachability`, `trial_login` | whether a cluster accepts connections and the login |
| `shared_time` | a time bound that successive attempts share |
| `admin_connection` | the connection of kafka-python's admin client |
| `record_producer` | records of pushes, sent to the topics of streams |
| `idempotent_pushes` | records of pushes and their answers, sent in one transaction |
| `topic` | id, partitions and offsets of a topic; creation of topics for dead letters |
| `group_offsets` | commits of offsets to a consumer group |
| `bounded_read` | a range of each partition, read with kafka-python |
| `topic_record_reader` | single records by partition and offset, read in bounded time |
| `source` | Spark's source with its options, the offsets that a query starts at, and the checks of its topic |
| `added_partitions` | the partitions that a stream reads, and those that wait |
| `lag` | records and seconds that a stream is behind |
"""
