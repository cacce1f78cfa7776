"""Demo of the main job on real data: a broker, runners and the service, all on this machine.

Tests and benchmarks use its parts as well.

| module | what |
|---|---|
| `flights`, `flights_run` | the program of `make demo` and `braid demo`; one run of it |
| `flights_data`, `flights_definition`, `flights_producer` | the data set; table and streams; what sends records to a topic |
| `broker` | a Kafka broker |
| `s3_server`, `s3_fault_proxy` | an S3 server, and the proxy before it; the demo starts them with `--s3` or `--faults` |
| `processes`, `ports` | child processes and free ports |
"""
