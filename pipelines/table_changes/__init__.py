"""Streaming source of Spark: `spark.readStream.format("braid")`, the changes of a table with their kinds.

| module | what |
|---|---|
| `stream_options` | the options of a streaming read |
| `whole_changes` | which tables have a changelog of whole rows |
| `change_offset` | the place in the changes, as Spark's checkpoint has it |
| `start_state` | the rows from which a full read starts |
| `change_plan` | the files between two places, and their tasks |
| `change_hold` | what keeps the changes from expiring |
| `change_reader` | the reader that Spark calls |
| `refused_reader` | the reader of a query that is refused |
"""
