"""Expiry of snapshots and changelogs, and deletion of the files that only they need."""
