"""Sink of Spark programs: `df.write.format("braid")` and `df.writeStream.format("braid")` into a registered stream.

| module | what |
|---|---|
| `write_options` | the options of a write |
| `stream_target` | the registered stream and its table, opened; the check of the columns |
| `row_plan` | rows of Spark as rows of the table, with their place in the order of arrival |
| `write_task` | the work of one task in an executor, and its report |
| `commit` | the commit of all tasks in the driver |
| `writers` | the writers that Spark calls |
"""
