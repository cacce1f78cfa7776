"""Backfills: write older records, from files or from a range of a topic, into the columns of one stream. No Spark, no service.

From the top down:

| module | what |
|---|---|
| `backfill` | one process of a backfill, from the claim to the end of the source |
| `backfill_commits`, `part_commits` | the writing of the source by this process, or by others, part by part |
| `part_work` | the work on one part, as a value, and its outcome |
| `position_commits` | the commits of both |
| `admission` | the check whether a backfill may run beside the live stream |
| `pace`, `stream_lag` | bounds of the backfill's speed, and pauses while the live stream is behind; the lag of the live stream |
| `progress` | how far the backfill is, shown and reported |
| `record_writer`, `rejects`, `json_text` | the writer of rows and of refused records; the file of refused records; values as JSON |
| `files/`, `topic/` | files, and a range of a topic, as sources |
| `read_chunk` | the interface of all sources, with their chunks and parts |
"""
