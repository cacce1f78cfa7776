"""LSM tree of a bucket: levels, sorted runs, compaction picks and plans, merges in bounded memory.

| modules | what |
|---|---|
| `levels`, `sorted_run`, `run_counts` | the files of a bucket by level, as sorted runs, and the number of runs |
| `compaction_pick`, `level_0_merge` | which runs are compacted next |
| `compaction_plan` | which files are rewritten, and which only change their level |
| `merge_runs`, `round_merge` | the streaming merge of runs, and the merge of each of its rounds |
| `changelog`, `column_equality` | the changes that a merge makes |
| `tombstones` | retracts that a compaction keeps |
"""
