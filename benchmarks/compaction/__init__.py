"""Compaction beside the reference implementation: `make bench-compaction`.

| module | what |
|---|---|
| `__main__` | the program |
| `full`, `amplification`, `latency`, `memory` | what is measured |
| `history` | tables of many small commits |
| `sides`, `worker` | the two sides of the comparison; our processes |
| `report`, `aims` | what is printed, and the aims of the figures |
"""
