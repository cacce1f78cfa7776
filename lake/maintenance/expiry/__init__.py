"""Expiry of snapshots and changelogs, and removal of the files that only they name."""
