"""Metadata of large tables: program, `python -m benchmarks.metadata`.

| module | what |
|---|---|
| `__main__` | measures tables of several sizes, and prints figures beside the aims |
| `table` | makes tables of tens of thousands of files whose metadata is real and whose data files do not exist |
| `acts` | what is measured: lookups, scans, commits, compactions and expiries, as far as they touch metadata |
| `worker` | one act in a process of its own, with its time, storage calls, bytes read and peak memory |
"""
