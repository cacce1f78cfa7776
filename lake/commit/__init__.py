"""Commits: files become a snapshot, by conflict rules, exclusive publication and the exactly-once rule."""
