"""Commits: they turn new files into a snapshot, exactly once and in competition with other writers.

| modules | what |
|---|---|
| `committer` | the entry to every commit |
| `intent`, `claim_intent`, `backfill_intent`, `move_intent`, `query_intent`, `replay_intent`, `commit_changes` | the commit that a caller wants, and its manifest entries |
| `commit_run`, `retry_policy`, `pace`, `commit_queue`, `steps` | the attempts of one commit, their limits, the waits before them, turns within a process, and the names of their steps |
| `table_state`, `conflict` | the table's state for which an attempt is planned and checked, and the rules that a commit must meet |
| `streams/` | positions of streams, and the exactly-once rule |
| `attempt_files`, `next_snapshot` | the manifests and the snapshot that an attempt writes |
| `publisher` | exclusive creation of the snapshot, and its outcome |
| `identity_log` | earlier commits of the same identity |
| `clock_check` | comparison of the committer's clock with storage's |
| `commit_result`, `discard` | the result of a commit, and whether its data files are deleted afterwards |
"""
