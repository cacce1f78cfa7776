"""The sink of a stream: Kafka records become level-0 files in executors, and a commit in the driver.

| module | what |
|---|---|
| `batch_sink` | the function that Spark calls with each micro-batch, and its attempts, in the driver |
| `micro_batch` | the batch's ranges of offsets, from Spark's checkpoint |
| `batch_writer`, `task_plan`, `bucket_routing` | the Spark job of one attempt, its number of tasks, and the task of each bucket |
| `record_chunks`, `gathered_batches` | many records as one row of a shuffle; the batches that a task reads at once |
| `write_task`, `task_report` | the work of one task in an executor, and its report to the driver |
| `batch_committer`, `sink_progress` | the checks and the commit of an attempt; what was committed so far |
| `letter_budget` | how many dead letters a micro-batch may have |
| `field_evolution` | changes of the table for new fields, between two attempts |
| `overflowing_timestamps` | batches that Spark's source cannot read because of a record's timestamp |
| `dead_letters`, `dead_letter_sender` | the letters of refused records; the sender to the dead-letter topic |

`records.record_kinds` and then `records.record_reader` refuse records, in the order of the lists in their docstrings.
Three reasons come later: `records.poison_records` finds the records with the reason `poison`, `write_task` refuses a record
with `new_field` if no column can hold the field, and `records.trial_writes` finds the rows with `refused_row`.

If the stream lets its table evolve (`on_new_field: evolve`), `write_task` cancels some refusals: a record that was
refused with `wrong_type` or `out_of_range` does not become a dead letter if a changed table could hold it. This attempt
leaves the record out. Then the table is changed, and the next attempt checks the record again.
"""
