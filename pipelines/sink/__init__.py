"""From parsed records to level-0 files, in executors, and to a commit, in the driver."""
