"""The sink of a stream: parsed records become level-0 files in executors, and a commit in the driver.

| module | what |
|---|---|
| `batch_sink` | the function that Spark calls with each micro-batch, and its attempts, in the driver |
| `micro_batch` | the batch's ranges of offsets, from Spark's checkpoint |
| `batch_writer`, `task_plan`, `bucket_routing` | the Spark job of one attempt, its number of tasks, and the task of each bucket |
| `write_task`, `task_report` | the work of one task in an executor, and its report to the driver |
| `table_columns` | parsed records as rows of the table |
| `batch_committer`, `sink_progress` | the checks and the commit of an attempt; what was committed so far |
| `field_evolution` | changes of the table for new fields, between two attempts |
| `overflowing_timestamps` | batches that Spark's source cannot read because of a record's timestamp |
| `exact_text`, `long_keys`, `unreadable_values`, `trial_writes` | checks of records in Python, see below |
| `row_refusal`, `dead_letter_text`, `dead_letter_sender` | refused records: their mark, their message, their way to the dead-letter topic |

The module that refuses a record, by the reason of its dead letter; `json.parse` comes first, and refuses most:

| reason | module |
|---|---|
| tombstone, missing_key, null_ordering, row_kind | `json.parse` |
| not_null | `json.parse`; `json.json_column` inside of nested values |
| malformed_key | `json.key_column` |
| malformed | `json.parse` or `exact_text`, as not parsable; `formats.json_explanations` finds the reason, which may be wrong_type or out_of_range instead |
| wrong_type, out_of_range | `json.json_column`; `exact_text`, which reads texts with numbers again; `json.parse` for names of partitions |
| too_large | `json.parse`; `long_keys` for keys, once `exact_text` has restored the digits of numbers in their texts |
| new_field | `json.parse` where the stream rejects such records; `write_task` where no column can hold the field |
| unreadable | `unreadable_values` |
| refused_row | `trial_writes`, when the table's writer has refused a row that nothing above did |

Where the stream lets its table evolve (`on_new_field: evolve`), `write_task` takes some refusals of `json.parse`
back: a record refused as not parsable, wrong_type or out_of_range is no dead letter if a changed table would
take it. This attempt leaves the record out. Then the table is changed, and the next attempt checks the record again.
"""
