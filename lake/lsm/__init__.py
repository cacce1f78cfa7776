"""LSM tree of a bucket: levels, sorted runs, compaction picks and plans, merges in bounded memory."""
