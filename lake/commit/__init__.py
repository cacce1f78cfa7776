"""Commits: files become a snapshot, by conflict rules, exclusive publication and the exactly-once rule.

| modules | what |
|---|---|
| `committer` | the entry to every commit |
| `intent`, `claim_intent`, `backfill_intent`, `move_intent`, `replay_intent`, `commit_changes` | the commit that a caller wants, and its manifest entries |
| `commit_run`, `retry_policy`, `steps` | the attempts of one commit, their bounds, and the names of their steps |
| `table_state`, `conflict` | the state that an attempt is planned on and checked against, and the rules that a commit must meet |
| `streams/` | positions of streams, and the exactly-once rule |
| `attempt_files`, `next_snapshot` | the manifests and the snapshot that an attempt writes |
| `publisher` | exclusive creation of the snapshot, and its outcome |
| `identity_log` | earlier commits of the same identity |
| `clock_check` | comparison of the committer's clock with storage's |
| `commit_result`, `discard` | the result, and whether the data files are deleted after it |
"""
