"""Backfills: older records of files, or of a range of a topic, into the columns of one stream. No Spark, no service.

From the top down:

| module | what |
|---|---|
| `backfill`, `backfill_commits` | one process of a backfill, from the claim to the end of its source; its commits |
| `admission` | whether older records can come into the table beside the live stream |
| `pace`, `stream_lag` | the share of the time, the rows a second, and the pauses while the live stream is behind |
| `progress` | how far it is, shown and reported |
| `record_writer`, `rejects`, `json_text` | records become rows; refused ones lines of a file; values as JSON |
| `files/`, `topic/` | files, and a range of a topic, as sources |
| `read_chunk` | the interface of all sources |
"""
