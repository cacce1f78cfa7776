"""Benchmarks, run on demand: `python -m benchmarks`.

| module | what |
|---|---|
| `__main__` | runs the benchmarks of one module each, by name |
| `write`, `read`, `merge`, `wide`, `file_index`, `arrival` | the engine alone |
| `endtoend`, `hostile` | the demo's throughput; the service under hostile requests |
| `compaction/`, `lookup/`, `merging/`, `scan/`, `peers/` | programs of their own, most of them beside the reference implementation |
| `peer`, `worker_processes` | comparison with the reference; our side in several processes |
| `bulk_rows`, `figure`, `machine`, `resident_memory` | rows, figures, the machine, memory |
"""
