"""Compaction of a table, bucket by bucket.

| modules | what |
|---|---|
| `table_compaction`, `compaction_result` | compaction of a table, and its result |
| `compactable` | tables that can be compacted |
| `compaction_picks`, `planned_bucket` | the compactions that are due, and the plan for one bucket |
| `bucket_compaction` | compaction of one bucket |
| `compaction_merges`, `old_rows` | merges that also look up the old row of a key or write a changelog |
"""
