"""A range of a topic as the source of a backfill.

| module | what |
|---|---|
| `opened_topic` | a range, opened by the operators' file |
| `topic_source` | the records of a range, read as those of the stream |
| `offset_range` | ranges as the command line has them, and whether a topic has them |
| `consumed_records` | records of kafka-python as Kafka records of a stream, and as lines of the reject file |
"""
