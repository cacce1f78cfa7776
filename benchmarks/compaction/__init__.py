"""Benchmark of compaction, compared with the reference implementation: `make bench-compaction`.

| module | what |
|---|---|
| `__main__` | the program |
| `full`, `amplification`, `latency`, `memory` | the four measurements |
| `history` | tables with many small commits |
| `sides`, `worker` | the two sides of the comparison; the processes of Braid's side |
| `report`, `aims` | the printed report; the aims of the figures |
"""
