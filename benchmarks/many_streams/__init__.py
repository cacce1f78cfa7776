"""Costs of many registered streams: calls to storage, processor time and memory of a runner that has none of them, and of a service.

| module | what |
|---|---|
| `__main__` | the program: measures a warehouse of few streams and one of many, and prints both |
| `many_tables` | the warehouse: tables of ten streams each, and the reports of runners |
| `counted_storage` | storage that counts its calls |
| `measured_process` | a process whose costs are read while it runs |
| `idle_runner`, `counted_service` | the programs that are measured |
| `killed_runner` | program: when the streams of a killed runner with Spark commit again, and the memory of all processes |
"""
