"""Streams in snapshots: positions, generations of sequence groups, and the exactly-once rule.

| modules | what |
|---|---|
| `stream_position`, `group_order` | snapshot properties: positions of streams, generations of sequence groups |
| `stream_authority` | the snapshot whose properties count |
| `exactly_once` | the decision whether a batch is committed |
| `former_position` | positions of a former stream of the same name |
| `position_moves` | offsets that a stream has read, skipped and read again |
| `highest_read`, `read_offsets` | how far partitions were ever read, and how many offsets to be read again a move forwards would skip |
| `backfill_position` | names and generations of backfills |
| `query_position` | positions of streams that queries write, and what a batch of a query is written with |
| `stream_letters` | dead letters: counts, committed attempts, replayed offsets |
| `offset_ranges` | sets of offsets as ranges |
| `position_hold` | the consumer file that keeps other engines from expiring the newest positions |
"""
