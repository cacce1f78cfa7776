"""A range of a topic as the source of a backfill.

| module | what |
|---|---|
| `opened_topic` | opens a range on the stream's cluster, by the operators' file |
| `topic_source` | the records of a range, read as the live stream reads them |
| `offset_range` | ranges, parsed from the command line; the check that a topic has them |
| `consumed_records` | records of kafka-python as the batches that streams read, and as lines of the reject file |
"""
