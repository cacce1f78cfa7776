"""Writing: rows in, level-0 files and commit messages out."""
