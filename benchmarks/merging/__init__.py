"""Benchmark of merging, compared with the reference implementation: `make bench-merge`.

| module | what |
|---|---|
| `__main__` | the program |
| `cases`, `tables`, `rows` | engines and columns; tables and records of a case |
| `measure`, `memory` | what is measured |
| `sides`, `worker` | the two sides of the comparison; our processes |
| `checksum`, `report` | that both sides read the same rows; what is printed |
"""
