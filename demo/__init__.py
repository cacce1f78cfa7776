"""Demo of the main job on real data: a broker, the streams and the service, all on this machine.

| module | what |
|---|---|
| `flights`, `flights_run` | the program `make demo`; one run of it |
| `flights_data`, `flights_definition`, `flights_producer` | the data set; table and streams; what sends records to a topic |
| `broker`, `s3_server`, `s3_fault_proxy` | the servers that it starts |
| `processes`, `ports` | child processes and free ports |
"""
