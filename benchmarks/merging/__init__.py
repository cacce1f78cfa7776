"""Benchmark of merging, compared with the reference implementation: `make bench-merge`.

| module | what |
|---|---|
| `__main__` | the program |
| `cases`, `tables`, `rows` | engines and columns; tables and records of a case |
| `measure`, `memory` | measurements of speed and of peak memory |
| `sides`, `worker` | the two sides of the comparison; the processes of Braid's side |
| `checksum`, `report` | the check that both sides read the same rows; the printed report |
"""
