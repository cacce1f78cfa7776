"""A range of a topic as the source of a backfill.

| module | what |
|---|---|
| `opened_topic` | opens a range of offsets on the stream's cluster, which the operators' clusters file describes |
| `topic_source` | the records of a range, read as the live stream reads them |
| `offset_range` | ranges, parsed from the command line; the check that a topic has them |
| `consumed_records` | records of kafka-python as the batches that streams read, and as lines of the reject file |
"""
